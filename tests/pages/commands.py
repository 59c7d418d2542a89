#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""commands.py PAGE PREFIX FOLDER [--write]: runs the commands of a page, block after block, as a reader of the
installed tree PREFIX does, in one folder that is empty at first.

A block that begins with ```sh is run; it must end well. A block ```text behind it has what it prints, standard error
included. There, `...` stands for anything in a line, and a line `...` for any number of lines. --write puts what is
printed into those blocks that do not fit. In front of a block, <!-- needs NAME... --> names what it needs: a command, a
module of Python (numpy.py), a header (zlib.h), a target (target:dnnl) or a machine (machine:x86_64); without it the
block is left out. <!-- fails --> says that its last command fails.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

BLOCK = re.compile(r"(?P<notes>(?:^<!-- (?:needs [^\n]*|fails) -->\n)*)^```sh\n(?P<script>.*?)^```\n"
                   r"(?:\n*^```text\n(?P<output>.*?)^```\n)?", re.M | re.S)


class Reader:
    def __init__(self, prefix, folder):
        self.prefix, self.folder = pathlib.Path(prefix).resolve(), pathlib.Path(folder).resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        unset = ("BYOC_PLUGIN_PATH", "BYOC_TARGET", "BYOC_PLAN", "BYOC_THREADS", "BYOC_CHECK_BUDGET")
        self.environment = {name: value for name, value in os.environ.items() if name not in unset}
        self.environment["PATH"] = "%s/bin:%s" % (self.prefix, self.environment["PATH"])
        self.environment.update(PREFIX=str(self.prefix), CMAKE_PREFIX_PATH=str(self.prefix),
                                PKG_CONFIG_PATH=str(self.prefix / "lib/pkgconfig"), LC_ALL="C.UTF-8",
                                PYTHONPATH=str(self.prefix / "share/byoc/python"))
        self.targets = self.run("byoc targets")[1]

    def run(self, script):
        """The exit code and what was printed."""
        done = subprocess.run(["sh", "-eu", "-c", script], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=600)
        return done.returncode, done.stdout

    def has(self, need):
        if need.startswith("target:"):
            return re.search(r"^%s - " % need[7:], self.targets, re.M) is not None
        if need.startswith("machine:"):
            return os.uname().machine == need[8:]
        if need.endswith(".py"):
            return self.run("python3 -c 'import %s'" % need[:-3])[0] == 0
        if need.endswith(".h"):
            return self.run("echo '#include <%s>' | cc -xc -fsyntax-only -" % need)[0] == 0
        return shutil.which(need, path=self.environment["PATH"]) is not None


def fits(expected, printed):
    """Is `printed` what the page says?"""
    pattern = ""
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def follow(page, reader):
    """The text of the page with the output that was printed, and the number of blocks: run, left out, wrong."""
    text, counts, made, at = page.read_text(), {"run": 0, "left out": 0, "wrong": 0}, [], 0
    for block in BLOCK.finditer(text):
        needs = re.findall(r"<!-- needs ([^\n]*) -->", block["notes"])
        lacking = [need for need in " ".join(needs).split() if not reader.has(need)]
        if lacking:
            print("left out: no %s here\n%s" % (", ".join(lacking), block["script"]))
            counts["left out"] += 1
            continue
        code, printed = reader.run(block["script"])
        counts["run"] += 1
        is_wrong = (code != 0) != ("<!-- fails -->" in block["notes"])
        if block["output"] is not None and not fits(block["output"], printed):
            is_wrong = True
            made += [text[at : block.start("output")], "".join(line.rstrip() + "\n" for line in printed.splitlines())]
            at = block.end("output")
        if is_wrong:
            counts["wrong"] += 1
            print("%s: this ends with %d and prints what is not on the page:\n%s----\n%s----" %
                  (page.name, code, block["script"], printed))
    return "".join(made) + text[at:], counts


def main():
    page = pathlib.Path(sys.argv[1])
    text, counts = follow(page, Reader(*sys.argv[2:4]))
    print("%s: %s" % (page.name, ", ".join("%d %s" % (count, what) for what, count in counts.items())))
    if sys.argv[4:] == ["--write"]:
        page.write_text(text)
    if counts["run"] == 0:
        return 77 if counts["left out"] else 1
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
