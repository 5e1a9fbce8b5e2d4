"""The result of a query: its rows in several forms, read on demand, and its statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any

import pyarrow as pa

from lochan.pools.pruning import Skipped
from lochan.query.output import formats
from lochan.query.output.columns import Column
from lochan.query.output.formats import rows
from lochan.query.output.typed import typed_batches, typed_schema


@dataclass
class Stats:
    """Bytes are those of whole files; an engine reads only some columns and row groups of them."""

    engine: str
    objects: int = 0  # in all sources
    objects_read: int = 0
    bytes: int = 0
    bytes_read: int = 0
    rows_read: int = 0  # in the objects that were read
    rows: int = 0  # returned so far
    skipped: list[Skipped] = field(default_factory=list)
    seconds: float = 0.0  # from the text to the last row, without the caller's time


class Result:
    """The rows can be read once, by one of the methods below. Close it, or use it as a context, to free its resources
    before the last row."""

    def __init__(
        self,
        row: Column,
        batches: Iterator[pa.RecordBatch],
        stats: Stats,
        *,
        warnings: list[str],
        cancel: Callable[[], None],
        close: Callable[[], None],
        boot: Callable[[], float],
    ) -> None:
        self.row = row  # how columns become rows
        self.stats = stats
        self.warnings = warnings  # such as objects that are missing
        self.cancel = cancel  # from any thread: reading the rows then raises Cancelled
        self._batches = batches
        self._close = close
        self._boot = boot

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """May be called twice."""
        self._close()

    def wait(self) -> None:
        """Waits for the first rows. They can still be read afterwards."""
        try:
            first = self._next()
        except BaseException:
            self.close()
            raise
        if first is not None:
            self._batches = chain([first], self._batches)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The engine's own columns, which `row` describes."""
        try:
            while (batch := self._next()) is not None:
                self.stats.rows += batch.num_rows
                yield batch
        finally:
            self.close()

    def _next(self) -> pa.RecordBatch | None:
        begun = self._boot()
        batch = next(self._batches, None)
        self.stats.seconds += self._boot() - begun
        return batch

    def replaced(self, row: Column, batch: pa.RecordBatch) -> Result:
        """The result that replaces this one once its rows were used: a row that describes it."""
        done = iter([batch])
        return Result(
            row, done, self.stats, warnings=self.warnings, cancel=self.cancel, close=self._close, boot=self._boot
        )

    def rows(self) -> Iterator[Any]:
        """Python values, as a JSON reader gives them."""
        for batch in self.batches():
            yield from rows(batch, self.row)

    def ndjson(self) -> Iterator[bytes]:
        """Many rows at a time."""
        return formats.ndjson(self.batches(), self.row)

    def write(self, form: str, sink: IO[bytes]) -> None:
        """As ndjson, json, csv, text, parquet or arrow."""
        formats.write(form, self.batches(), self.row, sink)

    def to_arrow(self) -> pa.Table:
        """A column for each field. A field of several kinds, or without a single type, is JSON text."""
        return pa.Table.from_batches(list(typed_batches(self.batches(), self.row)), typed_schema(self.row))

    def to_pandas(self) -> Any:
        """A DataFrame. Needs pandas."""
        return self.to_arrow().to_pandas()
