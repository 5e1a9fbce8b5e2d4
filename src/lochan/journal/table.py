"""Tables that can be forked: changes to a fork are seen only there, until the fork is joined.

The fold needs this because a batch is checked against a state that includes its own earlier requests (rule J3), while
readers keep seeing only what is durable. A fork costs nothing and a join costs the changes, whatever the table's size.
"""

from collections.abc import Iterator
from typing import Final, Generic, Self, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")


class _Gone:
    """Marks a key that a fork has dropped, whatever the parent holds."""


_GONE: Final = _Gone()


class FoldTable(Generic[K, V]):
    __slots__ = ("_own", "_parent")

    def __init__(self, own: dict[K, V] | None = None, parent: "FoldTable[K, V] | None" = None) -> None:
        self._own: dict[K, V | _Gone] = cast("dict[K, V | _Gone]", own if own is not None else {})
        self._parent = parent

    def get(self, key: K) -> V | None:
        table: FoldTable[K, V] | None = self
        while table is not None:
            value = table._own.get(key)
            if value is not None:
                return None if isinstance(value, _Gone) else value
            table = table._parent
        return None

    def __contains__(self, key: K) -> bool:
        return self.get(key) is not None

    def put(self, key: K, value: V) -> None:
        self._own[key] = value

    def drop(self, key: K) -> None:
        if self._parent is None:
            self._own.pop(key, None)
        else:
            self._own[key] = _GONE

    def items(self) -> Iterator[tuple[K, V]]:
        """Yields the items in no particular order. The table must not change meanwhile."""
        if self._parent is None:
            yield from cast("dict[K, V]", self._own).items()
            return
        for key, value in self._parent.items():
            if key not in self._own:
                yield key, value
        for key, own in self._own.items():
            if not isinstance(own, _Gone):
                yield key, own

    def fork(self) -> "FoldTable[K, V]":
        return FoldTable(parent=self)

    def join(self) -> None:
        """Writes this fork's changes into its parent, which must not have changed since the fork."""
        assert self._parent is not None, "only a fork can be joined"
        for key, value in self._own.items():
            if isinstance(value, _Gone):
                self._parent.drop(key)
            else:
                self._parent.put(key, value)
        self._own = {}


class FoldTables:
    """Several tables that fork and join together. REQUIRES: every attribute of the object can fork and join."""

    def fork(self) -> Self:
        fork = type(self).__new__(type(self))
        fork.__dict__.update({name: table.fork() for name, table in vars(self).items()})
        return fork

    def join(self) -> None:
        for table in vars(self).values():
            table.join()
