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
PROGRAM = pathlib.Path(__file__).with_name("program.c")


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
    """As a folder of C, of which make and the C compiler make a program."""
    folder, program = path.with_suffix(".c"), path.with_suffix(".program")
    shutil.rmtree(folder, ignore_errors=True)
    command = [byoc, "build", model, "-o", folder, "--name", NAME, *words]
    call("build", command)
    make = ["make", "-s", "-C", folder, "CFLAGS=-O1"]
    call("make", make, [shown(command)])
    link = [os.environ.get("CC", "cc"), "-O1", f"-I{folder / 'include'}", PROGRAM, folder / f"lib{NAME}.a", "-lm", "-o",
            program]
    call("link", link, [shown(command), shown(make)])
    return Program(program, [shown(command), shown(make), shown(link)])


class Program:
    """A program with a model inside, which reads inputs from FOLDER/NAME.in and writes results to FOLDER/NAME.out."""

    def __init__(self, path, history):
        self.path, self.history = path, history
        self.folder = path.with_suffix(".data")

    def run(self, inputs):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for name, value in numpy.load(inputs).items():
            value.tofile(self.folder / f"{file_name(name)}.in")
        call("run", [self.path, self.folder], self.history)
        return {file.stem: numpy.fromfile(file, numpy.float32) for file in self.folder.glob("*.out")}

    def compare_command(self, inputs, name, expected, bound):
        del inputs  # those of the failed run are in the folder
        script = (f"import numpy; a = numpy.fromfile('{self.folder / (file_name(name) + '.out')}', 'f4'); "
                  f"b = numpy.load('{expected}').ravel(); print(a, b); assert abs(a - b).max() <= {bound:.6g}")
        return " && ".join([*self.history, shown([self.path, self.folder]), shown([sys.executable, "-c", script])])


def file_name(name):
    """As byoc run --output-dir names the file of a result."""
    kept = "".join(c if c.isalnum() and c.isascii() or c in "_.-" else "_" for c in name)
    return "_" + kept[1:] if kept.startswith(".") else kept
