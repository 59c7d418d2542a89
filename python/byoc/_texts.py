# SPDX-License-Identifier: Apache-2.0
"""Texts: str here, UTF-8 that ends with a NUL in an artifact."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Tuple

import numpy as np


def _encode(text: Any, what: str, index: int) -> bytes:
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(
            f"{what} takes texts, and its element {index} is of type {type(text).__name__}: give it as a str"
        )
    try:
        encoded = text.encode() if isinstance(text, str) else bytes(text)
        if not isinstance(text, str):
            encoded.decode()
    except UnicodeError as error:
        raise ValueError(f"{what} takes texts in UTF-8, which its element {index} is not: {error}") from None
    if b"\0" in encoded:
        raise ValueError(f"{what} takes texts without NUL characters, and its element {index} has one")
    return encoded


def encode(value: Any, what: str) -> Tuple[Tuple[int, ...], Any, Any]:
    """The shape of an array of texts, the table of pointers to them, and what they live in."""
    array = np.asarray(value, dtype=object)
    texts = [_encode(text, what, index) for index, text in enumerate(array.ravel().tolist())]
    pointers = (ctypes.c_char_p * max(len(texts), 1))(*texts)
    return array.shape, pointers, texts


def decode(text: Optional[bytes]) -> str:
    """What an artifact or libbyoc says. Bytes that are no UTF-8 become lone surrogates, as in names of files."""
    return "" if text is None else text.decode("utf-8", "surrogateescape")


def decode_table(address: int, shape: Tuple[int, ...]) -> np.ndarray:
    """Copies of the texts that a table of pointers leads to."""
    count = 1
    for dim in shape:
        count *= dim
    texts = np.empty(count, object)
    if count > 0:
        pointers = (ctypes.c_char_p * count).from_address(address)
        texts[:] = [decode(pointer) for pointer in pointers]
    return texts.reshape(shape)


def argument(value: Any, what: str) -> bytes:
    """A text or path for libbyoc, which ends it at a NUL."""
    try:
        encoded = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{what} is a text, not of type {type(value).__name__}") from None
    if b"\0" in encoded:
        raise ValueError(f"{what} has a NUL character, which ends texts")
    return encoded


def path(value: Any, what: str) -> str:
    return os.fsdecode(argument(value, what))
