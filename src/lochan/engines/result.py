"""The result of a query: its rows in several forms, read on demand, and its statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any

import pyarrow as pa

from lochan.errors import Refused
from lochan.pools.pruning import Skipped
from lochan.query.output import formats
from lochan.query.output.arrow_forms import ArrowForms
from lochan.query.output.columns import Column
from lochan.query.output.formats import rows
from lochan.query.output.typed import typed_batch, typed_batches, typed_schema

_SHOWN_MAX = 20  # rows that a notebook shows


@dataclass
class Stats:
    """The statistics of a query. Bytes are those of whole files; an engine reads only some columns and row groups of
    them."""

    engine: str
    objects: int = 0  # objects in all sources
    objects_read: int = 0
    bytes: int = 0
    bytes_read: int = 0
    rows_read: int = 0  # rows in the objects that were read
    rows: int = 0  # rows that were returned so far
    skipped: list[Skipped] = field(default_factory=list)
    seconds: float = 0.0  # seconds from the text to the last row, without the caller's time


class Result(ArrowForms):
    """The result of a query. The rows can be read once, by one of the methods below. Close it, or use it as a context,
    to free its resources before the last row."""

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
        self.row = row  # describes how columns become rows
        self.stats = stats
        self.warnings = warnings  # such as objects that are missing
        self.cancel = cancel  # can be called from any thread; reading the rows then raises Cancelled
        self._batches = batches
        self._close = close
        self._boot = boot

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees the resources. Calling it again does nothing."""
        self._close()

    def wait(self) -> None:
        """Waits for the first rows. They can still be read afterwards."""
        self._peek()

    def _peek(self) -> pa.RecordBatch | None:
        try:
            first = self._next()
        except BaseException:
            self.close()
            raise
        if first is not None:
            self._batches = chain([first], self._batches)
        return first

    def __repr__(self) -> str:
        try:
            names = ", ".join(name for name, _ in formats.fields(self.row))
        except Refused:  # its rows are not objects
            names = "values"
        return f"<Result of {self.stats.engine}: {names}>"

    def _repr_html_(self) -> str | None:
        """Returns the first rows, which can still be read afterwards. Returns None if they were read before, or make no
        table."""
        from lochan.notebook.html import HtmlRow, table

        first = self._peek()
        if first is None and self.stats.rows:
            return None
        try:
            names = typed_schema(self.row).names
            shown = [] if first is None else typed_batch(first.slice(0, _SHOWN_MAX), self.row).to_pylist()
        except Refused:
            return None
        more = first is not None and first.num_rows > _SHOWN_MAX
        note = f"the first {_SHOWN_MAX} rows; there are more" if more else "" if shown else "no rows"
        return table(names, [HtmlRow([each[name] for name in names]) for each in shown], note=note)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the engine's own columns, which `row` describes."""
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
        """Returns the result that replaces this one once its rows were used: a row that describes it."""
        done = iter([batch])
        return Result(
            row, done, self.stats, warnings=self.warnings, cancel=self.cancel, close=self._close, boot=self._boot
        )

    def rows(self) -> Iterator[Any]:
        """Yields Python values, as a JSON reader gives them."""
        for batch in self.batches():
            yield from rows(batch, self.row)

    def ndjson(self) -> Iterator[bytes]:
        """Yields the rows as NDJSON, many rows at a time."""
        return formats.ndjson(self.batches(), self.row)

    def write(self, form: str, sink: IO[bytes]) -> None:
        """Writes the rows as ndjson, json, csv, text, parquet or arrow."""
        formats.write(form, self.batches(), self.row, sink)

    def __iter__(self) -> Iterator[Any]:
        return self.rows()

    def arrow_reader(self) -> pa.RecordBatchReader:
        """Returns the rows as typed columns, batch by batch as they are read. A field of several kinds, or without a
        single type, is JSON text."""
        return pa.RecordBatchReader.from_batches(typed_schema(self.row), typed_batches(self.batches(), self.row))
