# SPDX-License-Identifier: Apache-2.0
"""Contexts in C, and runs in them."""

from __future__ import annotations

import ctypes
import functools
import threading
import weakref
from collections.abc import Mapping
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple, Union

import numpy as np

from . import _native as native
from . import _tensors as tensors
from . import _texts as texts
from ._errors import INVALID_ARGUMENT, OK, UNSUPPORTED, Error
from ._forks import gate, process
from ._library import Library
from ._profile import ProfileRow


class TensorInfo(NamedTuple):
    """An input or output of a model."""

    name: str
    dtype: str  # "f32", as in byoc/dtype.h
    # Elements along each dimension; the name of one that is open, or None if it has none. None: of any rank.
    shape: Optional[Tuple[Union[int, str, None], ...]]
    kind: str  # "t" is a tensor, "st" a sequence of tensors, "ot" an optional tensor
    number: int  # of the element type in byoc/dtype.h


def _infos(items: Any, kinds: Any, count: int) -> Tuple[TensorInfo, ...]:
    infos = []
    for i in range(count):
        item = items[i]
        shape: Optional[Tuple[Union[int, str, None], ...]] = None
        if item.rank != native.ANY_RANK:
            shape = tuple(
                item.dims[d] if item.dims[d] >= 0 else texts.decode(item.dim_names[d]) or None for d in range(item.rank)
            )
        dtype = tensors.element_type(item.dtype)
        infos.append(TensorInfo(texts.decode(item.name), dtype.name, shape, kinds[i].decode(), item.dtype))
    return tuple(infos)


def _named(info: TensorInfo) -> List[Tuple[int, str]]:
    return [(axis, dim) for axis, dim in enumerate(info.shape or ()) if isinstance(dim, str)]


def _is_foreseen(info: TensorInfo, known: Set[str]) -> bool:
    if info.shape is None or info.kind != "t" or info.number == tensors.STRING:
        return False
    return all(isinstance(dim, int) or dim in known for dim in info.shape)


class Program:
    """One of the models in an open artifact. The library stays open until its programs and their sessions are gone."""

    def __init__(self, library: Library, table: native.byoc_artifact_t) -> None:
        self.library, self.table = library, table
        self.name = texts.decode(table.model_name)
        self.inputs = _infos(table.inputs, table.input_kinds, table.input_count)
        self.outputs = _infos(table.outputs, table.output_kinds, table.output_count)
        self.is_dynamic = bool(table.is_dynamic)
        # Dimensions of inputs that have names, and outputs whose shapes these tell.
        self.named = [_named(info) if info.kind == "t" else [] for info in self.inputs]
        known = {name for row in self.named for _, name in row}
        self.foreseen = [_is_foreseen(info, known) for info in self.outputs]
        # Made once, because ctypes takes its time for each of these.
        self.run, self.run_with = table.run, table.run_with
        self.input_addresses = ctypes.c_void_p * max(len(self.inputs), 1)
        self.output_addresses = ctypes.c_void_p * max(len(self.outputs), 1)
        self.input_arguments = native.byoc_argument_t * max(len(self.inputs), 1)
        self.output_arguments = native.byoc_argument_t * max(len(self.outputs), 1)


def _destroy(program: Program, handle: Any, maker: Tuple[int, int]) -> None:
    """A finalizer. A child leaves alone what its parent made: threads of it are not there."""
    if maker == process():
        with gate:
            program.table.destroy(handle)


@functools.lru_cache(maxsize=None)
def _dims_type(rank: int) -> Any:
    return ctypes.c_int64 * max(rank, 1)


def _shape_of(argument: Any) -> Tuple[int, ...]:
    return tuple(argument.dims[i] for i in range(argument.rank))


class Session:
    """A context in C, of the process that made it. One run at a time: another one meanwhile is refused.

    No function of Python is called from C while a model runs, because Ctrl-C could end it at any place, also before its
    first line, with no address for C to write to.
    """

    def __init__(self, program: Program, options: Mapping[str, int]) -> None:
        self.program = program
        self.maker = process()
        self._running = threading.Lock()
        asked = native.byoc_context_options_t(
            struct_size=ctypes.sizeof(native.byoc_context_options_t), weights=program.library.weights(), **options
        )
        handle = ctypes.c_void_p()
        with gate:
            status = program.table.create(ctypes.byref(asked), ctypes.byref(handle))
            if status != OK:
                raise Error(texts.decode(program.table.last_error(None)), status)
            weakref.finalize(self, _destroy, program, handle, self.maker).atexit = False
        self._handle = handle
        # Of a run: the memory of each output, if it has any before.
        self._buffers = (native.byoc_buffer_t * max(len(program.outputs), 1))()
        self._where = native.byoc_run_options_t(
            struct_size=ctypes.sizeof(native.byoc_run_options_t), outputs=self._buffers
        )
        self._where_pointer = ctypes.pointer(self._where)

    def enter(self) -> bool:
        """Begins a run; False if one goes on."""
        return self._running.acquire(blocking=False)

    def leave(self) -> None:
        self._running.release()

    def _check(self, status: int) -> None:
        if status != OK:
            raise Error(texts.decode(self.program.table.last_error(self._handle)), status)

    def _match(self, args: Tuple[Any, ...], named: Mapping[str, Any]) -> List[Any]:
        """The inputs in order: by position, by name, or one mapping of names."""
        infos, name = self.program.inputs, self.program.name
        if len(args) == len(infos) and not named and not (len(args) == 1 and isinstance(args[0], Mapping)):
            return list(args)
        if len(args) == 1 and isinstance(args[0], Mapping):
            named, args = {**args[0], **named}, ()
        if len(args) > len(infos):
            plural = "" if len(infos) == 1 else "s"
            raise TypeError(f"'{name}' takes {len(infos)} input{plural}, not {len(args)}")
        values = dict(zip((info.name for info in infos), args))
        for key, value in named.items():
            if key in values:
                raise TypeError(f"input '{key}' is given twice")
            values[key] = value
        missing = [i.name for i in infos if i.name not in values and not i.kind.startswith("o")]
        unknown = [key for key in values if all(key != info.name for info in infos)]
        if unknown:
            known = ", ".join(f"'{info.name}'" for info in infos)
            raise TypeError(f"'{name}' has no input '{unknown[0]}'; it has {known}")
        if missing:
            raise TypeError(f"input '{missing[0]}' is not given")
        return [values.get(info.name) for info in infos]

    def run(self, args: Tuple[Any, ...], named: Mapping[str, Any], outputs: Any) -> Dict[str, Any]:
        values = self._match(args, named)
        given = dict(outputs) if outputs is not None else {}
        for name in given:
            if all(name != info.name for info in self.program.outputs):
                raise TypeError(f"'{self.program.name}' has no output '{name}'")
        if self.program.is_dynamic:
            return self._run_dynamic(values, given)
        return self._run_static(values, given, None)

    def profile(self, args: Tuple[Any, ...], named: Mapping[str, Any]) -> List[ProfileRow]:
        rows: List[ProfileRow] = []
        sink = native.PROFILE_SINK(lambda _, name, time: rows.append(ProfileRow(texts.decode(name), time)))
        table, is_dynamic = self.program.table, self.program.is_dynamic
        if not (table.profile_arguments if is_dynamic else table.profile):
            raise Error(f"'{self.program.name}' has no profile entry: build it with profile=True", UNSUPPORTED)
        values = self._match(args, named)
        if not is_dynamic:
            self._run_static(values, {}, sink)
            return rows
        inputs, keep, _ = self._arguments(values)
        results = self.program.output_arguments()
        self._check(table.profile_arguments(self._handle, inputs, results, sink, None))
        del keep
        return rows

    # ---- shapes that are known ----

    def _run_static(self, values: List[Any], given: Dict[str, Any], sink: Any) -> Dict[str, Any]:
        program, table = self.program, self.program.table
        read = []
        for info, value in zip(program.inputs, values):
            memory = tensors.read(value, info.number, f"input '{info.name}'")
            if memory.shape != info.shape:
                raise ValueError(f"input '{info.name}' has shape {list(info.shape or ())}, not {list(memory.shape)}")
            read.append(memory)
        made: Dict[str, Any] = {}
        written = []
        for info in program.outputs:
            shape: Any = info.shape
            if info.name in given:
                memory = tensors.write(given[info.name], info.number, f"output '{info.name}'")
                if memory.shape != shape:
                    raise ValueError(f"output '{info.name}' has shape {list(shape)}, not {list(memory.shape)}")
            else:
                array = made[info.name] = tensors.empty(info.number, shape)
                memory = tensors.Memory(tensors.address_of(array), shape, array.nbytes, array)
            written.append(memory)
        inputs = program.input_addresses(*[memory.address for memory in read])
        outputs = program.output_addresses(*[memory.address for memory in written])
        if sink is not None:
            self._check(table.profile(self._handle, inputs, outputs, sink, None))
        else:
            self._check(program.run(self._handle, inputs, outputs))
        return {
            info.name: (
                given[info.name]
                if info.name in given
                else tensors.finish(made[info.name], info.number, info.shape)  # type: ignore[arg-type]
            )
            for info in program.outputs
        }

    # ---- shapes that a run finds out ----

    def _argument(self, argument: Any, value: Any, info: TensorInfo, kind: str, keep: List[Any]) -> Tuple[int, ...]:
        """Fills an argument of this kind; `keep` gets what it points to. Returns the shape of a tensor."""
        if kind[0] == "t":
            memory = tensors.read(value, info.number, f"input '{info.name}'")
            shape = memory.shape
            dims = _dims_type(len(shape))(*shape)
            argument.kind, argument.dtype, argument.rank = native.TENSOR, info.number, len(shape)
            argument.dims, argument.data = dims, memory.address
            keep.append((memory, dims))
            return shape
        if kind[0] == "s" and not isinstance(value, (list, tuple)):
            raise TypeError(f"input '{info.name}' is a sequence: give it a list")
        items = list(value) if kind[0] == "s" else [] if value is None else [value]
        array = (native.byoc_argument_t * max(len(items), 1))()
        for item, place in zip(items, array):
            self._argument(place, item, info, kind[1:], keep)
        argument.kind = native.SEQUENCE if kind[0] == "s" else native.OPTIONAL
        argument.count, argument.items = len(items), array
        keep.append(array)
        return ()

    def _arguments(self, values: List[Any]) -> Tuple[Any, List[Any], Dict[str, int]]:
        """What C gets, what that points to, and the sizes of dimensions by name."""
        program = self.program
        inputs = program.input_arguments()
        keep: List[Any] = []
        sizes: Dict[str, int] = {}
        for place, info, value, named in zip(inputs, program.inputs, values, program.named):
            shape = self._argument(place, value, info, info.kind, keep)
            for axis, name in named:
                sizes[name] = shape[axis] if axis < len(shape) else 0
        return inputs, keep, sizes

    def _make(self, info: TensorInfo, sizes: Mapping[str, int]) -> Optional[np.ndarray]:
        """The memory of an output whose shape is foreseen; none for one without elements, which C asks no memory for."""
        shape = tuple([dim if isinstance(dim, int) else sizes[dim or ""] for dim in info.shape or ()])
        try:
            return tensors.empty(info.number, shape) if 0 not in shape else None
        except (MemoryError, ValueError):  # the run says what is too large
            return None

    def _run_dynamic(self, values: List[Any], given: Dict[str, Any]) -> Dict[str, Any]:
        program = self.program
        inputs, keep, sizes = self._arguments(values)
        made = [
            self._make(info, sizes) if is_foreseen and info.name not in given else None
            for info, is_foreseen in zip(program.outputs, program.foreseen)
        ]
        placed: Dict[str, tensors.Memory] = {}
        for buffer, array, info in zip(self._buffers, made, program.outputs):
            if info.name in given:
                memory = tensors.write(given[info.name], info.number, f"output '{info.name}'")
                placed[info.name] = memory
                buffer.data, buffer.size_bytes = memory.address, memory.size_bytes
            elif array is not None:
                buffer.data, buffer.size_bytes = tensors.address_of(array), array.nbytes
            else:
                buffer.data, buffer.size_bytes = None, 0
        results = program.output_arguments()
        status = program.run_with(self._handle, inputs, results, self._where_pointer)
        if status == INVALID_ARGUMENT and self._take_back(made, given, results):
            status = program.run_with(self._handle, inputs, results, self._where_pointer)
        self._check(status)
        returned = {
            info.name: (
                _part(given[info.name], placed[info.name].shape, _shape_of(result))
                if info.name in placed
                else self._result(result, array)
            )
            for info, result, array in zip(program.outputs, results, made)
        }
        del keep  # texts of inputs may be those of results
        return returned

    def _take_back(self, made: List[Optional[np.ndarray]], given: Mapping[str, Any], results: Any) -> bool:
        """If the model made larger shapes than it says: the context has the memory in the next run."""
        too_small = [
            array is not None and tensors.count_of(_shape_of(result)) > tensors.count_of(array.shape)
            for array, result in zip(made, results)
        ]
        if not any(too_small):
            return False
        for i, info in enumerate(self.program.outputs):
            made[i] = None
            if info.name not in given:
                self._buffers[i].data, self._buffers[i].size_bytes = None, 0
        return True

    def _result(self, argument: Any, made: Optional[np.ndarray]) -> Any:
        if argument.kind == native.SEQUENCE:
            return [self._result(argument.items[i], None) for i in range(argument.count)]
        if argument.kind == native.OPTIONAL:
            return self._result(argument.items[0], None) if argument.count > 0 else None
        if made is None:
            return tensors.copy_out(argument)
        shape = _shape_of(argument)
        if tensors.element_type(argument.dtype).packed or made.shape == shape:
            return tensors.finish(made, argument.dtype, shape)
        return np.array(_part(made, made.shape, shape))  # it is larger than what was needed


def _part(memory: Any, has: Tuple[int, ...], shape: Tuple[int, ...]) -> Any:
    """The caller's memory; only the part that was written to, in the result's shape, if it has another one."""
    if has == shape:
        return memory
    array = memory if hasattr(memory, "reshape") else np.from_dlpack(memory)
    return array.reshape(-1)[: tensors.count_of(shape)].reshape(shape)
