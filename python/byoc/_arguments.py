# SPDX-License-Identifier: Apache-2.0
"""Numbers that callers give, before they become numbers of C, which would cut them."""

from __future__ import annotations

import operator
from typing import Any


def integer(value: Any, what: str, least: int, most: int) -> int:
    """Of Python or numpy."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, not of type {type(value).__name__}") from None
    if not least <= number <= most:
        raise ValueError(f"{what} is {number}, and not between {least} and {most}")
    return number
