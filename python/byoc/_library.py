# SPDX-License-Identifier: Apache-2.0
"""Files of artifacts that are open in this process.

Invariants:
1. A library is closed when nothing uses it any more; never by a child of the process that opened it, and not at the end of
   a process, because threads may be in it.
2. A finalizer takes no lock that its own thread may hold: it leaves the handle in a queue, and closes what is in the
   queue if nobody is opening or closing. Whoever was does it at the end.
3. The loader of libc gives the file that it knows for a name that it knows, even if another file has the name by now. So
   each handle is kept with the identity of its file, and another file is opened as a copy, under another name.
"""

from __future__ import annotations

import _ctypes
import collections
import contextlib
import ctypes
import json
import os
import shutil
import stat
import tempfile
import threading
import weakref
from typing import Any, Deque, Dict, Iterator, NamedTuple, Optional, Tuple

from . import _native as native
from ._errors import OK, Error
from ._forks import gate, process


class _Identity(NamedTuple):
    device: int
    inode: int
    size: int
    changed: int


class _Open:
    """A handle of the loader, and how many libraries have it."""

    def __init__(self, identity: _Identity) -> None:
        self.identity, self.count = identity, 0


_lock = threading.RLock()  # of the two below; taken inside the gate only
_depth = 0  # how often the thread that has the lock is in a section
_open: Dict[int, _Open] = {}
_unused: Deque[int] = collections.deque()  # handles to close


@contextlib.contextmanager
def _section() -> Iterator[None]:
    global _depth
    with gate:
        with _lock:
            _depth += 1
            try:
                yield
            finally:
                _depth -= 1
        _close_unused()


def _close_unused() -> None:
    while _unused and _lock.acquire(blocking=False):
        try:
            if _depth > 0:  # this thread is opening one further out, which closes these when it has ended
                return
            while _unused:
                _close_one(_unused.popleft())
        finally:
            _lock.release()


def _close_one(handle: int) -> None:
    opened = _open[handle]
    opened.count -= 1
    if opened.count == 0:
        del _open[handle]
    _ctypes.dlclose(handle)


def _let_go(handle: int, maker: Tuple[int, int]) -> None:
    if maker == process():
        _unused.append(handle)
        with gate:
            _close_unused()


def _forget() -> None:
    """In a child: what its parent had in the queue stays open here."""
    _unused.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _identity(path: str) -> _Identity:
    status = os.stat(path)
    return _Identity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


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


def _dlopen(path: str) -> int:
    try:
        return _ctypes.dlopen(path, os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise Error(_reason(path, error), 5) from None


def _open_current(path: str) -> Optional[int]:
    """A handle of the file that has this path now; None if the loader gives one that had it before."""
    while True:
        identity = _identity(path)
        handle = _dlopen(path)
        opened = _open.setdefault(handle, _Open(identity))
        if opened.count > 0 and opened.identity != identity:
            _ctypes.dlclose(handle)
            return None
        opened.count += 1
        if opened.count > 1 or _identity(path) == identity:
            return handle
        _close_one(handle)  # the file was exchanged meanwhile


def _remove(folder: str, maker: Tuple[int, int]) -> None:
    if maker == process():
        shutil.rmtree(folder, ignore_errors=True)


def remove_with(owner: Any, folder: str) -> None:
    """A folder goes with its owner, or at the end of this process, but not at that of a child."""
    weakref.finalize(owner, _remove, folder, process())


class Library:
    """An open artifact, with the table of its first model."""

    def __init__(self, path: str, folder: Optional[str] = None) -> None:
        """`folder`: a temporary one that the file is in, removed with the library."""
        if folder is not None:
            remove_with(self, folder)
        self.path = path
        self.origin = path  # where the file was found, beside which its weights are
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would wait for its writer
            raise Error(f"'{path}' is not a regular file: copy the artifact into one", 7)
        with _section():
            handle = _open_current(path)
            if handle is None:
                folder = tempfile.mkdtemp(prefix="byoc-")
                remove_with(self, folder)
                self.path = os.path.join(folder, os.path.basename(path))
                shutil.copy2(path, self.path)
                handle = _open_current(self.path)
            assert handle is not None  # the copy has a name that nobody had
            weakref.finalize(self, _let_go, handle, process()).atexit = False
        library = ctypes.CDLL(self.path, handle=handle)
        try:
            entry = library.byoc_artifact_entry
        except AttributeError:
            raise Error(f"'{self.path}' is not an artifact of byoc", 5) from None
        entry.restype, entry.argtypes = ctypes.POINTER(native.byoc_artifact_t), [ctypes.c_uint32]
        table = entry(native.ARTIFACT_ABI)
        if not table or table.contents.struct_size < ctypes.sizeof(native.byoc_artifact_t):
            raise Error(f"'{self.path}' was made by another version of byoc: build it again", 9)
        self.table = table.contents
        message = ctypes.create_string_buffer(1024)
        status = self.table.check(message, len(message))
        if status != OK:
            raise Error(message.value.decode(errors="replace"), status)

    def weights(self) -> Optional[bytes]:
        """The weights file of a copy: that beside its origin, unless $BYOC_WEIGHTS names one. None: the artifact finds
        its own."""
        if self.path == self.origin or os.environ.get("BYOC_WEIGHTS"):
            return None
        name = json.loads(self.table.metadata.decode()).get("weights_file")
        return os.fsencode(os.path.join(os.path.dirname(self.origin), name)) if name else None
