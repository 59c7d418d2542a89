# SPDX-License-Identifier: Apache-2.0
"""A race: all contestants with each number of threads, on one model and beside as many neighbours, in turns. What one
thread and several take is thus measured at the same time, however fast the machine is then.
"""
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

import numpy as np

from bench_peers import machine, quantise, report

WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"
# Threads of an engine that ran may spin, those of ONNX Runtime for some 20 ms; the next one's turn begins after this.
PAUSE_S = 0.05
RTOL, ATOL = 1e-3, 1e-4


def run_command(words):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines() if line.startswith("error")]
        raise RuntimeError(lines[0] if lines else f"{words[0]} ended with status {result.returncode}")
    return result.stdout


class Contestant:
    def __init__(self, entry, label, row):
        self.entry, self.name, self.label, self.row, self.process = entry, entry.name, label, row, None
        self.turns = []  # of each round: the times of its runs, and the processor time of one

    def start(self, path, inputs):
        command = [sys.executable, WORKER, self.entry.engine, path, self.row["threads"], inputs, self.entry.precision]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.row.update(self.read())

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"its process ended with status {self.process.wait()}")
        message = json.loads(line)
        if "error" in message:
            raise RuntimeError(message["error"])
        return message

    def ask(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return self.read()

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None

    def fail(self, error):
        self.row["error"] = str(error)
        self.stop()


def random_inputs(ports, seed):
    """Integers are 0 or 1, so that they are valid as indices, kinds and masks."""
    random = np.random.default_rng(seed)
    return {name: random.random(shape, np.float32).astype(dtype) if np.issubdtype(dtype, np.floating)
            else random.integers(0, 2, shape).astype(dtype) for name, (dtype, shape) in ports.items()}


def model_inputs(model, folder):
    """Seeded inputs, the same for all."""
    path = folder / "inputs.npz"
    np.savez(path, **random_inputs(port_list(model), 5))
    return path


def port_list(model):
    """The inputs as byoc sees them: needs no peer."""
    kinds = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i8": np.int8,
             "u8": np.uint8, "bool": np.bool_}
    described = json.loads(run_command([model.byoc, "inspect", model.path, "--json"]))
    ports = {}
    for port in described["inputs"]:
        dtype, _, dims = port["type"].partition("[")
        ports[port["name"]] = (kinds[dtype], [int(dim) for dim in dims.rstrip("]").split(",") if dim])
    return ports


def file_of(contestant, folder, suffix):
    return folder / f"{contestant.name.replace(' ', '_')}_{contestant.row['threads']}{suffix}"


def build(contestant, model_path, folder, arguments):
    path = file_of(contestant, folder, ".so")
    begin = time.perf_counter()
    run_command([arguments.programs / "byoc", "build", model_path, "-o", path, "--threads", contestant.row["threads"],
                 *shlex.split(contestant.entry.words.replace(";", "\\;"))])
    contestant.row["build_s"] = time.perf_counter() - begin
    contestant.row["size_bytes"] = path.stat().st_size
    return path


def compare(contestant, reference, folder):
    path = file_of(contestant, folder, ".npz")
    contestant.ask({"save": str(path)})
    with np.load(path) as file:
        outputs = [file[name] for name in file.files]
    if reference is None:
        return outputs
    worst = error = 0.0
    agrees = len(outputs) == len(reference)
    for mine, theirs in zip(outputs, reference):
        theirs = np.asarray(theirs, np.float64).reshape(-1)
        mine = np.asarray(mine, np.float64).reshape(-1)
        agrees = agrees and mine.shape == theirs.shape and bool(np.allclose(mine, theirs, RTOL, ATOL))
        if mine.shape == theirs.shape and mine.size:
            worst = max(worst, float(np.max(np.abs(mine - theirs))))
            error = max(error, float(np.linalg.norm(mine - theirs) / (np.linalg.norm(theirs) or 1.0)))
    contestant.row.update(worst_difference=worst, relative_error=error)
    if contestant.entry.precision == "f32":
        contestant.row["agrees"] = agrees
    return reference


def quantised(model, arguments):
    samples = [random_inputs(port_list(model), seed) for seed in range(100, 100 + quantise.SAMPLES)]
    return quantise.quantise(model.path, arguments.output / "models" / (model.path.stem + ".qdq.onnx"), samples)


def prepare(contestant, model, inputs, folder, arguments):
    """Builds and starts a contestant; one that cannot take part says why in its row."""
    try:
        path = quantised(model, arguments) if contestant.entry.is_quantised else model.path
        if contestant.entry.engine == "byoc":
            path = build(contestant, path, folder, arguments)
        contestant.start(path, inputs)
    except (RuntimeError, OSError) as error:
        contestant.fail(error)


def say(text):
    print(text, flush=True)


def make_field(entries, model, threads, neighbours):
    """`race` tells rows that were timed together; the label is what is said."""
    race = time.time()
    field = []
    for number in threads:
        for entry in entries:
            label = entry.name if len(threads) == 1 else f"{entry.name}, {report.describe((number, 0))}"
            field.append(Contestant(entry, label, {"model": model.name, "threads": number, "neighbours": neighbours,
                                                   "contestant": entry.name, "precision": entry.precision,
                                                   "race": race}))
    return field


def prepare_all(field, model, inputs, folder, arguments):
    reference = None
    for contestant in field:
        prepare(contestant, model, inputs, folder, arguments)
        if contestant.process is not None:
            reference = compare(contestant, reference, folder)
        say(f"  {contestant.label}: " + (contestant.row.get("error") or
                                         f"ready, first result after {contestant.row['first_result_ms']:.1f} ms"))


def take_round(field, number, arguments):
    # Every second round runs backwards, so that no contestant always follows the same one.
    for contestant in field if number % 2 == 0 else reversed(field):
        if contestant.process is None:
            continue
        time.sleep(PAUSE_S)
        try:
            contestant.turns.append(contestant.ask({"turn_ms": arguments.turn_ms, "runs": 1000}))
        except RuntimeError as error:
            contestant.fail(error)


def take_rounds(field, threads, neighbours, arguments):
    """Returns the machine's peaks before the first round and after each; without neighbours, see machine.py."""
    with machine.Peak(threads) as peak, machine.Neighbours(neighbours) as others:
        peak.measure()
        for number in range(arguments.rounds):
            if not others.are_there():
                say(f"  only {number} rounds: the neighbours ended, which work for {machine.LIMIT_S} s at most")
                break
            take_round(field, number, arguments)
            time.sleep(PAUSE_S)
            peak.measure()
            if sys.stdout.isatty():
                print(f"\r  round {number + 1} of {arguments.rounds}\r", end="", flush=True)
    return peak.values


def race(model, threads, neighbours, entries, arguments):
    model.byoc = arguments.programs / "byoc"
    folder = arguments.output / "work"
    folder.mkdir(parents=True, exist_ok=True)
    say(f"{model.name}, {report.describe((max(threads), neighbours), threads)}")
    try:
        inputs = model_inputs(model, folder)
    except (RuntimeError, KeyError, ValueError) as error:
        say(f"  left out: {error}")
        return []
    field = make_field(entries, model, threads, neighbours)
    try:
        prepare_all(field, model, inputs, folder, arguments)
        peaks = take_rounds(field, max(threads), neighbours, arguments)
    finally:
        for contestant in field:
            contestant.stop()
    finish(field, peaks, neighbours)
    return [contestant.row for contestant in field]


def finish(field, peaks, neighbours):
    """Beside neighbours all rounds count: what they take changes from moment to moment, which is what is asked."""
    if len(peaks) < 2:
        return
    kept = list(range(len(peaks) - 1)) if neighbours else machine.quiet_rounds(peaks)
    say(f"  {len(kept)} of {len(peaks) - 1} rounds count; the machine did {min(peaks):.0f} to {max(peaks):.0f} GFLOP/s")
    for contestant in field:
        if "error" in contestant.row or not contestant.turns:
            continue
        row, turns = contestant.row, [contestant.turns[i] for i in kept]
        times = [ms for turn in turns for ms in turn["ms"]]
        row["runs"] = len(times)
        row["median_ms"] = statistics.median(times)
        row["best_ms"] = min(times)
        row["processor_ms"] = statistics.median(turn["processor_ms"] for turn in turns)
        row["turns_ms"] = [statistics.median(turn["ms"]) for turn in turns]
        row["rounds_kept"], row["peaks_gflops"] = kept, peaks
        row["start_ms"] = row["first_result_ms"] - row["median_ms"]
        say(f"  {contestant.label}: median {row['median_ms']:.3f} ms, processor {row['processor_ms']:.3f} ms"
            + ("" if row.get("agrees", True) else f", OUTPUTS DIFFER by {row['worst_difference']:g}"))
