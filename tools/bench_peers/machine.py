# SPDX-License-Identifier: Apache-2.0
"""The machine beside a race: how fast it is between the rounds, and neighbours that keep its processors busy.

Both are processes of one thread each. They end by themselves: when the one that started them is gone, and neighbours
after LIMIT_S at the latest.
"""
import os
import pathlib
import subprocess
import sys
import threading
import time

THIS = pathlib.Path(__file__).resolve()
# A product of this size stays in a processor's own cache.
ORDER = 256
PEAK_MS = 20
COPY_MS = 20
LIMIT_S = 900

# A round counts if the machine was at least this fast before it and after it, as a part of its best in the race.
PEAK_LEAST = 0.9
# With fewer rounds than this part left, the machine was never quiet, and all of them count.
ROUNDS_LEAST = 1 / 3


class Process:
    def __init__(self, role):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen([sys.executable, str(THIS), role], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment, text=True)
        self.read()  # it has loaded numpy

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a helper of bench-peers ended with status {self.process.wait()}")
        return line

    def send(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Processes:
    """Some of the same role, for a `with`, which ends them."""

    def __init__(self, role, count):
        self.processes = []
        try:
            for _ in range(count):
                self.processes.append(Process(role))
        except BaseException:
            self.stop()
            raise

    def stop(self):
        for process in self.processes:
            process.stop()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


class Neighbours(Processes):
    """Programs that are at work beside the contestants: products and copies, half of the time each."""

    def __init__(self, count):
        super().__init__("neighbour", count)

    def are_there(self):
        return all(neighbour.process.poll() is None for neighbour in self.processes)


class Peak(Processes):
    """What as many processors as there are threads do together at most, in GFLOP/s."""

    def __init__(self, threads):
        self.values = []
        super().__init__("peak", threads)

    def measure(self):
        for helper in self.processes:
            helper.send("measure")
        self.values.append(sum(float(helper.read()) for helper in self.processes))


def quiet_rounds(peaks):
    """The rounds that count: round i lies between peaks[i] and peaks[i + 1]."""
    rounds = range(len(peaks) - 1)
    least = PEAK_LEAST * max(peaks)
    quiet = [i for i in rounds if min(peaks[i], peaks[i + 1]) >= least]
    return quiet if len(quiet) >= ROUNDS_LEAST * len(rounds) and quiet else list(rounds)


# ---- in the processes ----

def product_gflops(numpy, left, right, out):
    """By the clock, so that a processor that others use shows as a slow one."""
    count, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + PEAK_MS / 1e3:
        numpy.matmul(left, right, out=out)
        count += 1
    return count * 2 * ORDER**3 / (time.perf_counter() - begin) / 1e9


def end_with_parent():
    sys.stdin.read()
    os._exit(0)


def be_busy(numpy, left, right, out):
    source = numpy.ones(1 << 21, numpy.float32)  # 8 MiB: more than a processor's own cache
    target = numpy.empty_like(source)
    threading.Thread(target=end_with_parent, daemon=True).start()
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        product_gflops(numpy, left, right, out)
        turn_ends = time.perf_counter() + COPY_MS / 1e3
        while time.perf_counter() < turn_ends:
            numpy.copyto(target, source)


def main(role):
    import numpy
    left, right = (numpy.full((ORDER, ORDER), value, numpy.float32) for value in (0.5, 0.25))
    out = numpy.empty_like(left)
    print("ready", flush=True)
    if role == "neighbour":
        be_busy(numpy, left, right, out)
        return
    for _ in sys.stdin:
        print(product_gflops(numpy, left, right, out), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
