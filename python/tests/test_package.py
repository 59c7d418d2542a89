# SPDX-License-Identifier: Apache-2.0
"""The package as pip installs it: running needs no libbyoc, and building says what it lacks."""

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

import byoc
from support import InFolder, linear, needs_onnx

HAS_TOOLS = all(importlib.util.find_spec(name) is not None for name in ("pip", "setuptools", "wheel"))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

PROGRAM = """
import sys, numpy, byoc
assert byoc.__file__.startswith(sys.argv[1]), byoc.__file__
print(byoc.load(sys.argv[2])(numpy.ones((2, 4), numpy.float32)).shape)
try:
    byoc.build("model.onnx")
except byoc.Error as error:
    print(error)
"""


@needs_onnx
@unittest.skipUnless(HAS_TOOLS, "this python has no pip, setuptools or wheel")
class Package(InFolder):
    def test_install(self):
        ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
        shutil.copytree(SOURCE, self.path("source"), ignore=ignored)
        byoc.build(linear(), self.path("model.so"), target="c")
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
        subprocess.run([*command, "--target", self.path("site"), self.path("source")], check=True, cwd=self.folder)
        self.assertTrue(os.path.exists(self.path("site/byoc/py.typed")))
        environment = {**os.environ, "PYTHONPATH": self.path("site"), "BYOC_LIBRARY": self.path("nowhere.so")}
        program = [sys.executable, "-c", PROGRAM, self.path("site"), self.path("model.so")]
        ran = subprocess.run(program, check=True, cwd=self.folder, env=environment, capture_output=True, text=True)
        lines = ran.stdout.splitlines()
        self.assertEqual(lines[0], "(2, 3)")
        self.assertIn("building needs libbyoc", lines[1])
        self.assertIn("nowhere.so", lines[1])


if __name__ == "__main__":
    unittest.main()
