# SPDX-License-Identifier: Apache-2.0
"""One engine in a process of its own. Speaks lines of JSON: {"turn_ms": t, "runs": most} gives {"ms": [...],
"processor_ms": the processor time of all threads for a run}, {"save": path} saves the outputs. The first line out
tells how long it took to open the model and to get the first result.
"""
import json
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import numpy as np

from bench_peers import peers


# An engine that tunes for longer is out of the race.
START_LIMIT_S = 300


def too_slow(number, frame):
    raise TimeoutError(f"no first result within {START_LIMIT_S} s")


def answer(message):
    print(json.dumps(message), flush=True)


def main(engine, path, threads, inputs_path, precision):
    with np.load(inputs_path) as file:
        inputs = {name: np.ascontiguousarray(file[name]) for name in file.files}
    if engine != "byoc":
        __import__(peers.PEERS[engine])  # not part of opening a model
    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(START_LIMIT_S)
    start = time.perf_counter()
    model = peers.ENGINES[engine](path, threads, precision)
    opened = time.perf_counter()
    model.bind(inputs)
    model.run()
    first = time.perf_counter()
    signal.alarm(0)
    answer({"open_ms": (opened - start) * 1e3, "first_result_ms": (first - start) * 1e3})
    for line in sys.stdin:
        request = json.loads(line)
        if "save" in request:
            np.savez(request["save"], *model.outputs())
            answer({})
            continue
        times = []
        used = time.process_time()
        deadline = time.perf_counter() + request["turn_ms"] / 1e3
        while not times or (time.perf_counter() < deadline and len(times) < request["runs"]):
            begin = time.perf_counter()
            model.run()
            times.append((time.perf_counter() - begin) * 1e3)
        answer({"ms": times, "processor_ms": (time.process_time() - used) * 1e3 / len(times)})


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
    except Exception as error:  # whatever an engine throws goes to the table
        answer({"error": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"})
