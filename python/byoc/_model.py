# SPDX-License-Identifier: Apache-2.0
"""Artifacts in this process: loading, contexts, runs."""

from __future__ import annotations

import ctypes
import json
import math
import os
import threading
from collections.abc import Mapping
from typing import Any, Dict, List, NoReturn, Optional, Tuple, Union

from . import _native as native
from . import _texts as texts
from ._arguments import integer
from ._errors import INVALID_ARGUMENT, Error
from ._forks import process
from ._library import Library
from ._profile import Profile, ProfileRow
from ._session import Program, Session, TensorInfo


def _entries(first: native.byoc_artifact_t) -> Dict[str, native.byoc_artifact_t]:
    """The tables of an artifact of several models, by name; none if it has one."""
    pointer = ctypes.POINTER(native.byoc_artifact_t)
    tables = [ctypes.cast(first.entries[i], pointer).contents for i in range(first.entry_count)]
    return {texts.decode(table.entry): table for table in tables}


class Model:
    """A loaded artifact. Any thread may use it; each gets a context of its own from `run`, and so does each process that
    is forked. A copy is the model itself; a model cannot be pickled."""

    def __init__(
        self, path: Union[str, "os.PathLike[str]"], *, entry: Optional[str] = None, folder: Optional[str] = None
    ) -> None:
        """`entry`: one of several models in the artifact; the first by default. `folder`: a temporary one that the
        file is in, removed with the model."""
        library = Library(os.path.realpath(texts.path(path, "the path of an artifact")), folder)
        entries = _entries(library.table)
        if entry is not None and entry not in entries:
            names = ", ".join(entries) or "one model"
            raise Error(f"the artifact has no entry '{entry}'; it has {names}", INVALID_ARGUMENT)
        table = entries[entry] if entry is not None else library.table
        self._program = Program(library, table)
        self.path = library.path
        self.entry: Optional[str] = texts.decode(table.entry) or None
        self.entries: List[str] = list(entries)
        self.name: str = self._program.name
        self.inputs = self._program.inputs
        self.outputs = self._program.outputs
        self.is_dynamic = self._program.is_dynamic
        self._own = threading.local()  # its sessions know the program, not the model: there is no circle

    @property
    def metadata(self) -> Dict[str, Any]:
        """Targets, plugin versions, CPU features, content hashes."""
        return json.loads(self._program.table.metadata.decode())

    def context(self, threads: int = 0, max_iterations: int = 0, timeout: float = 0) -> "Context":
        """A new context. `threads`: 0 for what the model was built with, or all processors. `max_iterations`: the most
        turns of a Loop of a dynamic model; 0: no limit. `timeout`: the seconds that a run may take; one that takes
        longer raises an Error whose `timed_out` is true, and the context runs again; 0: no limit."""
        return Context(self, threads, max_iterations, timeout)

    def run(self, *args: Any, outputs: Optional[Mapping[str, Any]] = None, **named: Any) -> Dict[str, Any]:
        """Context.run, with a context of the thread that calls."""
        session: Optional[Session] = getattr(self._own, "session", None)
        if session is None or session.maker != process():
            session = self._own.session = Session(self._program, {})
        if not session.enter():  # a finalizer, a signal handler or an input runs the model in the midst of a run
            session = Session(self._program, {})
            session.enter()
        try:
            return session.run(args, named, outputs)
        finally:
            session.leave()

    def profile(self, *args: Any, runs: int = 10, threads: int = 1, **named: Any) -> Profile:
        """The times of the instructions: medians of so many runs, after one that does not count. The model must be built
        with profile=True."""
        runs = integer(runs, "the number of runs of a profile", 1, 2**31 - 1)
        context = self.context(threads)
        context.profile(*args, **named)
        return Profile(self.metadata, [context.profile(*args, **named) for _ in range(runs)])

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The only output, or a tuple of all."""
        results = tuple(self.run(*args, **named).values())
        return results[0] if len(results) == 1 else results

    def __copy__(self) -> "Model":
        return self

    def __deepcopy__(self, _: Any) -> "Model":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a model cannot be pickled: send the path of its artifact, and load that where it arrives")

    def __repr__(self) -> str:
        def show(infos: Tuple[TensorInfo, ...]) -> str:
            return ", ".join(f"{i.name}: {i.dtype}{list(i.shape) if i.shape is not None else ''}" for i in infos)

        return f"<byoc.Model {self.name}({show(self.inputs)}) -> ({show(self.outputs)})>"


_renewing = threading.RLock()  # a finalizer may run an inherited context while another one is renewed


def _after_fork_in_child() -> None:
    global _renewing
    _renewing = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


class Context:
    """What one thread needs to run a model. Several run at the same time; the constants are shared. A run that comes
    while another one goes on in the same context is refused. A process that is forked gets memory and threads of its own
    for the contexts that it inherits. A copy is a new context with the same options."""

    def __init__(self, model: Model, threads: int = 0, max_iterations: int = 0, timeout: float = 0) -> None:
        if not timeout >= 0:
            raise ValueError(f"a timeout is a number of seconds from 0 on, not {timeout}")
        self.model = model
        self._options = {
            "thread_count": integer(threads, "the number of threads", 0, 2**31 - 1),
            "max_iterations": integer(max_iterations, "the number of iterations", 0, 2**64 - 1),
            "timeout_ms": min(math.ceil(min(timeout, 1e15) * 1000), 2**63),
        }
        self._session = Session(model._program, self._options)

    def _enter(self) -> Session:
        session = self._session
        if session.maker != process():
            with _renewing:
                if self._session.maker != process():
                    self._session = Session(self.model._program, self._options)
                session = self._session
        if not session.enter():
            raise Error("the context is in use by another run: give each thread a context of its own", INVALID_ARGUMENT)
        return session

    def run(self, *args: Any, outputs: Optional[Mapping[str, Any]] = None, **named: Any) -> Dict[str, Any]:
        """One inference: inputs by position, by name, or as one mapping; results by name.

        Arrays of numpy and tensors of anything that speaks DLPack are read where they are, if they are dense. `outputs`
        may name arrays that results are written into; the others are new. An optional input may be None or left out.
        """
        session = self._enter()
        try:
            return session.run(args, named, outputs)
        finally:
            session.leave()

    def profile(self, *args: Any, **named: Any) -> List[ProfileRow]:
        """One inference, and the time of each of its instructions. The model must be built with profile=True."""
        session = self._enter()
        try:
            return session.profile(args, named)
        finally:
            session.leave()

    def __copy__(self) -> "Context":
        copy = object.__new__(Context)
        copy.model, copy._options = self.model, self._options
        copy._session = Session(self.model._program, self._options)
        return copy

    def __deepcopy__(self, _: Any) -> "Context":
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a context cannot be pickled: make another one by model.context()")


def load(path: Union[str, "os.PathLike[str]"], *, entry: Optional[str] = None) -> Model:
    """Loads an artifact. It needs neither libbyoc nor a compiler. `entry`: one of several models in it."""
    return Model(path, entry=entry)
