# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, Tuple

if TYPE_CHECKING:
    from ._compiler import Diagnostic

OK, INVALID_ARGUMENT, UNSUPPORTED, CANCELLED, TIMED_OUT = 0, 1, 4, 12, 14


class Error(RuntimeError):
    """A model could not be loaded, built or run. `status` is its number in byoc/status.h."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @property
    def timed_out(self) -> bool:
        """Whether a run took longer than the timeout of its context."""
        return self.status == TIMED_OUT

    def __reduce__(self) -> Tuple[Any, ...]:  # a pool of processes sends it
        return type(self), (str(self), self.status)


class BuildError(Error):
    """A model could not be built. `diagnostics` has all that was said, the error last."""

    def __init__(self, message: str, status: int, diagnostics: "Sequence[Diagnostic]") -> None:
        super().__init__(message, status)
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (str(self), self.status, self.diagnostics)

    @property
    def cancelled(self) -> bool:
        """Whether somebody ended the build."""
        return self.status == CANCELLED
