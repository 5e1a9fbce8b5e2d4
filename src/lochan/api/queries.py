"""Queries for servers and programs: their options and results, running them, their errors, and the words of the
language."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from lochan.api.options import EngineOptions, QueryOptions
from lochan.engines.duckdb.limits import Cancelled, LimitReached, OutOfTime, cancelled_error, format_size, out_of_time
from lochan.engines.spark.errors import SparkEnded

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.api.session import Session
    from lochan.engines.result import Result as Result
    from lochan.engines.result import Stats as Stats
    from lochan.engines.row_diff.result import RowChange as RowChange
    from lochan.engines.row_diff.result import RowDiff as RowDiff
    from lochan.engines.run_query import RunOptions
    from lochan.engines.spark.progress import Listener
    from lochan.lake import Lake


__all__ = [
    "Cancelled",
    "LimitReached",
    "OutOfTime",
    "SparkEnded",
    "StageCount",
    "cancelled_error",
    "check_ref",
    "format_size",
    "functions",
    "is_sql",
    "operators",
    "out_of_time",
    "run_options",
    "run_query",
    "table_pages",
    "warm_up",
]


class StageCount(Protocol):
    """The progress of a stage of Spark, in tasks."""

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


async def run_query(lake: Lake, text: str, options: RunOptions | None = None) -> Result:
    """Runs a query on the current snapshot. Raises QueryError, Gone, Refused."""
    from lochan.engines.run_query import RunOptions, run_query

    return await run_query(lake.queries(), text, options or RunOptions())


def run_options(
    session: Session,
    text: str,
    options: EngineOptions,
    pool: str = "",
    key: str = "",
    progress: Listener | None = None,
) -> RunOptions:
    from lochan.engines.run_query import RunOptions
    from lochan.formats.usage import QUERY

    chosen = RunOptions(
        current=pool,
        engine=options.engine,
        limits=options.limits,
        go_on=options.skip_missing,
        actor=session.acting(key, "query", text),
        spark=session.spark(options.master),
        watch=progress,
        note=partial(session.note_read, QUERY),
    )
    if not isinstance(options, QueryOptions):
        return chosen
    return chosen._replace(
        ref=options.ref,
        reads_only=options.reads_only,
        permits=options.permits or chosen.permits,
        alive=options.alive or chosen.alive,
        spark=options.spark or chosen.spark,
    )


def is_sql(text: str) -> bool:
    from lochan.query.syntax.tokens import is_sql

    return is_sql(text)


def check_ref(text: str) -> None:
    """Checks the text after an @: a branch, a tag, a commit, or `{a time}`. Raises Invalid."""
    from lochan.versioning.uri import parse_ref

    parse_ref(f"main@{text}" if text.startswith("{") else text)


def warm_up() -> None:
    """Starts the process that the first query of files would wait for. Raises Refused if it cannot be started."""
    from lochan.engines.duckdb.load.decode import warm

    warm()


def table_pages(result: Result) -> Iterator[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """Yields the rows as texts for a table, page by page: the names of columns, and the cells."""
    from lochan.query.output.formats import table_pages as pages

    return pages(result.batches(), result.row)


def operators() -> list[str]:
    from lochan.query.syntax.parse import OPERATORS

    return list(OPERATORS)


def functions() -> list[str]:
    """Returns the names of all functions, including aggregates."""
    from lochan.query.functions import AGGREGATES, FUNCTIONS

    return [*AGGREGATES, *FUNCTIONS]


# The rows of a result as pieces of bytes, in the requested form.


PIECE_BYTES = 1 << 20
_SLICE_BYTES = 256 << 10  # of rows in memory, which are several times as large as text
Put = Callable[[bytes], None]
Count = Callable[[int], None]


def write_rows(result: Result, form: str, limit: int | None, put: Put, count: Count) -> None:
    """Writes all rows, or at most `limit` of them; `count` is called with the number of rows that were written. After
    an error, the output ends in the middle of the form, never with its last bytes."""
    from lochan.query.output import formats

    if form not in formats.TEXTS:
        sink = _Sink(put)
        formats.write(form, sink.until_broken(_limit_rows(result.batches(), limit, count)), result.row, sink)
        sink.end()
        return
    rows = _slice_batches(_limit_rows(result.batches(), limit, count))
    for piece in formats.TEXTS[form](rows, result.row):
        put(piece)


def _limit_rows(batches: Iterator[pa.RecordBatch], limit: int | None, count: Count) -> Iterator[pa.RecordBatch]:
    left = limit
    if left == 0:
        return
    for batch in batches:
        part = batch if left is None else batch.slice(0, left)
        yield part
        count(part.num_rows)
        if left is not None:
            left -= part.num_rows
            if not left:
                return


def _slice_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = max(1, _SLICE_BYTES * batch.num_rows // max(batch.nbytes, 1))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


class _Sink(io.BytesIO):
    """A file for writers that need one. It keeps nothing."""

    def __init__(self, put: Put) -> None:
        super().__init__()
        self._put = put
        self._held = bytearray()
        self._broken = False

    def until_broken(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the batches. A writer that is closed by an error writes an end that must not get out. Rows that were
        written do not wait for the next ones."""
        try:
            for batch in batches:
                yield batch
                self.end()
        except BaseException:
            self._broken = True
            raise

    def write(self, data: Any, /) -> int:
        if not self._broken:
            self._held += data
            while len(self._held) >= PIECE_BYTES:
                self._put(bytes(self._held[:PIECE_BYTES]))
                del self._held[:PIECE_BYTES]
        return len(data)

    def end(self) -> None:
        if self._held:
            self._put(bytes(self._held))
            self._held.clear()
