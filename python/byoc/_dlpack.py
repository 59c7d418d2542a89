# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries, by DLPack: https://dmlc.github.io/dlpack.

A capsule is borrowed: it keeps its name, so that the tensor is given back when the capsule is let go.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Tuple

from . import _native as native

CPU, CUDA_HOST, ROCM_HOST = 1, 3, 11  # devices whose memory the processor reads
_VERSION = (1, 0)  # the latest that this module knows

_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.restype, _is_capsule.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Borrowed(NamedTuple):
    """A tensor, as long as its capsule lives."""

    tensor: native.DLTensor
    capsule: Any


def _capsule_of(value: Any) -> Tuple[Any, bool]:
    """The newest kind of capsule that a library gives, and whether it knows of newer ones than the first."""
    try:
        return value.__dlpack__(max_version=_VERSION), True
    except TypeError:  # from before DLPack 1.0
        return value.__dlpack__(), False


def _is_read_only(value: Any) -> bool:
    """As far as the object itself tells, to whoever asks for its bytes."""
    try:
        with memoryview(value) as view:
            return view.readonly
    except (TypeError, BufferError, ValueError):
        return False


def _take(value: Any, what: str, is_written: bool) -> Borrowed:
    capsule, knows_versions = _capsule_of(value)
    if _is_capsule(capsule, b"dltensor_versioned"):
        managed = native.DLManagedTensorVersioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if managed.major != _VERSION[0]:
            raise TypeError(f"{what} comes by DLPack {managed.major}.{managed.minor}, which is not known here")
        if is_written and managed.flags & native.DLPACK_READ_ONLY:
            raise TypeError(f"{what} cannot be written to: the array given for it is read-only")
        if is_written and managed.flags & native.DLPACK_IS_COPIED:
            raise TypeError(f"{what} cannot be written to: the array given for it lends a copy only")
        return Borrowed(managed.tensor, capsule)
    if not _is_capsule(capsule, b"dltensor"):
        raise TypeError(f"{what} gives no tensor by DLPack")
    # Such a capsule does not tell. A library that knows newer ones and does not make one, as jax, may have arrays that
    # never change.
    if is_written and (knows_versions or _is_read_only(value)):
        raise TypeError(
            f"{what} cannot be written to: DLPack does not say that the array given for it, a {type(value).__name__}, "
            "may be changed"
        )
    return Borrowed(native.DLTensor.from_address(_pointer_of(capsule, b"dltensor")), capsule)


def borrow(value: Any, what: str, is_written: bool = False) -> Borrowed:
    """Refuses what the processor cannot reach, and, if it is to be written to, what is read-only."""
    if int(value.__dlpack_device__()[0]) not in (CPU, CUDA_HOST, ROCM_HOST):
        raise TypeError(f"{what} is on a device; move it to the CPU first")
    return _take(value, what, is_written)
