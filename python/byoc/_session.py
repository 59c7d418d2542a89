# SPDX-License-Identifier: Apache-2.0
"""Contexts in C, and runs in them."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Mapping
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _native as native
from . import _tensors as tensors
from . import _texts as texts
from ._errors import INVALID_ARGUMENT, OK, UNSUPPORTED, Error
from ._forks import gate
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


class Program:
    """One of the models in an open artifact. The library stays open until its programs and their sessions are gone."""

    def __init__(self, library: Library, table: native.byoc_artifact_t) -> None:
        self.library, self.table = library, table
        self.name = texts.decode(table.model_name)
        self.inputs = _infos(table.inputs, table.input_kinds, table.input_count)
        self.outputs = _infos(table.outputs, table.output_kinds, table.output_count)
        self.is_dynamic = bool(table.is_dynamic)


def _destroy(program: Program, handle: Any, process: int) -> None:
    """A finalizer. A child leaves alone what its parent made: threads of it are not there."""
    if process == os.getpid():
        with gate:
            program.table.destroy(handle)


def _shape_of(argument: Any) -> Tuple[int, ...]:
    return tuple(argument.dims[i] for i in range(argument.rank))


def _expected(info: TensorInfo, sizes: Mapping[str, int]) -> Optional[Tuple[int, ...]]:
    """The shape of an output, if the names of its dimensions are those of inputs."""
    if info.shape is None or info.kind != "t" or info.number == tensors.STRING:
        return None
    shape = [dim if isinstance(dim, int) else sizes.get(dim or "", -1) for dim in info.shape]
    return tuple(shape) if min(shape, default=1) > 0 else None


class Session:
    """A context in C, of the process that made it. One run at a time: another one meanwhile is refused.

    No function of Python is called from C while a model runs, because Ctrl-C could end it at any place, also before its
    first line, with no address for C to write to.
    """

    def __init__(self, program: Program, options: Mapping[str, int]) -> None:
        self.program = program
        self.process = os.getpid()
        self._running = threading.Lock()
        asked = native.byoc_context_options_t(
            struct_size=ctypes.sizeof(native.byoc_context_options_t), weights=program.library.weights(), **options
        )
        handle = ctypes.c_void_p()
        with gate:
            status = program.table.create(ctypes.byref(asked), ctypes.byref(handle))
            if status != OK:
                raise Error(texts.decode(program.table.last_error(None)), status)
            weakref.finalize(self, _destroy, program, handle, self.process).atexit = False
        self._handle = handle

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
        results = (native.byoc_argument_t * max(len(self.program.outputs), 1))()
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
        inputs = (ctypes.c_void_p * max(len(read), 1))(*(memory.address for memory in read))
        outputs = (ctypes.c_void_p * max(len(written), 1))(*(memory.address for memory in written))
        if sink is not None:
            self._check(table.profile(self._handle, inputs, outputs, sink, None))
        else:
            self._check(table.run(self._handle, inputs, outputs))
        return {
            info.name: (
                given[info.name]
                if info.name in given
                else tensors.finish(made[info.name], info.number, info.shape)  # type: ignore[arg-type]
            )
            for info in program.outputs
        }

    # ---- shapes that a run finds out ----

    def _argument(
        self, argument: Any, value: Any, info: TensorInfo, kind: str, keep: List[Any], sizes: Dict[str, int]
    ) -> None:
        """Fills an argument of this kind; `keep` gets what it points to."""
        what = f"input '{info.name}'"
        if kind[0] == "t":
            memory = tensors.read(value, info.number, what)
            dims = (ctypes.c_int64 * max(len(memory.shape), 1))(*memory.shape)
            argument.kind, argument.dtype, argument.rank = native.TENSOR, info.number, len(memory.shape)
            argument.dims, argument.data = dims, memory.address
            keep.append((memory, dims))
            if info.kind == "t":
                sizes.update((name, size) for name, size in zip(info.shape or (), memory.shape) if isinstance(name, str))
            return
        if kind[0] == "s" and not isinstance(value, (list, tuple)):
            raise TypeError(f"{what} is a sequence: give it a list")
        items = list(value) if kind[0] == "s" else [] if value is None else [value]
        array = (native.byoc_argument_t * max(len(items), 1))()
        for item, place in zip(items, array):
            self._argument(place, item, info, kind[1:], keep, sizes)
        argument.kind = native.SEQUENCE if kind[0] == "s" else native.OPTIONAL
        argument.count, argument.items = len(items), array
        keep.append(array)

    def _arguments(self, values: List[Any]) -> Tuple[Any, List[Any], Dict[str, int]]:
        """What C gets, what that points to, and the sizes of dimensions by name."""
        inputs = (native.byoc_argument_t * max(len(values), 1))()
        keep: List[Any] = []
        sizes: Dict[str, int] = {}
        for place, info, value in zip(inputs, self.program.inputs, values):
            self._argument(place, value, info, info.kind, keep, sizes)
        return inputs, keep, sizes

    def _run_dynamic(self, values: List[Any], given: Dict[str, Any]) -> Dict[str, Any]:
        outputs = self.program.outputs
        inputs, keep, sizes = self._arguments(values)
        memories: Dict[int, tensors.Memory] = {}
        made: Dict[int, np.ndarray] = {}
        for i, info in enumerate(outputs):
            shape = _expected(info, sizes)
            if info.name in given:
                memories[i] = tensors.write(given[info.name], info.number, f"output '{info.name}'")
            elif shape is not None:
                try:
                    array = made[i] = tensors.empty(info.number, shape)
                except (MemoryError, ValueError):  # the run says what is too large
                    continue
                memories[i] = tensors.Memory(tensors.address_of(array), shape, array.nbytes, array)
        results = (native.byoc_argument_t * max(len(outputs), 1))()
        status = self._run_with(inputs, results, memories)
        if status == INVALID_ARGUMENT and any(
            tensors.count_of(_shape_of(results[i])) > tensors.count_of(memories[i].shape) for i in made
        ):  # the model says another shape than it makes
            memories = {i: memory for i, memory in memories.items() if i not in made}
            made.clear()
            status = self._run_with(inputs, results, memories)
        self._check(status)
        returned = {
            info.name: self._result(results[i], made.get(i), given.get(info.name)) for i, info in enumerate(outputs)
        }
        del keep  # texts of inputs may be those of results
        return returned

    def _run_with(self, inputs: Any, results: Any, memories: Mapping[int, tensors.Memory]) -> int:
        buffers = (native.byoc_buffer_t * max(len(self.program.outputs), 1))()
        for i, memory in memories.items():
            buffers[i].data, buffers[i].size_bytes = memory.address, memory.size_bytes
        options = native.byoc_run_options_t(
            struct_size=ctypes.sizeof(native.byoc_run_options_t), outputs=buffers
        )
        return self.program.table.run_with(self._handle, inputs, results, ctypes.byref(options))

    def _result(self, argument: Any, made: Optional[np.ndarray], given: Any) -> Any:
        if argument.kind == native.SEQUENCE:
            return [self._result(argument.items[i], None, None) for i in range(argument.count)]
        if argument.kind == native.OPTIONAL:
            return self._result(argument.items[0], None, None) if argument.count > 0 else None
        if given is None and made is None:
            return tensors.copy_out(argument)
        shape = _shape_of(argument)
        if given is not None:  # perhaps larger than what was needed
            return given if tuple(given.shape) == shape else _front(given, shape)
        assert made is not None
        if tensors.element_type(argument.dtype).packed or made.shape == shape:
            return tensors.finish(made, argument.dtype, shape)
        return np.array(_front(made, shape))


def _front(memory: Any, shape: Tuple[int, ...]) -> Any:
    """The part of memory that was written to, in the result's shape."""
    return memory.reshape(-1)[: tensors.count_of(shape)].reshape(shape)
