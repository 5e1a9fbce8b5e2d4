"""Every file of a lake, from one listing, sorted by path and classified by name."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.store.protocol import Store

_BATCH = 65_536
_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified", pa.float64())])

QUARANTINE = "_lake/quarantine/"
SCRUB = "_lake/scrub/"
_ID = "[0-9A-Za-z]{27}"
_NUMBER = r"\d{20}"

# Patterns of all paths that Lochan writes. Each path matches one of them completely.
_LAKE = rf"""
lake\.json
_lake/keys/(secrets|address-tokens)
_lake/jobs/{_ID}\.json
_lake/scrub/({_ID})\.json
_lake/quarantine/.+
_lake/(usage|upkeep|backup|plans|subscriptions)/.+
_probe/.+
"""
_JOURNAL = rf"""
journal/{_NUMBER}
journal/seg/{_NUMBER}
journal/trim/.+
journal/mirror/{_NUMBER}-{_NUMBER}
journal/sync
checkpoints/{_NUMBER}
"""
_REPOSITORY = rf"""
{_JOURNAL}
runs/{_ID}-\d+\.parquet
(meta)?ranges/[0-9a-f]{{64}}-\d+-[0-9a-f]{{16}}\.parquet
data/\d+-.+
workspaces/(\d+-.+|_committed/.+)
plans/.+
aliases/.+
hooks/[0-9a-f]{{14}}[0-9A-Za-z]{{10}}\.json
"""


def _pattern(lines: str) -> str:
    return "|".join(f"({line})" for line in lines.split() if line)


_OURS = re.compile(f"({_pattern(_LAKE)})|_lake/({_pattern(_JOURNAL)})|{_ID}/({_pattern(_REPOSITORY)})")


class FolderFiles(NamedTuple):
    """The files of one repository, or of the lake itself (`_lake`)."""

    folder: str
    table: pa.Table  # _SCHEMA, sorted by path

    def paths(self, prefix: str = "") -> list[str]:
        """Returns the paths below that folder of the repository."""
        column = self.table["path"]
        found: list[str] = column.filter(pc.starts_with(column, f"{self.folder}/{prefix}")).to_pylist()
        return found


class ListedFiles:
    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @classmethod
    async def listed(cls, store: Store, prefix: str = "") -> ListedFiles:
        batches = [batch async for batch in _batches(store, prefix)]
        return cls(pa.Table.from_batches(batches, _SCHEMA))

    def __len__(self) -> int:
        return len(self.table)

    def folders(self) -> list[str]:
        """Returns the first parts of all paths."""
        first = pc.list_element(pc.split_pattern(self.table["path"], "/", max_splits=1), 0)
        return sorted(pc.unique(first).to_pylist())

    def of(self, folder: str) -> FolderFiles:
        column = self.table["path"]
        return FolderFiles(folder, self.table.filter(pc.starts_with(column, f"{folder}/")))

    def foreign(self) -> pa.Table:
        """Returns the files that Lochan did not write."""
        ours = pc.match_substring_regex(self.table["path"], f"^(?:{_OURS.pattern})$")
        return self.table.filter(pc.invert(ours))


async def _batches(store: Store, prefix: str) -> AsyncIterator[pa.RecordBatch]:
    paths: list[str] = []
    sizes: list[int] = []
    times: list[float] = []
    async for stat in store.list(prefix):
        paths.append(stat.path)
        sizes.append(stat.size)
        times.append(stat.modified)
        if len(paths) == _BATCH:
            yield _batch(paths, sizes, times)
            paths, sizes, times = [], [], []
    if paths:
        yield _batch(paths, sizes, times)


def _batch(paths: list[str], sizes: list[int], times: list[float]) -> pa.RecordBatch:
    columns = [pa.array(paths, pa.string()), pa.array(np.array(sizes, np.int64)), pa.array(np.array(times))]
    return pa.record_batch(columns, schema=_SCHEMA)
