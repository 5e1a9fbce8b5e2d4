"""Where the bytes of data objects are, as paths that DuckDB opens by itself.

On a local lake that is where they lie; from other stores they are copied first (`copies.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from lochan.errors import Gone
from lochan.query.sources.snapshot import DataObject
from lochan.store.protocol import Store


class Files(Protocol):
    @property
    def folders(self) -> list[str]:
        """Where they lie, beside the folder of whoever reads them."""

    async def place(self, objects: Sequence[DataObject], work: str) -> list[str]:
        """A path for each object, "" for one that is gone. `work` is the folder of whoever reads them, to be removed
        when it is done. Raises Corrupt, and whatever the store says."""


def files_of(store: Store, cache: str | None = None, bytes_max: int = 0) -> Files:
    """Without a cache, copies are made for each query."""
    if store.url.startswith("file://"):
        return LocalFiles(unquote(store.url.removeprefix("file://")))
    from lochan.engines.duckdb.copies import CopiedFiles

    return CopiedFiles(store, cache, bytes_max)


class LocalFiles:
    def __init__(self, root: str) -> None:
        self._root = root

    @property
    def folders(self) -> list[str]:
        return [self._root]

    async def place(self, objects: Sequence[DataObject], work: str) -> list[str]:
        return [self._path(each.address) for each in objects]

    def _path(self, address: str) -> str:
        path = f"{self._root}/{address}"
        return path if Path(path).exists() else ""


def gone(object: DataObject) -> Gone:
    return Gone(
        f"{object} is gone: {object.address} is not on the store any more",
        hint="was it purged, or deleted by hand? with --go-on the query reads what is left",
    )
