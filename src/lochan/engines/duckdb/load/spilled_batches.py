"""Record batches that are kept until all of them have been seen: in memory, and beyond a limit in files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa


class SpilledBatches:
    """Batches that all have one schema. `name` is that of their files, which `clear` removes."""

    def __init__(self, folder: Path, name: str, bytes_max: int) -> None:
        self._folder = folder
        self._name = name
        self._bytes_max = bytes_max
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._files: list[Path] = []

    def add(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._size += batch.nbytes
        if self._size > self._bytes_max:
            self._spill()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yields the batches in the order in which they were added."""
        for file in self._files:
            with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as stored:
                yield from stored
        yield from self._held

    def clear(self) -> None:
        for file in self._files:
            file.unlink(missing_ok=True)
        self._files, self._held, self._size = [], [], 0

    def _spill(self) -> None:
        file = self._folder / f"{self._name}{len(self._files)}.arrow"
        self._files.append(file)
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, self._held[0].schema) as out:
            for batch in self._held:
                out.write_batch(batch)
        self._held, self._size = [], 0
