# SPDX-License-Identifier: Apache-2.0
"""Times the cases: an artifact beside ONNX Runtime, one thread each, in turns on the inputs of the case."""
import json
import statistics
import subprocess
import time

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

ROUNDS = 5
TURN_S = 0.25  # of one contestant
MOST_RUNS = 2000
# Below this, ONNX Runtime's time is that of calling it from Python.
LEAST_MS = 0.05


def race(arguments, root, name, work):
    """Returns (milliseconds of byoc, of ONNX Runtime, median of the ratios over the rounds), or why there is none."""
    work.mkdir(parents=True, exist_ok=True)
    model, artifact = root / name / "model.onnx", work / "timed.so"
    data = root / name / "test_data_set_0"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feeds, words = {}, []
    for i, port in enumerate(session.get_inputs()):
        value = numpy_helper.to_array(onnx.load_tensor(str(data / f"input_{i}.pb")))
        if value.dtype == object:
            return "texts are not timed"
        numpy.save(work / f"{i}.npy", value)
        feeds[port.name] = value
        words += ["--input", f"{port.name}={work / f'{i}.npy'}"]
    built = command(arguments, "build", model, "-o", artifact, "--target", arguments.targets[-1], "--plan", "greedy")
    if built.returncode != 0:
        return f"not built: {built.stderr.strip()[:200]}"
    bench = ["bench", artifact, *words, "--warm-up", "1", "--json", "--runs"]
    once = json.loads(command(arguments, *bench, 1).stdout or "{}").get("median_ms")
    if once is None:
        return "the artifact does not run"
    run_count = max(1, min(MOST_RUNS, int(TURN_S * 1e3 / max(once, 1e-3))))
    pairs = []
    session.run(None, feeds)
    for _ in range(ROUNDS):
        mine = json.loads(command(arguments, *bench, run_count).stdout)["min_ms"]
        pairs.append((mine, fastest(session, feeds)))
    mine, theirs = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    return mine, theirs, statistics.median(one / other for one, other in pairs)


def fastest(session, feeds):
    """The fastest run of a turn: other load on the machine only adds to it."""
    best, end = float("inf"), time.perf_counter() + TURN_S
    while True:
        begin = time.perf_counter()
        session.run(None, feeds)
        now = time.perf_counter()
        best = min(best, (now - begin) * 1e3)
        if now > end:
            return best


def command(arguments, *words):
    return subprocess.run([str(word) for word in (arguments.programs / "byoc", *words)], capture_output=True, text=True)


def table(arguments, root, names):
    """Writes times.csv as it goes, and prints the slowest models at the end. Returns how many are slower than asked."""
    rows = []
    with (arguments.output / "times.csv").open("w") as file:
        file.write("model,byoc_ms,onnxruntime_ms,ratio\n")
        for name in names:
            found = race(arguments, root, name, arguments.output / "work")
            if isinstance(found, str):
                print(f"not timed: {name}: {found}", flush=True)
                continue
            file.write(f"{name},{found[0]:.4f},{found[1]:.4f},{found[2]:.3f}\n")
            file.flush()
            rows.append((name, *found))
    print()
    slow = [row for row in rows if row[3] > arguments.times and row[2] >= LEAST_MS]
    for name, mine, theirs, ratio in sorted(slow, key=lambda row: -row[3]):
        print(f"SLOWER {name}: {mine:.3f} ms, ONNX Runtime {theirs:.3f} ms, ratio {ratio:.2f}")
    if rows:
        print(f"{len(rows)} models timed, median ratio {statistics.median(row[3] for row in rows):.2f}, {len(slow)} above "
              f"{arguments.times}; see {arguments.output / 'times.csv'}")
    return len(slow)
