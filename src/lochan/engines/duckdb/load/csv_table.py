"""Reads CSV and TSV: the first line names the columns, and all values of a column have one kind.

The kind is that of all values, written as in JSON: bools (`true`, `false`), ints within 64 bits, or numbers that a
float represents exactly. Otherwise they are strings, which stay unchanged (007 stays 007). Nothing between two commas
is null, and nothing between two quotes is an empty string.

Everything is read as texts first, because the last line may have the only value that is not a number. Each batch of
texts is examined once (`ingest.text_columns`), which finds the kinds of nearly all columns. The engine finds the kinds
of the others, in a table of all texts.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from lochan.engines.duckdb.load.spilled_batches import SpilledBatches
from lochan.engines.duckdb.load.sql import text_sql
from lochan.engines.duckdb.session import DuckSession
from lochan.errors import Invalid
from lochan.ingest.streams import UnpackedStream
from lochan.ingest.tabular import BATCH_ROWS, batches_of
from lochan.ingest.text_columns import UNKNOWN, TextColumn
from lochan.ingest.text_kinds import NONE, as_kind, column_kind, common_kind
from lochan.pools.json_row import Fault, Faults, Row
from lochan.pools.kinds import BOOL, FLOAT, INT

_BLOCK_BYTES = 8 << 20
_HEADER_BYTES_MAX = 4 << 20
_COLUMNS_MAX = 1_000
_TABLE = "texts"
_TEXTS_SHARE = 16  # the texts may take this share of the memory, besides the memory of the engine
_INT = "-?(?:0|[1-9][0-9]*)"
_FLOAT = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_DIGITS = 15  # a float represents any decimal of so many digits,
_LEAST = 1e-300  # unless it is so close to zero that it has fewer bits
_EXACT_INT = 1 << 53
_KINDS = (BOOL, INT, FLOAT)
_FIRST_ROWS = 2_000


class CsvTable:
    """A table of CSV or TSV. Unless `typed`, all values stay texts."""

    def __init__(
        self,
        session: DuckSession,
        name: str,
        stream: UnpackedStream,
        delimiter: str,
        faults: Faults,
        *,
        typed: bool = True,
    ) -> None:
        self._typed = typed
        self._session = session
        self._name = name
        self._stream = stream
        self._delimiter = delimiter
        self._faults = faults
        self._bad: Invalid | None = None
        self.kept: list[Row] = []  # rows that replace faulty lines

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields all rows. Raises Invalid. If faulty lines are kept, they are in `kept` after the last batch."""
        names = self._header()
        if len(names) > _COLUMNS_MAX:
            yield from self._wide(names)
            return
        texts = SpilledBatches(Path(self._session.folder), "csv", self._session.limits.memory_bytes // _TEXTS_SHARE)
        try:
            columns = self._read(names, texts)
            if any(column.kind == UNKNOWN for column in columns):
                yield from self._by_engine(names, columns, texts)
                return
            for batch in texts:
                typed = [column.typed(values) for column, values in zip(columns, batch, strict=True)]
                yield from batches_of(pa.RecordBatch.from_arrays(typed, names))
        finally:
            texts.clear()
            pa.default_memory_pool().release_unused()

    def _read(self, names: list[str], into: SpilledBatches) -> list[TextColumn]:
        """Reads everything into `into`, and returns what is known about the columns."""
        columns = [TextColumn() for _ in names]
        try:
            with self._reader(names) as reader:
                for batch in reader:
                    into.add(batch)
                    for column, values in zip(columns, batch, strict=True) if self._typed else ():
                        column.see(values)
        except pa.ArrowInvalid as error:
            raise self._explained(error) from error
        return columns

    def _by_engine(
        self, names: list[str], columns: Sequence[TextColumn], texts: SpilledBatches
    ) -> Iterator[pa.RecordBatch]:
        try:
            self._fill(texts, names)
            selected = self._selected(columns)
            # This uses its own cursor, because the session inserts rows while this one is read.
            with self._session.connection.cursor() as cursor:
                for batch in cursor.sql(f"SELECT {selected} FROM {_TABLE}").to_arrow_reader(BATCH_ROWS):
                    yield batch.rename_columns(names)
        finally:
            self._session.execute(f"DROP TABLE IF EXISTS {_TABLE}")

    def _header(self) -> list[str]:
        head = self._stream.head_line(_HEADER_BYTES_MAX)
        if b"\n" not in head and len(head) >= _HEADER_BYTES_MAX:
            raise Invalid(
                f"{self._name}:1: the line with the columns' names has more than {_HEADER_BYTES_MAX >> 20} MiB",
                hint="nothing was loaded; is it CSV?",
            )
        text = head.decode("utf-8-sig", errors="replace")
        try:
            names = next(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter), None)
        except csv.Error as error:
            raise Invalid(f"{self._name}:1: {error}", hint="nothing was loaded") from error
        if not names:
            raise Invalid(f"{self._name}: there is no line with the columns' names", hint="nothing was loaded")
        if any("\ufffd" in name for name in names) and "\ufffd".encode() not in head:
            raise Invalid(f"{self._name}:1: the columns' names are not valid UTF-8", hint="nothing was loaded")
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if twice is not None:
            raise Invalid(f"{self._name}:1: the column {twice!r} occurs twice", hint="give each its own name")
        return names

    def _fill(self, texts: SpilledBatches, names: list[str]) -> None:
        """Makes a table of all texts. Its columns have numbers, because the engine needs a name for each, and treats
        `a` and `A` as one."""
        columns = [_column(at) for at in range(len(names))]
        schema = pa.schema([(column, pa.string()) for column in columns])
        renamed = pa.RecordBatchReader.from_batches(schema, (batch.rename_columns(columns) for batch in texts))
        with self._session.registered("csv", renamed):
            self._session.execute(f"CREATE TABLE {_TABLE} AS SELECT * FROM csv")

    def _reader(self, names: list[str]) -> pa_csv.CSVStreamingReader:
        return pa_csv.open_csv(
            pa.PythonFile(self._stream, "r"),
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=pa_csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=self._odd
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )

    def _wide(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a table with more columns than a table of the engine can have within its memory."""
        file = Path(self._session.folder) / "wide.arrow"
        kinds = [NONE] * len(names)
        try:
            with self._reader(names) as reader, pa.ipc.new_stream(str(file), reader.schema) as sink:
                for batch in reader:
                    if self._typed:
                        kinds = [
                            common_kind(kind, column_kind(column)) for kind, column in zip(kinds, batch, strict=True)
                        ]
                    sink.write_batch(batch)
        except pa.ArrowInvalid as error:
            raise self._explained(error) from error
        with pa.ipc.open_stream(str(file)) as stored:
            for batch in stored:
                columns = [as_kind(kind, column) for kind, column in zip(kinds, batch, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, names)
        file.unlink()

    def _odd(self, row: Any) -> str:
        """Handles a line that has more or fewer values than there are columns."""
        message = f"{row.actual_columns} values where there are {row.expected_columns} columns"
        try:
            kept = self._faults.meet(Fault(self._name, row.number or 0, 0, message, row.text))
        except Invalid as error:
            self._bad = error
            return "error"
        if kept is not None:
            self.kept.append(kept)
        return "skip"

    def _explained(self, error: Exception) -> Exception:
        if self._bad is not None:
            return self._bad
        if "straddling object" in str(error):
            return Invalid(
                f"{self._name}: a row of more than {_BLOCK_BYTES >> 20} MiB", hint="nothing was loaded; is it CSV?"
            )
        if isinstance(error, pa.ArrowInvalid):
            return Invalid(f"{self._name}: {str(error).partition(chr(10))[0]}", hint="nothing was loaded")
        return error

    def _selected(self, columns: Sequence[TextColumn]) -> str:
        """Returns the SQL of all columns, each with its kind. All values of a column have one kind, so the first rows
        rule out most kinds, and all other rows need not be tested for those. Ints are floats too, so the test for
        floats is made only where not all values are ints."""
        names = [_column(at) for at, column in enumerate(columns) if column.kind == UNKNOWN]
        first = self._kinds(dict.fromkeys(names, _KINDS), f"(SELECT * FROM {_TABLE} LIMIT {_FIRST_ROWS})")
        empty = {name for name in names if len(first[name]) == len(_KINDS)}
        found = self._kinds({name: first[name] if name in empty else first[name][:1] for name in names}, _TABLE)
        left = {name: first[name][1:] for name in names if not found[name]}
        found |= {name: kinds for name, kinds in self._kinds(left, _TABLE).items() if kinds}
        known = {_column(at): [column.kind] for at, column in enumerate(columns) if column.kind in _KINDS}
        return ", ".join(
            _typed_column(_column(at), {**known, **found}.get(_column(at), ())) for at in range(len(columns))
        )

    def _kinds(self, possible: Mapping[str, Sequence[str]], rows: str) -> dict[str, list[str]]:
        """Returns which of the possible kinds all of these rows have. A column without values has all of them."""
        tests = [f"count({name}) = {_count(kind, name)}" for name, kinds in possible.items() for kind in kinds]
        answers = iter(self._session.execute(f"SELECT {', '.join(tests)} FROM {rows}")[0] if tests else ())
        return {name: [kind for kind in kinds if next(answers)] for name, kinds in possible.items()}


def _column(at: int) -> str:
    return f"c{at}"


def _count(kind: str, column: str) -> str:
    """Returns the SQL for the number of values that have the kind. For floats it is NULL if there is an int that no
    float represents."""
    if kind == BOOL:
        return f"count(*) FILTER ({column} IN ('true', 'false'))"
    if kind == INT:
        return f"count(*) FILTER (TRY_CAST({column} AS BIGINT)::VARCHAR = {column})"
    large = f"bool_or(CASE WHEN {_comes_back(column)} THEN false ELSE {_is_large_int(column)} END)"
    return f"CASE WHEN {large} THEN NULL ELSE count(*) FILTER ({_is_float(column)}) END"


def _comes_back(column: str) -> str:
    """Returns the SQL that tests whether the engine writes the number in the same way. It writes no float as an int, so
    this one test is enough for most floats."""
    return f"TRY_CAST({column} AS DOUBLE)::VARCHAR = {column}"


def _is_float(column: str) -> str:
    """Returns the SQL that tests whether the text is a number that a float represents: it is written as the engine
    writes it, or has few digits."""
    digits = f"length(ltrim(regexp_replace(regexp_replace({column}, '[eE].*', ''), '[^0-9]', '', 'g'), '0'))"
    number = f"TRY_CAST({column} AS DOUBLE)"
    is_finite = f"isfinite({number})"
    is_near = f"({digits} = 0 OR (abs({number}) >= {_LEAST} AND {digits} <= {_DIGITS}))"
    few = f"regexp_full_match({column}, {text_sql(_FLOAT)}) AND {is_finite} AND {is_near}"
    return f"CASE WHEN {_comes_back(column)} THEN {is_finite} ELSE {few} END"


def _is_large_int(column: str) -> str:
    whole = f"CASE WHEN regexp_full_match({column}, {text_sql(_INT)}) THEN TRY_CAST({column} AS BIGINT) END"
    return f"abs(({whole})::HUGEINT) > {_EXACT_INT}"


def _typed_column(column: str, kinds: Sequence[str]) -> str:
    if not kinds or len(kinds) == len(_KINDS):  # its values are texts, or it has none at all
        return column
    if kinds[0] == BOOL:
        return f"{column} = 'true' AS {column}"
    return f"{column}::{'BIGINT' if kinds[0] == INT else 'DOUBLE'} AS {column}"
