# SPDX-License-Identifier: Apache-2.0
"""One trial of each kind: a call that fails, a command that is killed, commands at once, a full disk."""
import os
import random
import shutil
import signal
import subprocess
import time

from fault_campaign import judge, stages
from fault_campaign.bench import OLD, Fault, processes_of

KILL_WAIT_S = 10  # how long what a killed command started may go on


def refer(bench, stage):
    """The command without a fault: what it counts, and what it makes. Text must not change from run to run."""
    bench.prepare(stage)
    outcome = bench.run(stage.command, waits=stage.waits)
    if outcome.status != 0:
        raise SystemExit(f"faults: stage {stage.name} fails without any fault: {outcome.errors}")
    return judge.Reference(outcome.text, bench.outputs(stage)), outcome.counts


def has_right_values(bench):
    """Does the artifact that was built compute what the evaluator does?"""
    outcome = bench.run_healthy(("byoc", "run", "out/model.so", "--random", "--expect",
                                 "output=in/expected/output.npy"))
    return [] if outcome.status == 0 else ["its artifact is wrong: " + judge.last_line(outcome.errors + outcome.text)]


def judge_made(bench, stage, outcome, reference, kind=None, by_values=False):
    """Findings about what a command that worked has made. `by_values`: the artifact is another one, perhaps, but it
    computes the same."""
    artifact = stages.ARTIFACT[:1] if by_values else ()
    found = judge.judge_result(stage, outcome, bench.outputs(stage), reference, kind, artifact)
    return found + (has_right_values(bench) if by_values or stage.result == "values" else [])


def judge_next(bench, stage, reference, by_values=False):
    """The same command once more with the same cache, without a fault."""
    if stage.cache != "cold" and not stage.makes_artifact:
        return []
    bench.fill("out")
    bench.fill("tmp") if not stage.makes_artifact else None
    outcome = bench.run_healthy(stage.command)
    if outcome.status != 0:
        return ["the next one without a fault fails: " + judge.last_line(outcome.errors)]
    return [f"in the next one without a fault {one}"
            for one in judge_made(bench, stage, outcome, reference, by_values=by_values)]


def try_fault(bench, stage, fault, reference, trace=None):
    """Returns the outcome and the findings."""
    bench.prepare(stage)
    outcome = bench.run(stage.command, fault, stage.waits, trace)
    if outcome.struck == 0:
        return outcome, []
    found = judge.judge_end(outcome, fault.kind, fault.where)
    # ld may do without memory that it wanted: the names in its file share no tails then, and the file works. What it
    # made so may be in the cache, too.
    by_values = fault.where == "programs" and fault.kind in ("memory", "mmap") and stage.makes_artifact
    if outcome.status == 0:
        found += judge_made(bench, stage, outcome, reference, fault.kind, by_values)
    else:
        may_differ = fault.kind == "rename" and fault.goes_on  # not even the older one can be put back
        found += judge.judge_outputs_of_failure(stage, bench.outputs(stage), reference, may_differ)
    # Without a descriptor no folder can be looked into, not even to remove it.
    if not (fault.kind == "open" and fault.goes_on):
        found += judge.judge_left_behind(bench.left_behind(stage))
    bench.fill("tmp")
    return outcome, found + judge_next(bench, stage, reference, by_values)


def try_kill(bench, stage, moment_s, reference):
    """Kills the command at a moment; what it started ends soon, and the next one sweeps up."""
    bench.prepare(stage)
    process = bench.start(stage.command, bench.environment())
    time.sleep(moment_s)
    process.send_signal(signal.SIGKILL)
    outcome = process.wait()
    process.stdout.close()
    process.stderr.close()
    found, until = [], time.monotonic() + KILL_WAIT_S
    while processes_of(bench.home) and time.monotonic() < until:
        time.sleep(0.05)
    for left in processes_of(bench.home):
        found = ["what it started goes on"]
        os.kill(left, signal.SIGKILL)
    outputs = bench.outputs(stage)
    if outcome != 0:
        found += judge.judge_outputs_of_failure(stage, outputs, reference, may_differ=True)
    keep = sorted(p.name for p in (bench.home / "out").iterdir())
    for name in keep:
        if f"out/{name}" in stage.outputs:
            (bench.home / "out" / name).unlink()
    after = bench.run_healthy(stage.command)
    if after.status != 0:
        return outcome, found + ["the next one without a fault fails: " + judge.last_line(after.errors)]
    found += [f"in the next one without a fault {one}" for one in judge_made(bench, stage, after, reference)]
    left = judge.judge_left_behind(bench.left_behind(stage))
    return outcome, found + [one + ", and the next one does not remove it" for one in left]


def try_crowd(bench, stage, count, chance, reference):
    """Starts the command `count` times at once, all with one cold cache. One of them may be killed or meet a fault;
    nobody else may notice."""
    bench.prepare(stage)
    victim = chance.randrange(count) if chance.random() < 0.5 else None
    homes, processes = [], []
    for i in range(count):
        home = bench.home / f"crowd{i}"
        shutil.rmtree(home, ignore_errors=True)
        for folder in ("out", "tmp"):
            (home / folder).mkdir(parents=True)
        (home / "in").symlink_to(bench.home / "in")
        homes.append(home)
        environment = dict(bench.environment(), TMPDIR=str(home / "tmp"))
        if i == victim:
            fault = Fault(chance.choice(("memory", "write", "rename", "open")), "command", chance.randrange(1, 500),
                          True)
            environment.update(LD_PRELOAD=str(bench.library), BYOC_FAULT=str(fault),
                               BYOC_FAULT_COUNTS=str(home / "counts"))
        processes.append(subprocess.Popen(bench.words(stage.command), cwd=home, env=environment,
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          start_new_session=True))
    if victim is not None and chance.random() < 0.5:
        time.sleep(chance.random() * 0.3)
        processes[victim].kill()
    found = []
    for i, process in enumerate(processes):
        status, _, errors = bench.wait(process)
        if i == victim:
            continue
        if status != 0:
            found.append(f"one of several at once ends with {status}: " + judge.last_line(errors))
            continue
        if stage.result == "files":
            if any((homes[i] / name).read_bytes() != (bench.home / "in" / "whole" / stage.name / name).read_bytes()
                   for name in stage.outputs):
                found.append("one of several at once makes something else")
        if any((homes[i] / "tmp").iterdir()):
            found.append("one of several at once leaves temporary files")
    for home in homes:
        shutil.rmtree(home)
    return found + judge_next(bench, stage, reference)


def try_full_disk(bench, stage, folder, size_bytes, reference):
    """Runs the command with `folder` (out, tmp or cache) on a file system of so many bytes. Needs the rights to mount."""
    bench.prepare(stage)
    path = bench.home / folder
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=700", "faults", path], check=True)
    try:
        for name in stage.outputs if stage.over and folder == "out" else ():
            (bench.home / name).write_bytes(OLD)
        outcome = bench.run_healthy(stage.command)
        found = judge.judge_end(outcome, "full", "command")
        if outcome.status == 0:
            found += judge_made(bench, stage, outcome, reference)
        else:
            found += judge.judge_outputs_of_failure(stage, bench.outputs(stage), reference)
        found += judge.judge_left_behind(bench.left_behind(stage))
    finally:
        subprocess.run(["umount", path], check=True)
    return outcome, found


def draw(counts, quota, chance):
    """Which faults of a stage to try: every one where the quota allows it, otherwise some of each kind and place. All
    kinds share alike; what one does not need goes to the others."""
    pools = {}
    for key, count in counts.items():
        if ":" not in key or count == 0:
            continue
        kind, where = key.split(":")
        if kind == "disk":  # a number of bytes, not of calls; and only that all later ones fail
            pools[kind, where, True] = range(1, count + 1)
        else:
            for goes_on in (False, True) if kind != "clock" else (True,):
                pools[kind, where, goes_on] = range(1, count + 1)
    drawn = []
    order = sorted(pools, key=lambda key: (len(pools[key]), key))
    for i, key in enumerate(order):
        share = max(1, (quota - len(drawn)) // (len(order) - i)) if quota > len(drawn) else 0
        kind, where, goes_on = key
        numbers = pools[key] if len(pools[key]) <= share else sorted(chance.sample(pools[key], share))
        drawn += [Fault(kind, where, number, goes_on) for number in numbers]
    return drawn


def seed(*words):
    return random.Random(" ".join(str(word) for word in words))
