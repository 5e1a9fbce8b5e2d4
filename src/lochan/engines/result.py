"""The rows of a query, as they come, in the form that is asked for; and what it took to make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from types import TracebackType
from typing import IO, Any

import pyarrow as pa

from lochan.pools.pruning import Skipped
from lochan.query.output import formats
from lochan.query.output.columns import Column
from lochan.query.output.formats import rows
from lochan.query.output.typed import typed_batches, typed_schema


@dataclass
class Stats:
    """Bytes are those of the objects' files; an engine reads less of them: only some columns, only some row groups."""

    engine: str
    objects: int = 0  # of all that the sources hold
    objects_read: int = 0
    bytes: int = 0
    bytes_read: int = 0
    rows_read: int = 0  # of the objects that were read
    rows: int = 0  # that came out so far
    skipped: list[Skipped] = field(default_factory=list)
    seconds: float = 0.0  # from the text to the last row, without the time that the reader took


class Result:
    """Its rows can be gone through once, in one of the ways below. Close it, or use it as a context, to free what it
    holds before they are at an end."""

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
        self.row = row  # how the columns become rows
        self.stats = stats
        self.warnings = warnings  # of what the rows lack
        self.cancel = cancel  # from any thread: whoever goes through the rows gets Cancelled
        self._batches = batches
        self._close = close
        self._boot = boot

    def __enter__(self) -> Result:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """May be called twice."""
        self._close()

    def wait(self) -> None:
        """Until the first rows are there, which can be read then as ever."""
        try:
            first = self._next()
        except BaseException:
            self.close()
            raise
        if first is not None:
            self._batches = chain([first], self._batches)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The engine's own columns; `row` tells what they are."""
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
        """What stands in its place once its rows were used: a row that tells of it."""
        done = iter([batch])
        return Result(
            row,
            done,
            self.stats,
            warnings=self.warnings,
            cancel=self.cancel,
            close=self._close,
            boot=self._boot,
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
        """A column for each field; one of several kinds, and what has no one type, is JSON text."""
        return pa.Table.from_batches(list(typed_batches(self.batches(), self.row)), typed_schema(self.row))

    def to_pandas(self) -> Any:
        """A DataFrame, where pandas is installed."""
        return self.to_arrow().to_pandas()
