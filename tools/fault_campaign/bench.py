# SPDX-License-Identifier: Apache-2.0
"""Runs a command under the library of faults, in a folder of its own, and looks at what it leaves behind."""
import dataclasses
import hashlib
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess

LIMIT_S = 120  # whatever takes longer hangs
OLD = b"an older output\n"


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    where: str  # command, children, programs
    number: int
    goes_on: bool

    def __str__(self):
        return f"{self.kind}:{self.where}:{self.number}" + (":on" if self.goes_on else "")


@dataclasses.dataclass
class Outcome:
    status: int  # exit status, -N for signal N, None for a hang
    text: str
    errors: str
    struck: int
    counts: dict


class Bench:
    """A folder `home` with links to the inputs, and the programs of one build."""

    def __init__(self, build, home, material):
        self.build, self.home = build, home
        home.mkdir(parents=True)
        (home / "in").symlink_to(material / "in")
        self.warm_caches = material / "warm"
        self.library = build / "tests" / "libbyoc_faults.so"

    # ---- state ----

    def fill(self, folder, source=None):
        path = self.home / folder
        shutil.rmtree(path, ignore_errors=True)
        if source is not None:
            shutil.copytree(source, path)
        else:
            path.mkdir(mode=0o700)

    def prepare(self, stage):
        self.fill("tmp")
        self.fill("out")
        self.fill("cache", self.warm_caches / stage.name if stage.cache == "warm" else None)
        for name in stage.outputs if stage.over else ():
            (self.home / name).write_bytes(OLD)

    def left_behind(self, stage):
        """What is in the folder of temporary files, and files in the output folder that nobody asked for."""
        found = sorted(p.name for p in (self.home / "tmp").iterdir())
        found += sorted(str(p.relative_to(self.home)) for p in (self.home / "out").iterdir()
                        if str(p.relative_to(self.home)) not in stage.outputs)
        return found

    def outputs(self, stage):
        """Each output's content as a hash, "old", or None if it is not there."""
        result = {}
        for name in stage.outputs:
            path = self.home / name
            content = path.read_bytes() if path.exists() else None
            result[name] = ("old" if content == OLD
                            else hashlib.sha256(content).hexdigest() if content is not None else None)
        return result

    # ---- running ----

    def environment(self, **more):
        names = ("PATH", "HOME", "LANG", "CC", "LD_LIBRARY_PATH", "CCACHE_DIR")
        result = {name: os.environ[name] for name in names if name in os.environ}
        result.update(BYOC_PLUGIN_PATH=str(self.build / "plugins"), BYOC_CACHE_DIR=str(self.home / "cache"),
                      TMPDIR=str(self.home / "tmp"), **more)
        return result

    def words(self, command):
        folder = "tests" if command[0].startswith("faults_") else "bin"
        return [str(self.build / folder / command[0]), *command[1:]]

    def start(self, command, environment, output=None):
        def become_leader():
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and so would the command
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        return subprocess.Popen(self.words(command), cwd=self.home, env=environment, stdin=subprocess.DEVNULL,
                                stdout=output or subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=become_leader)

    def wait(self, process):
        """Its exit status, output and messages; the status is None if it hangs."""
        try:
            text, errors = process.communicate(timeout=LIMIT_S)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, errors = process.communicate()
            status = None
        return status, (text or b"").decode(errors="replace"), errors.decode(errors="replace")

    def run(self, command, fault=None, waits=False, trace=None):
        """Under the library; without a fault it only counts."""
        counts = self.home / "counts"
        counts.unlink(missing_ok=True)
        more = {"LD_PRELOAD": str(self.library), "BYOC_FAULT_COUNTS": str(counts)}
        if fault is not None:
            more["BYOC_FAULT"] = str(fault)
        if waits:
            more["BYOC_FAULT_WAITS"] = "1"
        if trace is not None:
            more["BYOC_FAULT_TRACE"] = str(trace)
        status, text, errors = self.wait(self.start(command, self.environment(**more)))
        found = read_counts(counts)
        return Outcome(status, text, errors, found.pop("struck", 0), found)

    def run_healthy(self, command):
        status, text, errors = self.wait(self.start(command, self.environment()))
        return Outcome(status, text, errors, 0, {})


def read_counts(path):
    if not path.exists():
        return {}
    return {name.rstrip(b"\0").decode(): count for name, count in struct.iter_unpack("24sQ", path.read_bytes())}


def make_material(build, folder, commands):
    """Runs the commands that make the inputs of the stages, each in `folder`."""
    (folder / "warm").mkdir()
    maker = Bench(build, folder / "maker", folder)
    for part in ("cache", "tmp"):
        maker.fill(part)
    for command in commands:
        outcome = maker.run_healthy(command)
        if outcome.status != 0:
            raise SystemExit(f"faults: {' '.join(command)} failed without any fault: {outcome.errors}")
    return maker


def warm(maker, stage):
    """Keeps a cache in which the command of the stage ran before, if it makes anything."""
    maker.fill("cache")
    if stage.cache == "warm" and stage.outputs and not stage.waits:
        maker.fill("out")
        outcome = maker.run_healthy(stage.command)
        if outcome.status != 0:
            raise SystemExit(f"faults: stage {stage.name} fails without any fault: {outcome.errors}")
    shutil.copytree(maker.home / "cache", maker.warm_caches / stage.name)


def processes_of(home):
    """Processes whose environment names this folder: those that a command left running."""
    mark, found = str(home).encode(), []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def name_functions(trace):
    """Puts the names of functions into what the library traced: program(+0x1234)[0x...]."""
    lines = []
    for line in trace.splitlines():
        match = re.match(r"(/[^()]+)\(\+(0x[0-9a-f]+)\)", line)
        if match is not None and shutil.which("addr2line") is not None:
            answer = subprocess.run(["addr2line", "-f", "-e", match[1], match[2]], capture_output=True, text=True)
            line = f"  {answer.stdout.splitlines()[0] if answer.stdout else '?'} in {match[1].rsplit('/', 1)[-1]}"
        lines.append(line)
    return "\n".join(lines)
