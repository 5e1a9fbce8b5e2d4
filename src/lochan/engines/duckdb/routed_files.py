"""Data objects of a lake whose repositories may lie in other stores: each is opened in the store of its repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from lochan.engines.duckdb.files import Files, PlacedObject
from lochan.errors import LochanError
from lochan.pools.snapshot import DataObject


class RoutedFiles:
    """Opens the files of each repository. `own` returns the files of a repository that lies in another store, by its
    id; `routed` returns the ids of all such repositories."""

    def __init__(self, inner: Files, own: Callable[[str], Files | None], routed: Callable[[], Sequence[str]]) -> None:
        self._inner = inner
        self._own = own
        self._routed = routed
        self._known: dict[str, Files] = {}

    @property
    def folders(self) -> list[str]:
        found = list(self._inner.folders)
        for id in self._routed():
            with suppress(LochanError):  # a query that needs it raises the error
                found += self._files(id).folders
        return list(dict.fromkeys(found))

    async def place(self, objects: Sequence[DataObject], work: str, *, recheck: bool = False) -> list[str]:
        placed = [""] * len(objects)
        for files, numbers in self._split([each.address for each in objects]):
            found = await files.place([objects[number] for number in numbers], work, recheck=recheck)
            for number, path in zip(numbers, found, strict=True):
                placed[number] = path
        return placed

    def failure(self, placed: Sequence[PlacedObject]) -> LochanError | None:
        for files, numbers in self._split([each.object.address for each in placed]):
            error = files.failure([placed[number] for number in numbers])
            if error is not None:
                return error
        return None

    def _split(self, addresses: Sequence[str]) -> list[tuple[Files, list[int]]]:
        found: dict[str, tuple[Files, list[int]]] = {}
        for number, address in enumerate(addresses):
            id = address.partition("/")[0]
            if id not in found:
                found[id] = self._files(id), []
            found[id][1].append(number)
        return list(found.values())

    def _files(self, id: str) -> Files:
        own = self._known.get(id) or self._own(id)
        if own is None:
            return self._inner
        self._known[id] = own
        return own
