"""Points at which the parsing and compiling of a query can be stopped. Python cannot stop such work from outside, so
the caller gives a check, and the work calls it every now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Check = Callable[[], None]  # raises an error to stop the work

_check: ContextVar[Check | None] = ContextVar("lochan-query-checkpoint", default=None)


@contextmanager
def check_with(check: Check | None) -> Iterator[None]:
    """Applies the check to everything that this task does within the block."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def checkpoint() -> None:
    """Runs the check, if there is one. It is called wherever work grows with the query."""
    check = _check.get()
    if check is not None:
        check()
