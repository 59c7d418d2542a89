# SPDX-License-Identifier: Apache-2.0
"""Values of callers as addresses that an artifact reads and writes, without copies where their layout allows it."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Tuple

import numpy as np

from . import _dlpack as dlpack
from . import _native as native
from . import _texts as texts

try:
    import ml_dtypes  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # narrow floats come as unsigned integers of their width then
    ml_dtypes = None  # type: ignore[assignment,unused-ignore]


class ElementType(NamedTuple):
    """A row of byoc/dtype.h."""

    name: str
    numpy: Any  # what arrays of it are
    raw: Any  # the unsigned integer that stands for it too; None: nothing does
    dlpack: int  # DLDataType.code
    bits: int
    packed: int  # elements in a byte, of which arrays hold one in each byte; 0: elements have bytes of their own


def _narrow(name: str, raw: Any) -> Any:
    return np.dtype(getattr(ml_dtypes, name, raw))  # an older ml_dtypes does not have all of them


def _row(name: str, dtype: Any, dlpack: int, raw: Any = None, packed: int = 0) -> ElementType:
    dtype = np.dtype(dtype)
    bits = 8 // packed if packed else dtype.itemsize * 8
    return ElementType(name, dtype, np.dtype(raw) if raw is not None else None, dlpack, bits, packed)


STRING = 8
ELEMENT_TYPES = {
    1: _row("f32", np.float32, 2),
    2: _row("u8", np.uint8, 1),
    3: _row("i8", np.int8, 0),
    4: _row("u16", np.uint16, 1),
    5: _row("i16", np.int16, 0),
    6: _row("i32", np.int32, 0),
    7: _row("i64", np.int64, 0),
    STRING: _row("string", object, 255),
    9: _row("bool", np.bool_, 6),
    10: _row("f16", np.float16, 2),
    11: _row("f64", np.float64, 2),
    12: _row("u32", np.uint32, 1),
    13: _row("u64", np.uint64, 1),
    14: _row("c64", np.complex64, 5),
    15: _row("c128", np.complex128, 5),
    16: _row("bf16", _narrow("bfloat16", np.uint16), 4, np.uint16),
    17: _row("f8e4m3fn", _narrow("float8_e4m3fn", np.uint8), 10, np.uint8),
    18: _row("f8e4m3fnuz", _narrow("float8_e4m3fnuz", np.uint8), 11, np.uint8),
    19: _row("f8e5m2", _narrow("float8_e5m2", np.uint8), 12, np.uint8),
    20: _row("f8e5m2fnuz", _narrow("float8_e5m2fnuz", np.uint8), 13, np.uint8),
    21: _row("u4", np.uint8, 255, packed=2),
    22: _row("i4", np.int8, 255, packed=2),
    23: _row("f4e2m1", _narrow("float4_e2m1fn", np.uint8), 17, np.uint8, packed=2),
    24: _row("f8e8m0", _narrow("float8_e8m0fnu", np.uint8), 14, np.uint8),
    25: _row("u2", np.uint8, 255, packed=4),
    26: _row("i2", np.int8, 255, packed=4),
}


def element_type(number: int) -> ElementType:
    if number not in ELEMENT_TYPES:
        raise TypeError(f"element type {number} is not known to this version of the package")
    return ELEMENT_TYPES[number]


def _holds(dtype: Any, kind: ElementType) -> bool:
    return dtype == kind.numpy or (kind.raw is not None and dtype == kind.raw)


class Memory(NamedTuple):
    """Bytes of a tensor. `keep` is what they live in."""

    address: int
    shape: Tuple[int, ...]
    size_bytes: int
    keep: Any


_nothing = ctypes.create_string_buffer(64)  # what tensors without elements point to


def count_of(shape: Tuple[int, ...]) -> int:
    count = 1
    for dim in shape:
        count *= dim
    return count


def _is_dense(shape: Tuple[int, ...], strides: Any) -> bool:
    expected = 1
    for axis in reversed(range(len(shape))):
        if shape[axis] != 1 and strides[axis] != expected:
            return False
        expected *= shape[axis]
    return True


def _is_aligned(address: int, kind: ElementType) -> bool:
    return address % max(kind.bits // 8, 1) == 0


def _check_truth(address: int, count: int, what: str) -> None:
    """Of bytes that stand for booleans, as older libraries give them."""
    if np.frombuffer((ctypes.c_uint8 * count).from_address(address), np.uint8).max(initial=0) > 1:
        raise ValueError(f"{what} takes bool: each of its bytes is 0 or 1")


def _from_dlpack(value: Any, kind: ElementType, what: str, is_written: bool = False) -> Optional[Memory]:
    """The memory of a tensor of another library; None if its layout is not dense."""
    borrowed = dlpack.borrow(value, what, is_written)
    tensor = borrowed.tensor
    code, bits, lanes = tensor.code & 0xFF, tensor.code >> 8 & 0xFF, tensor.code >> 16
    is_same = code == kind.dlpack or (code, kind.name) == (1, "bool")
    if not is_same or bits != kind.bits or lanes != 1:
        raise TypeError(f"{what} takes {kind.name}, not DLPack's type {code} of {bits} bits")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides and count_of(shape) > 0 and not _is_dense(shape, tensor.strides):
        return None
    address = (tensor.data or 0) + tensor.byte_offset
    if count_of(shape) == 0:
        address = ctypes.addressof(_nothing)
    if not _is_aligned(address, kind):
        return None
    if kind.name == "bool" and code == 1 and not is_written:
        _check_truth(address, count_of(shape), what)
    return Memory(address, shape, count_of(shape) * kind.bits // 8, borrowed)


def _strings(value: Any, what: str) -> Memory:
    shape, pointers, keep = texts.encode(value, what)
    return Memory(ctypes.addressof(pointers), shape, count_of(shape) * 8, (pointers, keep))


def _numbers(value: Any, kind: ElementType, what: str) -> np.ndarray:
    """Numbers and lists, which take the type that is wanted if it holds them."""
    array = np.asarray(value)
    if array.size == 0:
        return np.empty(array.shape, kind.numpy)
    is_complex = array.dtype.kind == "c" and kind.numpy.kind != "c"
    if array.dtype != kind.numpy and (array.dtype.kind not in "biufc" or is_complex):
        name = "None" if value is None else "objects" if array.dtype == object else array.dtype
        raise TypeError(f"{what} takes {kind.name} ({kind.numpy}), not {name}")
    made: np.ndarray = array.astype(kind.numpy)
    if kind.numpy.kind in "biu" and not (array.dtype.kind in "biu" and np.array_equal(made, array)):
        raise TypeError(f"{what} takes {kind.name} ({kind.numpy}), which cannot hold the {array.dtype} given")
    return made


def _pack(array: np.ndarray, kind: ElementType, what: str) -> np.ndarray:
    """One element in a byte → several, the first one in the lowest bits."""
    if array.size > 0 and kind.name in ("u4", "i4", "u2", "i2"):
        least = -(1 << kind.bits - 1) if kind.name[0] == "i" else 0
        most = least + (1 << kind.bits) - 1
        if array.min() < least or array.max() > most:
            raise ValueError(f"{what} is {kind.name}: its elements lie between {least} and {most}")
    flat: np.ndarray = (np.ascontiguousarray(array).ravel().view(np.uint8) & (1 << kind.bits) - 1).astype(np.uint8)
    flat = np.append(flat, np.zeros(-flat.size % kind.packed, np.uint8))
    packed: np.ndarray = np.zeros(flat.size // kind.packed, np.uint8)
    for i in range(kind.packed):
        packed |= flat[i :: kind.packed] << np.uint8(i * kind.bits)
    return packed


def unpack(packed: np.ndarray, kind: ElementType, shape: Tuple[int, ...]) -> np.ndarray:
    """Several elements in a byte → one."""
    flat: np.ndarray = np.empty(packed.size * kind.packed, np.uint8)
    for i in range(kind.packed):
        flat[i :: kind.packed] = packed >> np.uint8(i * kind.bits) & np.uint8((1 << kind.bits) - 1)
    if kind.name[0] == "i":
        sign = np.uint8(1 << kind.bits - 1)
        flat = (flat ^ sign) - sign
    return flat[: count_of(shape)].view(kind.numpy).reshape(shape)


def address_of(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]  # array.ctypes.data takes three times as long


def _of_array(array: np.ndarray) -> Memory:
    address = address_of(array) if array.size > 0 else ctypes.addressof(_nothing)
    return Memory(address, array.shape, array.nbytes, array)


def read(value: Any, dtype: int, what: str) -> Memory:
    """What an input points to: the memory of `value` if it is dense, or else a copy. Types are not converted, but numbers
    and lists take the type that is wanted."""
    kind = element_type(dtype)
    if type(value) is np.ndarray and value.dtype == kind.numpy and value.flags.carray and not kind.packed:
        if dtype != STRING and kind.bits <= 64:
            return _of_array(value)  # the usual case
    if dtype == STRING:
        return _strings(value, what)
    if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "__dlpack__") and not kind.packed:
        memory = _from_dlpack(value, kind, what)
        if memory is not None:
            return memory
        value = np.from_dlpack(value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(f"{what} has a mask, which artifacts do not know: fill it first, by its method filled")
    array = np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else _numbers(value, kind, what)
    if not _holds(array.dtype, kind):
        raise TypeError(f"{what} takes {kind.name} ({kind.numpy}), not {array.dtype}")
    if kind.packed:
        return _of_array(_pack(array, kind, what))._replace(shape=array.shape)
    if not (array.flags.c_contiguous and _is_aligned(address_of(array), kind)):
        array = np.array(array, order="C")
    return _of_array(array)


def write(value: Any, dtype: int, what: str) -> Memory:
    """What an output is written to: dense memory of the caller."""
    kind = element_type(dtype)
    if dtype == STRING or kind.packed:
        raise TypeError(f"{what} is {kind.name}, which cannot be written into memory of the caller")
    if not isinstance(value, np.ndarray):
        memory = _from_dlpack(value, kind, what, is_written=True) if hasattr(value, "__dlpack__") else None
        if memory is None:
            raise TypeError(f"{what} needs a dense array that can be written to")
        return memory
    if not _holds(value.dtype, kind):
        raise TypeError(f"{what} is {kind.name} ({kind.numpy}), not {value.dtype}")
    if not value.flags.writeable:
        raise TypeError(f"{what} cannot be written to: the array given for it is read-only")
    if not (value.flags.c_contiguous and _is_aligned(address_of(value), kind)):
        raise TypeError(f"{what} needs a dense array that can be written to")
    return _of_array(value)


def empty(dtype: int, shape: Tuple[int, ...]) -> np.ndarray:
    """Where an artifact writes a tensor: texts as pointers, packed types as bytes (see `finish`)."""
    kind = element_type(dtype)
    if dtype == STRING:
        return np.zeros(shape, np.uint64)
    if kind.packed:
        return np.zeros(-(-count_of(shape) // kind.packed), np.uint8)
    return np.empty(shape, kind.numpy)


def finish(array: np.ndarray, dtype: int, shape: Tuple[int, ...]) -> np.ndarray:
    """What the caller gets of it. Texts belong to the context or to the inputs, which must still be there."""
    kind = element_type(dtype)
    if dtype == STRING:
        return texts.decode_table(address_of(array), shape)
    return unpack(array, kind, shape) if kind.packed else array


def copy_out(argument: native.byoc_argument_t) -> np.ndarray:
    """A copy of a tensor that belongs to a context."""
    shape = tuple(argument.dims[i] for i in range(argument.rank))
    if argument.dtype == STRING:
        return texts.decode_table(argument.data or 0, shape)
    array = empty(argument.dtype, shape)
    if array.nbytes > 0:
        ctypes.memmove(address_of(array), argument.data, array.nbytes)
    return finish(array, argument.dtype, shape)
