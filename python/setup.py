# SPDX-License-Identifier: Apache-2.0
"""Everything that setuptools is told stands in pyproject.toml, but for this: with byoc/lib in it (tools/wheel), the package is
for one kind of machine and for any Python, because it is reached by ctypes."""

import os

import setuptools

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

has_library = os.path.isdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "byoc", "lib"))


class Distribution(setuptools.Distribution):
    def has_ext_modules(self):
        return has_library


class Wheel(bdist_wheel):
    def get_tag(self):
        python, abi, platform = super().get_tag()
        return ("py3", "none", platform) if has_library else (python, abi, platform)


setuptools.setup(distclass=Distribution, cmdclass={"bdist_wheel": Wheel})
