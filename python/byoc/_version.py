# SPDX-License-Identifier: Apache-2.0
"""The version, which is that of libbyoc (tests/test_compiler.py compares them)."""

__version__ = "0.1.0"
