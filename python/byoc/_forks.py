# SPDX-License-Identifier: Apache-2.0
"""Forks while other threads work in C."""

from __future__ import annotations

import os
import threading
from typing import Any, Dict, Optional, Tuple


_generation = 0  # how many forks lie between the first process and this one


def process() -> Tuple[int, int]:
    """What tells this process from its ancestors. The system may give a child the number of one that has died; and what
    belonged to other threads is freed in a child before its hooks have run."""
    return os.getpid(), _generation


class Gate:
    """A fork waits until no other thread is inside; threads inside do not wait for each other.

    A child has only the thread that forked. A lock that another thread holds at that moment, in the loader of libc or in
    a library, would stay held there for ever. A thread that is inside may enter again, and may fork: a finalizer or a
    signal handler does so at any time.
    """

    def __init__(self) -> None:
        self._inside: Dict[int, int] = {}  # threads, and how often each has entered
        self._forking: Optional[int] = None
        self._changed = threading.Condition(threading.RLock())
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork,
                after_in_parent=self._after_fork_in_parent,
                after_in_child=self._after_fork_in_child,
            )

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            while self._forking not in (None, me) and me not in self._inside:
                self._changed.wait()
            self._inside[me] = self._inside.get(me, 0) + 1

    def __exit__(self, *_: Any) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if self._inside[me] == 0:
                del self._inside[me]
                self._changed.notify_all()

    def _before_fork(self) -> None:
        me = threading.get_ident()
        with self._changed:
            while self._forking not in (None, me):
                self._changed.wait()
            self._forking = me
            while [thread for thread in [*self._inside] if thread != me]:
                self._changed.wait()

    def _after_fork_in_parent(self) -> None:
        with self._changed:
            self._forking = None
            self._changed.notify_all()

    def _after_fork_in_child(self) -> None:
        global _generation
        _generation += 1
        me = threading.get_ident()
        self._changed = threading.Condition(threading.RLock())
        self._inside = {me: self._inside[me]} if me in self._inside else {}
        self._forking = None


gate = Gate()
