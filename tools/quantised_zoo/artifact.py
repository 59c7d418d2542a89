# SPDX-License-Identifier: Apache-2.0
"""Builds and runs artifacts by the command byoc."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import numpy

TIMEOUT_S = 180
# The command of a run shows a wrong result, too: it compares with the expected one.
NAME = "zoo"
SEAL = pathlib.Path(__file__).with_name("seal.py")


class Failure(Exception):
    """A step that failed: its stage, what it said, and the command that shows it."""

    def __init__(self, stage, text, command):
        super().__init__(f"{stage}: {text}")
        self.stage, self.text, self.command = stage, text, command


def shown(words):
    return " ".join(shlex.quote(str(word)) for word in words)


def call(stage, words, history=(), folder=None):
    """Returns what the command prints. `history`: the commands before it that it needs."""
    told = " && ".join([*history, shown(words)])
    try:
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIMEOUT_S,
                                errors="replace", cwd=folder)
    except subprocess.TimeoutExpired:
        raise Failure(stage, f"not done in {TIMEOUT_S} s", told) from None
    if result.returncode != 0:
        text = " ".join((result.stderr.strip() or result.stdout.strip()).split())[:300]
        raise Failure(stage, text or f"ended by {result.returncode}", told)
    return result.stdout


class Artifact:
    """A model that was built. `history` has the commands."""

    def __init__(self, byoc, path, history):
        self.byoc, self.path, self.history = byoc, path, history

    def run(self, inputs):
        """The results for a .npz file of inputs, by their names in files."""
        folder = self.path.with_suffix(".results")
        shutil.rmtree(folder, ignore_errors=True)
        words = [self.byoc, "run", self.path, "--input", inputs, "--output-dir", folder]
        call("run", words, self.history)
        return {file.stem: numpy.load(file) for file in folder.glob("*.npy")}

    def compare_command(self, inputs, name, expected, bound):
        words = [self.byoc, "run", self.path, "--input", inputs, "--expect", f"{name}={expected}", "--rtol", "0",
                 "--atol", f"{bound:.6g}"]
        return " && ".join([*self.history, shown(words)])


def build(byoc, model, path, words):
    command = [byoc, "build", model, "-o", path, *words]
    call("build", command)
    return Artifact(byoc, path, [shown(command)])


def build_source(byoc, model, path, words):
    """As a folder of C, which make and the C compiler make an artifact of."""
    folder = path.with_suffix(".c")
    shutil.rmtree(folder, ignore_errors=True)
    command = [byoc, "build", model, "-o", folder, "--name", NAME, *words]
    call("build", command)
    history = [shown(command)]
    make = ["make", "-s", "-C", folder, "CFLAGS=-O1 -fPIC"]
    call("make", make, history)
    history.append(shown(make))
    compiler = os.environ.get("CC", "cc")
    link = [compiler, "-shared", "-o", path, f"-Wl,--defsym,byoc_artifact_entry={NAME}_artifact_entry",
            "-Wl,--whole-archive", folder / f"lib{NAME}.a", "-Wl,--no-whole-archive", "-lm"]
    call("link", link, history)
    history.append(shown(link))
    seal = [sys.executable, "-B", SEAL, path]
    call("seal", seal, history)
    return Artifact(byoc, path, [*history, shown(seal)])


def file_name(name):
    """As byoc run --output-dir names the file of a result."""
    kept = "".join(c if c.isalnum() and c.isascii() or c in "_.-" else "_" for c in name)
    return "_" + kept[1:] if kept.startswith(".") else kept
