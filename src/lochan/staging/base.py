"""What lies below the staged layers: a commit's tree, or anything else that answers like one."""

from collections.abc import AsyncIterator
from typing import Protocol

import pyarrow as pa

from lochan.formats.entry import Entry


class Base(Protocol):
    async def get(self, path: str) -> Entry | None: ...

    def scan(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.RecordBatch]:
        """The entries whose path begins with `prefix` and is greater than `after`, in path order, as batches of
        ENTRY_SCHEMA that are read one by one."""


class Nothing:
    """A branch without a commit."""

    async def get(self, path: str) -> Entry | None:
        return None

    async def scan(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.RecordBatch]:
        return
        yield  # what makes it a generator
