"""Where a query that is only being read and compiled can be given up. Python has no way to stop such work from outside,
so whoever asks says what is to be looked at, and the work looks at it every now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Check = Callable[[], None]  # raises what the work is given up by

_check: ContextVar[Check | None] = ContextVar("lochan-query-checkpoint", default=None)


@contextmanager
def checked_by(check: Check | None) -> Iterator[None]:
    """All that this task does meanwhile."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def checkpoint() -> None:
    """To be called wherever work is done that grows with the query."""
    check = _check.get()
    if check is not None:
        check()
