# SPDX-License-Identifier: Apache-2.0
"""Times the cases: an artifact beside ONNX Runtime, in one process, one thread each, in turns on the inputs of the case.

Times are those of the processor, so that a busy machine hardly changes them."""
import concurrent.futures
import csv
import multiprocessing
import statistics
import subprocess
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

from . import check

ROUNDS = 3
TURN_S = 0.05  # of one contestant
# Below this, the time is that of calling from Python.
LEAST_MS = 0.05
NOT_BUILT = "not built"
COLUMNS = ("model", "agrees", "byoc_ms", "onnxruntime_ms", "ratio")


def race(folder, artifact, tolerance):
    """Returns whether the results agree, the milliseconds of byoc and of ONNX Runtime, and the median of the ratios."""
    import byoc
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    context = byoc.load(artifact).context(threads=1)
    data = folder / "test_data_set_0"
    values = [numpy_helper.to_array(onnx.load_tensor(str(data / f"input_{i}.pb")))
              for i in range(len(session.get_inputs()))]
    feeds = {port.name: value for port, value in zip(session.get_inputs(), values)}
    theirs = session.run(None, feeds)
    agrees = agree(context.run(*values), theirs, tolerance)
    rounds = [(fastest(lambda: context.run(*values)), fastest(lambda: session.run(None, feeds))) for _ in range(ROUNDS)]
    byoc_ms, onnxruntime_ms = (statistics.median(of_one) for of_one in zip(*rounds))
    return agrees, byoc_ms, onnxruntime_ms, statistics.median(mine / other for mine, other in rounds)


def agree(mine, theirs, tolerance):
    """Are outputs equal but for rounding? Maps and sequences are left to `byoc conform`."""
    for one, other in zip(mine.values(), theirs):
        if isinstance(other, numpy.ndarray) and (one.shape != other.shape or (
                other.dtype.kind in "fc" and not numpy.allclose(one, other, 1e-3, tolerance, equal_nan=True))):
            return False
    return True


def fastest(run):
    """The fastest run of a turn: other load on the machine only adds to it."""
    best, end = float("inf"), time.thread_time() + TURN_S
    while True:
        begin = time.thread_time()
        run()
        now = time.thread_time()
        if now > begin:  # on virtual machines the clock may stand still, or step back
            best = min(best, (now - begin) * 1e3)
        if now > end:
            return best


def measure(arguments, root, name, artifact):
    """Builds the model and races it in a process of its own. Returns race's results, or why there are none."""
    folder = root / name
    built = subprocess.run([str(arguments.programs / "byoc"), "build", str(folder / "model.onnx"), "-o", str(artifact),
                            "--target", arguments.targets[-1], "--plan", "greedy"], capture_output=True, text=True)
    if built.returncode != 0:
        return f"{NOT_BUILT}: {' '.join(built.stderr.split())[:300]}"
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=fork) as child:
        try:
            return child.submit(race, folder, artifact, float(check.tolerance(name.split("/")[0]))).result()
        except Exception as error:  # of the artifact, of ONNX Runtime, or of a process that died
            return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def table(arguments, root, names):
    """Writes times.csv as it goes, and summary.md at the end. Models that have a row already are not timed again. Prints
    the slowest models. Returns how many are slower than asked, or failed."""
    sys.path.insert(0, str(arguments.repository / "python"))
    path, work = arguments.output / "times.csv", arguments.output / "work"
    work.mkdir(parents=True, exist_ok=True)
    rows = {} if arguments.fresh else read(path)
    for name in names:
        if name in rows:
            continue
        found = measure(arguments, root, name, work / "timed.so")
        if isinstance(found, str):
            rows[name] = (found, "", "", "")
            print(f"FAILED {name}: {found}", flush=True)
        else:
            rows[name] = ("yes" if found[0] else "no", *(f"{number:.4f}" for number in found[1:]))
        write(path, rows)
    (arguments.output / "summary.md").write_text("\n".join(summary(rows, arguments.times)) + "\n")
    return report(arguments, {name: rows[name] for name in names}, path)


def read(path):
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row[0]: tuple(row[1:]) for row in list(csv.reader(file))[1:]}


def write(path, rows):
    """Whoever ends the command loses no row: the file is replaced by a whole one."""
    new = path.with_suffix(".new")
    with new.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows((name, *rows[name]) for name in sorted(rows))
    new.replace(path)


def timed(rows):
    """The rows of models that ran: name -> milliseconds of byoc, of ONNX Runtime, and the ratio."""
    return {name: tuple(map(float, row[1:])) for name, row in rows.items() if row[0] in ("yes", "no")}


def above(rows, most):
    """Those of timed's rows that are slower than `most` times ONNX Runtime, and not too short to tell."""
    return {name: row for name, row in rows.items() if row[2] > most and row[1] >= LEAST_MS}


def summary(rows, most):
    """The lines of a table with a row for each kind. Ratios are those of models that are not too short to tell."""
    lines = [f"| kind | models | built | agree | of {LEAST_MS} ms or more | their median ratio | over {most:g} |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    kinds = sorted({name.split("/")[0] for name in rows})
    for kind in [*kinds, "all"]:
        own = {name: row for name, row in rows.items() if kind in ("all", name.split("/")[0])}
        built = sum(not row[0].startswith(NOT_BUILT) for row in own.values())
        agreeing = sum(row[0] == "yes" for row in own.values())
        ratios = [row[2] for row in timed(own).values() if row[1] >= LEAST_MS]
        median = f"{statistics.median(ratios):.2f}" if ratios else "-"
        lines.append(f"| {kind} | {len(own)} | {built} | {agreeing} | {len(ratios)} | {median} | "
                     f"{len(above(timed(own), most))} |")
    return lines


def report(arguments, rows, path):
    ran = timed(rows)
    slow = above(ran, arguments.times)
    wrong = [name for name, row in rows.items() if row[0] == "no"]
    print()
    for name in wrong:
        print(f"WRONG {name}")
    for name, (mine, theirs, ratio) in sorted(slow.items(), key=lambda item: -item[1][2]):
        print(f"SLOWER {name}: {mine:.3f} ms, ONNX Runtime {theirs:.3f} ms, ratio {ratio:.2f}")
    failed = len(rows) - len(ran) + len(wrong)
    print("\n".join(summary(rows, arguments.times)))
    print(f"{len(rows)} models, {len(slow)} above {arguments.times:g}, {failed} failed; see {path} and summary.md beside it")
    return len(slow) + failed
