"""The result of a verb that lists, for code without an event loop: the items as they are requested, and a table of the
first ones in a notebook."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any, Generic, TypeVar

from lochan.errors import LochanError

T = TypeVar("T")

_SHOWN_MAX = 50
_IN_A_HANDLE_MAX = 10


class Items(Iterator[T], Generic[T]):
    """An iterator: `list(…)`, `for each in …`, `next(…)`. Showing it in a notebook consumes nothing."""

    def __init__(self, source: Iterator[T], name: str) -> None:
        self._source = source
        self._name = name
        self._ahead: deque[T] = deque()  # items that were shown, but not consumed yet

    def __next__(self) -> T:
        return self._ahead.popleft() if self._ahead else next(self._source)

    def close(self) -> None:
        """Stops reading."""
        self._ahead.clear()
        close = getattr(self._source, "close", None)
        if close is not None:
            close()

    def __repr__(self) -> str:
        return f"<{self._name}: iterate over it, or make a list>"

    def _repr_html_(self) -> str | None:
        """Shows a table of the first items. Raises the errors of the verb."""
        return self.html(_SHOWN_MAX)

    def html(self, limit: int) -> str | None:
        """Shows the first `limit` items as a table."""
        from lochan.api.shown import items_html

        self._ahead.extend(islice(self._source, max(0, limit + 1 - len(self._ahead))))
        return items_html(list(self._ahead)[:limit], more=len(self._ahead) > limit)


def handle_html(handle: object, inside: Callable[[], Items[Any]]) -> str | None:
    """Shows a handle and the first things in it. Returns None, for the text alone, if they cannot be read."""
    from lochan.notebook.html import text

    try:
        with closing(inside()) as items:
            shown = items.html(_IN_A_HANDLE_MAX)
    except LochanError:
        return None
    return f"<div><code>{text(repr(handle))}</code></div>{shown or ''}"
