# SPDX-License-Identifier: Apache-2.0
"""The tests of a build tree, run one by one with a cache and temporary folder of their own."""
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import threading
import time


@dataclasses.dataclass
class Test:
    name: str
    command: list
    folder: str
    environment: dict
    skip_code: int
    failure: list      # texts that mean failure wherever they are printed
    seconds: float = 0.0  # what it took by the clock,
    cpu_s: float = 0.0    # and of processors, with the processes that it waited for: the same on a loaded machine


def read(build):
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, check=True)
    tests = []
    for entry in json.loads(listing.stdout)["tests"]:
        properties = {item["name"]: item["value"] for item in entry.get("properties", [])}
        environment = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))
        tests.append(Test(entry["name"], entry["command"], properties.get("WORKING_DIRECTORY", str(build)), environment,
                          properties.get("SKIP_RETURN_CODE", -1), properties.get("FAIL_REGULAR_EXPRESSION", [])))
    return tests


class Run:
    """A test that runs in a process group of its own, in folders below `scratch`."""

    def __init__(self, test, scratch, limit_s, more=None, most_cpu_s=None):
        self.test = test
        environment = dict(os.environ, **test.environment)
        environment.update(TMPDIR=str(scratch), BYOC_CACHE_DIR=str(scratch / "cache"), **(more or {}))
        self.process = subprocess.Popen(test.command, cwd=test.folder, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        if most_cpu_s:  # ends a process that goes round in circles long before the clock does on a loaded machine
            try:
                # A test that measures candidates lifts it: it would remember nothing that it sees.
                resource.prlimit(self.process.pid, resource.RLIMIT_CPU, (most_cpu_s, resource.RLIM_INFINITY))
            except ProcessLookupError:
                pass
        self.timer = threading.Timer(limit_s, self.kill)
        self.timer.start()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def passed(self):
        output = self.process.stdout.read().decode(errors="replace")
        _, status, usage = os.wait4(self.process.pid, 0)
        self.timer.cancel()
        self.kill()  # what it may have left behind
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.process.stdout.close()
        self.cpu_s = usage.ru_utime + usage.ru_stime
        if self.process.returncode == self.test.skip_code:
            return True
        return self.process.returncode == 0 and not any(re.search(text, output) for text in self.test.failure)


def run_all(tests, scratch, jobs, limit_s, each, more=None, most_cpu_s=None):
    """Runs the tests, `jobs` at a time. each(test, passed, cpu_s) is told of each and returns whether to go on."""
    scratch = pathlib.Path(scratch)
    lock = threading.Lock()
    left = list(reversed(tests))
    running = []
    state = {"stopped": False}

    def worker():
        while True:
            with lock:
                if state["stopped"] or not left:
                    return
                test = left.pop()
                run = Run(test, scratch, limit_s(test), more(test) if more else None,
                          most_cpu_s(test) if most_cpu_s else None)
                running.append(run)
            passed = run.passed()
            with lock:
                running.remove(run)
                if state["stopped"]:
                    return
                if not each(test, passed, run.cpu_s):
                    state["stopped"] = True
                    for other in running:
                        other.kill()

    threads = [threading.Thread(target=worker) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fresh_scratch(scratch, warm=None):
    """An empty folder, with a copy of the cache `warm` where that is given."""
    scratch = pathlib.Path(scratch)
    for _ in range(100):  # what a killed test has left behind: a mount, a process that still writes
        for line in pathlib.Path("/proc/mounts").read_text().splitlines():
            if line.split()[1].startswith(f"{scratch}/"):
                subprocess.run(["umount", line.split()[1]], check=True)
        shutil.rmtree(scratch, ignore_errors=True)
        if not scratch.exists():
            break
        time.sleep(0.1)
    scratch.mkdir(parents=True)
    if warm and pathlib.Path(warm).exists():
        subprocess.run(["cp", "-r", "--reflink=auto", str(warm), str(scratch / "cache")], check=True)
