"""Where the bytes of data objects are, as paths that DuckDB opens by itself.

On a local lake that is where they lie; from other stores they are copied first (`copies.py`). Either way they are
checked before anybody reads them (`object_check.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol
from urllib.parse import unquote

from lochan.clock import SystemClock
from lochan.engines.duckdb.object_check import ObjectCheck, PlacedObject
from lochan.engines.duckdb.object_check import gone as gone
from lochan.errors import LochanError
from lochan.pools.snapshot import DataObject
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles


class Files(Protocol):
    @property
    def folders(self) -> list[str]:
        """Where they lie, beside the folder of whoever reads them."""

    async def place(self, objects: Sequence[DataObject], work: str, *, recheck: bool = False) -> list[str]:
        """A path for each object, "" for one that is gone. `work` is the folder of whoever reads them, to be removed
        when it is done. Each is checked, once for each stamp of its file; with `recheck` each time, which whoever
        copies rows into new files asks for. Raises Corrupt, and whatever the store says."""

    def failure(self, placed: Sequence[PlacedObject]) -> LochanError | None:
        """Why an engine could not read them: one is gone, or damaged. They are read as a whole, in the caller's
        thread. None: nothing is wrong with them."""


def files_of(
    store: Store, cache: str | None = None, bytes_max: int = 0, *, verified: VerifiedFiles | None = None
) -> Files:
    """Without a cache, copies are made for each query. Without `verified`, this process alone knows what it has
    checked."""
    verified = verified or _verified_here(store.url)
    if store.url.startswith("file://"):
        return LocalFiles(unquote(store.url.removeprefix("file://")), verified)
    from lochan.engines.duckdb.copies import CopiedFiles

    return CopiedFiles(store, cache, bytes_max, verified)


@cache
def _verified_here(url: str) -> VerifiedFiles:
    return VerifiedFiles(url, SystemClock())


class LocalFiles:
    def __init__(self, root: str, verified: VerifiedFiles) -> None:
        self._root = root
        self._check = ObjectCheck(verified)

    @property
    def folders(self) -> list[str]:
        return [self._root]

    async def place(self, objects: Sequence[DataObject], work: str, *, recheck: bool = False) -> list[str]:
        placed = [PlacedObject(each, f"{self._root}/{each.address}") for each in objects]
        return await self._check.check(placed, recheck=recheck)

    def failure(self, placed: Sequence[PlacedObject]) -> LochanError | None:
        return self._check.failure(placed)
