# SPDX-License-Identifier: Apache-2.0
"""Artifacts in this process: loading, contexts, runs."""

from __future__ import annotations

import _ctypes
import ctypes
import json
import math
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _native as native
from . import _tensors as tensors
from ._errors import OK, OUT_OF_MEMORY, Error
from ._profile import Profile, ProfileRow


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
            names = [item.dim_names[d] or b"" for d in range(item.rank)]
            shape = tuple(
                item.dims[d] if item.dims[d] >= 0 else names[d].decode() or None for d in range(item.rank)
            )
        dtype = tensors.element_type(item.dtype)
        infos.append(TensorInfo(item.name.decode(), dtype.name, shape, kinds[i].decode(), item.dtype))
    return tuple(infos)


# The files that are open by their names: the loader of libc takes a name that it knows for the file that it knows, even
# if another file has that name by now.
_lock = threading.Lock()
_open: Dict[str, List[Tuple[int, int, int]]] = {}


def _identity(path: str) -> Tuple[int, int, int]:
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns


def _close(handle: int, path: str, identity: Tuple[int, int, int]) -> None:
    with _lock:
        _open[path].remove(identity)
        _ctypes.dlclose(handle)


_MACHINES = {40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}  # e_machine of ELF


def _reason(path: str, error: OSError) -> str:
    """Why the loader refused a file. Of one for another machine it says that there is none."""
    try:
        with open(path, "rb") as file, open("/proc/self/exe", "rb") as program:
            head, own = file.read(20), program.read(20)
    except OSError:
        return f"'{path}' cannot be loaded: {error}"
    if head.startswith(b"!<arch>\n"):
        return f"'{path}' is a static library, which is linked into programs: build a .so to load"
    if not head.startswith(b"\x7fELF"):
        return f"'{path}' is not an artifact: byoc.build makes one of a model"
    if len(head) == 20 and head[18:] != own[18:]:
        mine, its = (_MACHINES.get(text[18] + 256 * text[19], "another machine") for text in (own, head))
        return f"'{path}' was made for {its}, and this machine is {mine}"
    return f"'{path}' cannot be loaded: {error}"


class _Library:
    """An open artifact. It is closed when its model and all contexts are gone; at the end of the process it stays open,
    because threads of contexts may be in it."""

    def __init__(self, path: str, folder: Optional[str]) -> None:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for its writer
            raise Error(f"'{path}' is not a regular file, and cannot be loaded", 5)
        with _lock:
            identity = _identity(path)
            if any(other != identity for other in _open.get(path, [])):
                folder = tempfile.mkdtemp(prefix="byoc-")
                copy = os.path.join(folder, os.path.basename(path))
                shutil.copy2(path, copy)
                path, identity = copy, _identity(copy)
            if folder is not None:
                weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            try:
                library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
            except OSError as error:
                raise Error(_reason(path, error), 5) from None
            _open.setdefault(path, []).append(identity)
        weakref.finalize(self, _close, library._handle, path, identity).atexit = False
        self.path = path
        try:
            entry = library.byoc_artifact_entry
        except AttributeError:
            raise Error(f"'{path}' is not an artifact of byoc", 5) from None
        entry.restype, entry.argtypes = ctypes.POINTER(native.byoc_artifact_t), [ctypes.c_uint32]
        table = entry(native.ARTIFACT_ABI)
        if not table or table.contents.struct_size < ctypes.sizeof(native.byoc_artifact_t):
            raise Error(f"'{path}' was made by another version of byoc: build it again", 9)
        self.table = table.contents
        message = ctypes.create_string_buffer(1024)
        status = self.table.check(message, len(message))
        if status != OK:
            raise Error(message.value.decode(errors="replace"), status)


def _entries(first: native.byoc_artifact_t) -> Dict[str, native.byoc_artifact_t]:
    """The tables of an artifact of several models, by name; none if it has one."""
    pointer = ctypes.POINTER(native.byoc_artifact_t)
    tables = [ctypes.cast(first.entries[i], pointer).contents for i in range(first.entry_count)]
    return {table.entry.decode(): table for table in tables}


class Model:
    """A loaded artifact. Any thread may use it; each gets a context of its own from `run`."""

    def __init__(
        self, path: Union[str, "os.PathLike[str]"], *, entry: Optional[str] = None, folder: Optional[str] = None
    ) -> None:
        """`entry`: one of several models in the artifact; the first by default. `folder`: a temporary one that the
        file is in, removed with the model."""
        self._library = _Library(os.path.realpath(os.fspath(path)), folder)
        entries = _entries(self._library.table)
        if entry is not None and entry not in entries:
            names = ", ".join(entries) or "one model"
            raise Error(f"the artifact has no entry '{entry}'; it has {names}", 1)
        self._table = entries[entry] if entry is not None else self._library.table
        self.path = self._library.path
        self.entry: Optional[str] = self._table.entry.decode() if self._table.entry else None
        self.entries: List[str] = list(entries)
        self.name: str = self._table.model_name.decode()
        self.inputs = _infos(self._table.inputs, self._table.input_kinds, self._table.input_count)
        self.outputs = _infos(self._table.outputs, self._table.output_kinds, self._table.output_count)
        self.is_dynamic = bool(self._table.is_dynamic)
        self._own = threading.local()

    @property
    def metadata(self) -> Dict[str, Any]:
        """Targets, plugin versions, CPU features, content hashes."""
        return json.loads(self._table.metadata.decode())

    def context(self, threads: int = 0, max_iterations: int = 0, timeout: float = 0) -> "Context":
        """A new context. `threads`: 0 for what the model was built with, or all processors. `max_iterations`: the most
        turns of a Loop of a dynamic model; 0: no limit. `timeout`: the seconds that a run may take; one that takes longer
        raises an Error whose `timed_out` is true, and the context runs again; 0: no limit."""
        return Context(self, threads, max_iterations, timeout)

    def run(self, *args: Any, outputs: Optional[Mapping[str, Any]] = None, **named: Any) -> Dict[str, Any]:
        """Context.run, with a context of the thread that calls."""
        context = getattr(self._own, "context", None)
        if context is None:
            context = self._own.context = Context(self)
        return context.run(*args, outputs=outputs, **named)

    def profile(self, *args: Any, runs: int = 10, threads: int = 1, **named: Any) -> Profile:
        """The times of the instructions: medians of so many runs, after one that does not count. The model must be built
        with profile=True."""
        if runs < 1:
            raise ValueError("a profile takes at least one run")
        context = self.context(threads)
        context.profile(*args, **named)
        return Profile(self.metadata, [context.profile(*args, **named) for _ in range(runs)])

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The only output, or a tuple of all."""
        results = tuple(self.run(*args, **named).values())
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        def show(infos: Tuple[TensorInfo, ...]) -> str:
            return ", ".join(f"{i.name}: {i.dtype}{list(i.shape) if i.shape is not None else ''}" for i in infos)

        return f"<byoc.Model {self.name}({show(self.inputs)}) -> ({show(self.outputs)})>"


def _destroy(library: _Library, handle: Any) -> None:
    library.table.destroy(handle)


class Context:
    """What one thread needs to run a model. Several run at the same time; the constants are shared."""

    def __init__(self, model: Model, threads: int = 0, max_iterations: int = 0, timeout: float = 0) -> None:
        if not timeout >= 0:
            raise ValueError(f"a timeout is a number of seconds from 0 on, not {timeout}")
        self.model = model
        table = model._table
        options = native.byoc_context_options_t(
            struct_size=ctypes.sizeof(native.byoc_context_options_t),
            thread_count=native.count_of(threads),
            max_iterations=max_iterations,
            timeout_ms=min(math.ceil(min(timeout, 1e15) * 1000), 2**63),
        )
        handle = ctypes.c_void_p()
        status = table.create(ctypes.byref(options), ctypes.byref(handle))
        if status != OK:
            raise Error(table.last_error(None).decode(errors="replace"), status)
        self._handle = handle
        # The library stays open until its contexts are gone.
        weakref.finalize(self, _destroy, model._library, handle).atexit = False

        # What the last run allocated; a callback that is made once.
        made: Dict[int, np.ndarray] = {}
        failures: List[BaseException] = []

        def allocate(_: Any, output: int, tensor: Any, size_bytes: int) -> Optional[int]:
            try:
                argument = tensor.contents
                shape = tuple(argument.dims[i] for i in range(argument.rank))
                made[output] = tensors.empty(argument.dtype, shape)
                return tensors.address_of(made[output])
            except BaseException as failure:  # it cannot pass through C
                failures.append(failure)
                return None

        self._made, self._failures = made, failures
        self._options = native.byoc_run_options_t(
            struct_size=ctypes.sizeof(native.byoc_run_options_t), allocate=native.ALLOCATE(allocate)
        )

    def _check(self, status: int) -> None:
        if status != OK:
            raise Error(self.model._table.last_error(self._handle).decode(errors="replace"), status)

    def _match(self, args: Tuple[Any, ...], named: Mapping[str, Any]) -> List[Any]:
        """The inputs in order: by position, by name, or one mapping of names."""
        infos = self.model.inputs
        if len(args) == len(infos) and not named and not (len(args) == 1 and isinstance(args[0], Mapping)):
            return list(args)
        if len(args) == 1 and isinstance(args[0], Mapping):
            named, args = {**args[0], **named}, ()
        if len(args) > len(infos):
            plural = "" if len(infos) == 1 else "s"
            raise TypeError(f"'{self.model.name}' takes {len(infos)} input{plural}, not {len(args)}")
        values = dict(zip((info.name for info in infos), args))
        for name, value in named.items():
            if name in values:
                raise TypeError(f"input '{name}' is given twice")
            values[name] = value
        missing = [i.name for i in infos if i.name not in values and not i.kind.startswith("o")]
        unknown = [name for name in values if all(name != info.name for info in infos)]
        if unknown:
            known = ", ".join(f"'{info.name}'" for info in infos)
            raise TypeError(f"'{self.model.name}' has no input '{unknown[0]}'; it has {known}")
        if missing:
            raise TypeError(f"input '{missing[0]}' is not given")
        return [values.get(info.name) for info in infos]

    def run(self, *args: Any, outputs: Optional[Mapping[str, Any]] = None, **named: Any) -> Dict[str, Any]:
        """One inference: inputs by position, by name, or as one mapping; results by name.

        Arrays of numpy and tensors of anything that speaks DLPack are read where they are, if they are dense. `outputs`
        may name arrays that results are written into; the others are new. An optional input may be None or left out.
        """
        values = self._match(args, named)
        given = dict(outputs) if outputs is not None else {}
        for name in given:
            if all(name != info.name for info in self.model.outputs):
                raise TypeError(f"'{self.model.name}' has no output '{name}'")
        if self.model.is_dynamic:
            return self._run_dynamic(values, given)
        return self._run_static(values, given, None)

    def profile(self, *args: Any, **named: Any) -> List[ProfileRow]:
        """One inference, and the time of each of its instructions. The model must be built with profile=True."""
        rows: List[ProfileRow] = []
        sink = native.PROFILE_SINK(
            lambda _, name, time: rows.append(ProfileRow(name.decode(errors="replace"), time))
        )
        table = self.model._table
        if not (table.profile_arguments if self.model.is_dynamic else table.profile):
            raise Error(f"'{self.model.name}' has no profile entry: build it with profile=True", 4)
        values = self._match(args, named)
        if self.model.is_dynamic:
            inputs, keep = self._arguments(values)
            results = (native.byoc_argument_t * max(len(self.model.outputs), 1))()
            self._check(table.profile_arguments(self._handle, inputs, results, sink, None))
            del keep
        else:
            self._run_static(values, {}, sink)
        return rows

    def _run_static(self, values: List[Any], given: Dict[str, Any], sink: Any) -> Dict[str, Any]:
        model, table = self.model, self.model._table
        memories = []
        for info, value in zip(model.inputs, values):
            memory = tensors.read(value, info.number, f"input '{info.name}'")
            if memory.shape != info.shape:
                raise ValueError(f"input '{info.name}' has shape {list(info.shape or ())}, not {list(memory.shape)}")
            memories.append(memory)
        results: Dict[str, Any] = {}
        places = []
        for info in model.outputs:
            shape: Any = info.shape
            if info.name in given:
                memory = tensors.write(given[info.name], info.number, f"output '{info.name}'")
                if memory.shape != shape:
                    raise ValueError(f"output '{info.name}' has shape {list(shape)}, not {list(memory.shape)}")
                results[info.name] = given[info.name]
            else:
                array = tensors.empty(info.number, shape)
                results[info.name] = array
                memory = tensors.Memory(tensors.address_of(array), shape, array.nbytes, array)
            places.append(memory.address)
        inputs = (ctypes.c_void_p * max(len(memories), 1))(*(memory.address for memory in memories))
        outputs = (ctypes.c_void_p * max(len(places), 1))(*places)
        if sink is not None:
            self._check(table.profile(self._handle, inputs, outputs, sink, None))
        else:
            self._check(table.run(self._handle, inputs, outputs))
        for info in model.outputs:
            if info.name not in given:
                shape = info.shape
                results[info.name] = tensors.finish(results[info.name], info.number, shape)
        return results

    def _argument(self, argument: Any, value: Any, info: TensorInfo, kind: str, keep: List[Any]) -> None:
        """Fills an argument of this kind; `keep` gets what it points to."""
        what = f"input '{info.name}'"
        if kind[0] == "t":
            memory = tensors.read(value, info.number, what)
            dims = (ctypes.c_int64 * max(len(memory.shape), 1))(*memory.shape)
            argument.kind, argument.dtype, argument.rank = native.TENSOR, info.number, len(memory.shape)
            argument.dims, argument.data = dims, memory.address
            keep.append((memory, dims))
            return
        if kind[0] == "s" and not isinstance(value, (list, tuple)):
            raise TypeError(f"{what} is a sequence: give it a list")
        items = list(value) if kind[0] == "s" else [] if value is None else [value]
        array = (native.byoc_argument_t * max(len(items), 1))()
        for item, place in zip(items, array):
            self._argument(place, item, info, kind[1:], keep)
        argument.kind = native.SEQUENCE if kind[0] == "s" else native.OPTIONAL
        argument.count, argument.items = len(items), array
        keep.append(array)

    def _arguments(self, values: List[Any]) -> Tuple[Any, List[Any]]:
        inputs = (native.byoc_argument_t * max(len(values), 1))()
        keep: List[Any] = []
        for place, info, value in zip(inputs, self.model.inputs, values):
            self._argument(place, value, info, info.kind, keep)
        return inputs, keep

    def _run_dynamic(self, values: List[Any], given: Dict[str, Any]) -> Dict[str, Any]:
        model, table = self.model, self.model._table
        inputs, keep = self._arguments(values)
        buffers = (native.byoc_buffer_t * max(len(model.outputs), 1))()
        for place, info in zip(buffers, model.outputs):
            if info.name in given:
                memory = tensors.write(given[info.name], info.number, f"output '{info.name}'")
                place.data, place.size_bytes = memory.address, memory.size_bytes
                keep.append(memory)
        made, failures = self._made, self._failures
        made.clear()
        failures.clear()
        self._options.outputs = buffers
        results = (native.byoc_argument_t * max(len(model.outputs), 1))()
        status = table.run_with(self._handle, inputs, results, ctypes.byref(self._options))
        if status == OUT_OF_MEMORY and failures:
            raise failures[0]
        self._check(status)
        del keep
        returned = {
            info.name: self._result(results[i], made.get(i), given.get(info.name))
            for i, info in enumerate(model.outputs)
        }
        made.clear()
        return returned

    def _result(self, argument: Any, made: Optional[np.ndarray], given: Any) -> Any:
        if argument.kind == native.SEQUENCE:
            return [self._result(argument.items[i], None, None) for i in range(argument.count)]
        if argument.kind == native.OPTIONAL:
            return self._result(argument.items[0], None, None) if argument.count > 0 else None
        shape = tuple(argument.dims[i] for i in range(argument.rank))
        if given is not None:  # perhaps larger than what was needed
            return given if tuple(given.shape) == shape else _front(given, shape)
        if made is not None:
            return tensors.finish(made, argument.dtype, shape)
        return tensors.copy_out(argument)


def _front(given: Any, shape: Tuple[int, ...]) -> Any:
    """The part of the caller's memory that was written to, in the result's shape."""
    count = 1
    for dim in shape:
        count *= dim
    return given.reshape(-1)[:count].reshape(shape)


def load(path: Union[str, "os.PathLike[str]"], *, entry: Optional[str] = None) -> Model:
    """Loads an artifact. It needs neither libbyoc nor a compiler. `entry`: one of several models in it."""
    return Model(path, entry=entry)
