# SPDX-License-Identifier: Apache-2.0
"""Building models with libbyoc."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import tempfile
import threading
from typing import Any, Callable, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from . import _native as native
from . import _texts as texts
from ._arguments import integer
from ._errors import OK, UNSUPPORTED, BuildError, Error
from ._forks import gate
from ._model import Model
from ._plan import Plan

_SEVERITIES = {native.ERROR: "error", native.WARNING: "warning", native.NOTE: "note"}


class Diagnostic(NamedTuple):
    """What the compiler says. Texts are "" where there is nothing to say."""

    severity: str  # "error", "warning" or "note"
    status: int
    message: str
    context: str  # where, outermost first
    hint: str  # how to mend it
    file: str
    line: int
    column: int
    source: str  # that line of the file

    def __str__(self) -> str:
        where = f"{self.context}: " if self.context else ""
        hint = f"\nhint: {self.hint}" if self.hint else ""
        return f"{where}{self.message}{hint}"


class Progress(NamedTuple):
    """How far a build is."""

    step: str  # "read", "simplify", "place", "generate", "lower", "compose"
    title: str  # of a long task within the step, or ""
    detail: str
    done: int
    total: int  # 0: not known


class Build(NamedTuple):
    """What a build made."""

    path: Optional[str]  # of the artifact, if it was to be written
    artifact: Optional[bytes]  # otherwise its bytes
    header: Optional[str]  # and its header for C programs
    plan: Plan  # what was placed where, and why
    placement: str  # in one line
    diagnostics: Tuple[Diagnostic, ...]
    # The same of each entry, where there are several, and then of each for the next processor of -mcpu; `plan` and
    # `placement` are the first ones.
    plans: Tuple[Plan, ...] = ()
    placements: Tuple[str, ...] = ()

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes an artifact that was built in memory."""
        if self.artifact is None:
            raise ValueError(f"this artifact was written to {self.path}")
        name = texts.path(path, "the path of an artifact")
        folder, base = os.path.split(name)
        number, whole = tempfile.mkstemp(prefix=base + ".", suffix=".part", dir=folder or ".")
        try:
            with open(number, "wb") as file:
                file.write(self.artifact)
            os.chmod(whole, 0o755)
            os.replace(whole, name)
        except BaseException:
            os.unlink(whole)
            raise

    def load(self, *, entry: Optional[str] = None) -> Model:
        """Loads the artifact. `entry`: one of several models in it; the first by default."""
        if self.path is not None:
            return Model(self.path, entry=entry)
        folder = tempfile.mkdtemp(prefix="byoc-")
        try:
            path = os.path.join(folder, "model.so")
            self.save(path)
            return Model(path, entry=entry, folder=folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


# ---- the library ----

_lock = threading.RLock()  # a finalizer may build while the library is opened; taken inside the gate only
_library: Optional[ctypes.CDLL] = None


def _beside_command() -> List[str]:
    """The library of the installation whose command is found: it need not be where the loader looks."""
    command = shutil.which("byoc")
    if command is None:
        return []
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(command)))
    path = os.path.join(prefix, "lib", "libbyoc.so.0")
    return [path] if os.path.exists(path) else []


def _find() -> ctypes.CDLL:
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "libbyoc.so.0")
    chosen = os.environ.get("BYOC_LIBRARY")
    names = [chosen] if chosen else [own, *_beside_command(), "libbyoc.so.0"]
    failures = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            failures.append(str(error))
    raise Error(
        f"building needs libbyoc ({failures[-1]}): install byoc, or name the file in BYOC_LIBRARY. "
        "Loading and running artifacts does not need it",
        2,
    )


def _load_library() -> ctypes.CDLL:
    global _library
    with gate, _lock:
        if _library is None:
            library = _find()
            result = ctypes.POINTER(native.byoc_compiler_result_t)
            library.byoc_compiler_version.restype = ctypes.c_char_p
            library.byoc_compiler_version.argtypes = []
            library.byoc_compiler_create.restype = ctypes.c_int32
            library.byoc_compiler_create.argtypes = [
                ctypes.POINTER(native.byoc_compiler_options_t),
                ctypes.POINTER(ctypes.c_void_p),
                ctypes.POINTER(result),
            ]
            library.byoc_compiler_destroy.restype = None
            library.byoc_compiler_destroy.argtypes = [ctypes.c_void_p]
            library.byoc_compiler_build.restype = ctypes.c_int32
            library.byoc_compiler_build.argtypes = [
                ctypes.c_void_p,
                ctypes.POINTER(native.byoc_compiler_build_t),
                ctypes.POINTER(result),
            ]
            library.byoc_compiler_cancel.restype = None
            library.byoc_compiler_cancel.argtypes = [ctypes.c_void_p]
            library.byoc_compiler_result_destroy.restype = None
            library.byoc_compiler_result_destroy.argtypes = [result]
            _library = library
    return _library


def version() -> str:
    """The version of libbyoc."""
    return texts.decode(_load_library().byoc_compiler_version())


# ---- builds ----


def _text(value: Any, what: str) -> Optional[bytes]:
    return None if value is None else texts.argument(value, what)


def _texts(values: Iterable[Any], what: str) -> Any:
    encoded = [texts.argument(value, what) for value in values]
    return (ctypes.c_char_p * max(len(encoded), 1))(*encoded), len(encoded)


def _diagnostic(said: Any) -> Diagnostic:
    return Diagnostic(
        _SEVERITIES.get(said.severity, "note"),
        said.status,
        texts.decode(said.message),
        texts.decode(said.context),
        texts.decode(said.hint),
        texts.decode(said.file),
        said.line,
        said.column,
        texts.decode(said.source),
    )


def _take(library: ctypes.CDLL, result: Any) -> Tuple[Any, Tuple[Diagnostic, ...]]:
    if not result:
        raise MemoryError("libbyoc is out of memory")
    shown = result.contents
    return shown, tuple(_diagnostic(shown.diagnostics[i].contents) for i in range(shown.diagnostic_count))


def _integers(values: Any, what: str, most: int) -> List[int]:
    """Of one, or of several; none of them is negative."""
    several = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
    return [integer(value, what, 0, most) for value in (values if several else [values])]


def _dims(dims: Mapping[str, Union[int, Sequence[int]]]) -> Any:
    rows: List[Tuple[bytes, int]] = []
    for name, values in dims.items():
        encoded = texts.argument(name, "the name of a dimension")
        rows += [(encoded, value) for value in _integers(values, f"the size of the dimension '{name}'", 2**63 - 1)]
    structs = [native.byoc_compiler_dim_t(*row) for row in rows]
    return (native.byoc_compiler_dim_t * max(len(rows), 1))(*structs), len(rows)


def _model(model: Any, keep: List[Any]) -> Tuple[Optional[bytes], Any, int]:
    """Its path; or its bytes' address and size, which last as long as `keep`."""
    if isinstance(model, (str, os.PathLike)):
        return texts.argument(model, "the path of a model"), None, 0
    try:
        data = model.SerializeToString() if hasattr(model, "SerializeToString") else bytes(memoryview(model))
    except TypeError:
        raise TypeError(
            "a model is a path, the bytes of an ONNX model, an onnx.ModelProto, or a mapping of names to such, "
            f"not of type {type(model).__name__}"
        ) from None
    buffer = ctypes.create_string_buffer(data, max(len(data), 1))
    keep.append(buffer)
    return None, ctypes.addressof(buffer), len(data)


def _models(request: Any, model: Any, data_folder: Any, keep: List[Any]) -> None:
    folder = _text(data_folder, "data_folder")
    if not isinstance(model, Mapping):
        request.model_path, request.model_data, request.model_size_bytes = _model(model, keep)
        request.data_folder = folder
        return
    if not model:
        raise ValueError("there are no entries: a mapping names one model or more")
    rows = [
        native.byoc_compiler_entry_t(texts.argument(name, "the name of an entry"), *_model(one, keep), folder)
        for name, one in model.items()
    ]
    request.entries, request.entry_count = (native.byoc_compiler_entry_t * len(rows))(*rows), len(rows)


# Threads that are in a build. A child that is forked meanwhile has their locks in libbyoc and not them.
_building: Set[int] = set()
_is_torn = False


def _after_fork_in_child() -> None:
    global _is_torn
    _is_torn = _is_torn or bool(_building - {threading.get_ident()})
    _building.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _check_forks() -> None:
    if _is_torn:
        raise Error(
            "this process was forked while another thread of its parent was building, and cannot build: "
            "fork before, or start processes by 'spawn' or 'forkserver'",
            UNSUPPORTED,
        )


def _wait(library: ctypes.CDLL, compiler: Any, request: Any, result: Any) -> int:
    """Builds on another thread, so that Ctrl-C ends the build and not only the waiting."""
    status: List[int] = []
    done = threading.Event()  # joining the thread is not safe when it is interrupted (bpo-45274)
    interrupts: List[BaseException] = []

    def work() -> None:
        _building.add(threading.get_ident())
        try:
            status.append(library.byoc_compiler_build(compiler, ctypes.byref(request), ctypes.byref(result)))
        finally:
            _building.discard(threading.get_ident())
            done.set()

    threading.Thread(target=work, name="byoc.build").start()
    while not done.is_set():
        try:
            while not done.wait(0.1):  # a signal that another thread received waits for this one to look
                pass
        except BaseException as interrupt:  # what the build uses must outlive it
            interrupts.append(interrupt)
            library.byoc_compiler_cancel(compiler)
    if interrupts:
        raise interrupts[0]
    return status[0]


def build(
    model: Any,
    output: Union[str, "os.PathLike[str]", None] = None,
    *,
    target: Union[str, Sequence[str], None] = None,
    triple: Optional[str] = None,
    dims: Optional[Mapping[str, Union[int, Sequence[int]]]] = None,
    alias: Optional[Mapping[str, str]] = None,
    name: Optional[str] = None,
    plan: Union[str, "os.PathLike[str]", None] = None,
    cost: Optional[str] = None,
    cost_budget: float = 0.0,
    check_budget: Optional[float] = None,
    size_price: Optional[float] = None,
    layout: Optional[str] = None,
    threads: Union[int, Sequence[int]] = 0,
    stream_axis: Optional[str] = None,
    queues: int = 0,
    profile: bool = False,
    trace: bool = False,
    fallback: bool = False,
    strict: bool = False,
    lenient: bool = False,
    optional_inputs: Sequence[str] = (),
    huge_pages: bool = False,
    weights: Union[str, "os.PathLike[str]", None] = None,
    disable_passes: Sequence[str] = (),
    plugins: Sequence[Union[str, "os.PathLike[str]"]] = (),
    data_folder: Union[str, "os.PathLike[str]", None] = None,
    progress: Optional[Callable[[Progress], Any]] = None,
    verbose: bool = False,
) -> Build:
    """Compiles a model: a path, the bytes of an ONNX model, or an onnx.ModelProto; or several into one artifact, where
    they share weights and code: a mapping of their names to such models, as {"prefill": "p.onnx", "decode": "d.onnx"}.

    `output`: where the artifact goes, its header beside it; None: the result holds both. `target`: "cutlass; c", in
    order of preference; None: the best that are installed. `triple`: of another machine, as "aarch64-linux-gnu".
    `dims`: values of open dimensions; several values for one make variants, and leave it open. `alias`: outputs that
    may be written over inputs. `check_budget`: seconds for checking new code, 0 for none. `plan`: "greedy", "collage" (least measured cost) or a saved plan. `size_price`:
    percent of a plan's time that a MiB of the artifact is worth. `threads`: of a context by default; several numbers
    make a plan by measured costs for each, and a context takes the one for its threads. `strict` refuses what the
    specification of ONNX forbids; `lenient` leaves out attributes that operators do not have. `optional_inputs`: inputs
    with a value in the model (an initialiser) that runs may give another one; "*": all of them. `progress` is called as the
    build goes on, on another thread; if it returns False or raises, the build ends. The other options are those of
    byoc build. Raises BuildError.
    """
    _check_forks()
    library = _load_library()
    keep: List[Any] = []
    request = native.byoc_compiler_build_t(struct_size=ctypes.sizeof(native.byoc_compiler_build_t))
    _models(request, model, data_folder, keep)
    request.output, request.name = _text(output, "output"), _text(name, "name")
    if target is not None:
        listed = [target] if not isinstance(target, Iterable) or isinstance(target, str) else target
        request.targets, request.target_count = _texts(listed, "a target")
    request.triple = _text(triple, "triple")
    request.dims, request.dim_count = _dims(dims or {})
    pairs = [native.byoc_compiler_alias_t(*_texts(pair, "a name in alias")[0]) for pair in (alias or {}).items()]
    request.aliases = (native.byoc_compiler_alias_t * max(len(pairs), 1))(*pairs)
    request.alias_count = len(pairs)
    request.disabled_passes, request.disabled_pass_count = _texts(disable_passes, "a name in disable_passes")
    request.plan, request.cost, request.layout = _text(plan, "plan"), _text(cost, "cost"), _text(layout, "layout")
    request.cost_budget_s, request.queue_count = cost_budget, integer(queues, "the number of queues", 0, 2**31 - 1)
    if check_budget is not None:
        request.check_budget_s = check_budget if check_budget > 0 else -1.0
    counts = _integers(threads, "the number of threads", 2**31 - 1)
    if isinstance(threads, Iterable):
        request.plan_threads = (ctypes.c_int32 * max(len(counts), 1))(*counts)
        request.plan_thread_count = len(counts)
    else:
        request.thread_count = counts[0]
    request.size_price = None if size_price is None else repr(float(size_price)).encode()
    request.stream_axis = _text(stream_axis, "stream_axis")
    request.profile, request.trace, request.fallback = profile, trace, fallback
    if strict and lenient:
        raise ValueError("strict and lenient exclude each other")
    request.optional_inputs, request.optional_input_count = _texts(optional_inputs, "a name in optional_inputs")
    request.reading = native.READ_STRICT if strict else native.READ_LENIENT if lenient else native.READ_USUAL
    request.huge_pages, request.weights = huge_pages, _text(weights, "weights")
    request.verbosity = native.NOTE if verbose else native.WARNING
    raised: List[BaseException] = []

    def step(_: Any, at: Any) -> int:
        try:
            seen = at.contents
            title, detail = texts.decode(seen.title), texts.decode(seen.detail)
            at_now = Progress(texts.decode(seen.step), title, detail, seen.done, seen.total)
            return 1 if progress is not None and progress(at_now) is False else 0
        except BaseException as failure:  # it cannot pass through C
            raised.append(failure)
            return 1

    if progress is not None:
        request.progress = native.PROGRESS(step)
    compiler = ctypes.c_void_p()
    result = ctypes.POINTER(native.byoc_compiler_result_t)()
    paths, count = _texts(plugins, "a path in plugins")
    options = native.byoc_compiler_options_t(
        struct_size=ctypes.sizeof(native.byoc_compiler_options_t), plugins=paths, plugin_count=count
    )
    with gate:  # it loads plugins
        status = library.byoc_compiler_create(ctypes.byref(options), ctypes.byref(compiler), ctypes.byref(result))
    try:
        _, said = _take(library, result)
    finally:
        library.byoc_compiler_result_destroy(result)
    if status != OK:
        raise BuildError(str(said[-1]), status, said)
    result = ctypes.POINTER(native.byoc_compiler_result_t)()
    try:
        status = _wait(library, compiler, request, result)
        shown, more = _take(library, result)
        said += more
        if raised:
            raise raised[0]
        if status != OK:
            raise BuildError(str(said[-1]), status, said)
        in_memory = output is None
        plans = [texts.decode(shown.plans[i]) for i in range(shown.plan_count)]
        return Build(
            None if in_memory else os.fspath(output),  # type: ignore[arg-type]
            ctypes.string_at(shown.artifact, shown.artifact_size_bytes) if in_memory else None,
            texts.decode(shown.header) if in_memory else None,
            Plan(json.loads(texts.decode(shown.plan)) if shown.plan else {}),
            texts.decode(shown.placement),
            said,
            tuple(Plan(json.loads(plan) if plan else {}) for plan in plans),
            tuple(texts.decode(shown.placements[i]) for i in range(shown.plan_count)),
        )
    finally:
        library.byoc_compiler_result_destroy(result)
        with gate:
            library.byoc_compiler_destroy(compiler)


def explain(model: Any, **options: Any) -> Plan:
    """What byoc.build would place where, by the same options: a plan, which a notebook shows as a table.

    The model is built for it, and what was built is thrown away.
    """
    return build(model, **options).plan
