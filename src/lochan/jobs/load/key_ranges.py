"""Finds the part of the key that each row belongs to, by the engine and for many rows at a time.

A row's key is made into bytes that compare as keys do, or are equal where these nearly are: by kind, then by value.
Rows whose bytes are equal go together, so parts do not overlap; only the rows of a key that is larger than a part are
distributed to several. Where the bytes order keys otherwise than the pool does (a text that would be a time if it had
no offset, a key that is not a scalar) parts may overlap; the rows are the same."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.engines.duckdb.load.read_input import LINE, Chunk, PlainLines
from lochan.engines.duckdb.load.sql import text_sql
from lochan.engines.duckdb.session import DuckSession
from lochan.formats.pool_settings import Path, PoolKey, PoolSettings
from lochan.ingest.lines import Lines
from lochan.jobs.load.reservoir import mix_numbers
from lochan.pools.json_row import BadRow, Row, row_text

Parts = npt.NDArray[np.int32]

_BOOL, _NUMBER, _TIME, _STRING, _OTHER = 1, 2, 3, 4, 5
_NOTHING = ("NULL::INTEGER", "NULL::DOUBLE", "NULL::VARCHAR")
Value = tuple[str, str, str]  # SQL of the class, a number, a text


class KeyRanges:
    def __init__(self, session: DuckSession, settings: PoolSettings) -> None:
        self._session = session
        self._settings = settings

    def keys(self, chunk: Chunk) -> tuple[npt.NDArray[np.int64], list[bytes]]:
        """Returns the numbers in the chunk, and the keys, of all rows that can be read, in any order."""
        found = self._select_columns(chunk, "n, k")
        return found["n"].to_numpy(), found["k"].to_pylist()

    def parts(self, chunk: Chunk, bounds: Sequence[bytes]) -> Parts:
        """Returns, for each row, how many of the bounds are not greater than its key. A bound that occurs several times
        stands for a key of very many rows: their positions decide between its parts, so that a task that is tried again
        sends each row to the same part. A row that cannot be read has part 0.

        It uses a binary search for each key, because SQL would compare a row with a tree of all bounds: 100,000 rows
        and 4,096 bounds took 1.1 s of a processor as SQL, and 0.04 s as a search, as little as with arrays of NumPy."""
        numbers, keys = self.keys(chunk)
        parts = np.zeros(size_of(chunk), dtype=np.int32)
        parts[numbers] = np.fromiter((bisect_right(bounds, key) for key in keys), np.int32, len(keys))
        shares = {key: count for key, count in Counter(bounds).items() if count > 1}
        if shares:
            turns = np.fromiter((shares.get(key, 1) for key in keys), np.uint64, len(keys))
            parts[numbers] -= (mix_numbers(_positions(chunk)[numbers]) % turns).astype(np.int32)
        return parts

    def _select_columns(self, chunk: Chunk, what: str) -> pa.Table:
        """Selects columns of all rows that can be read."""
        table, is_json = self._table(chunk)
        with self._session.registered("keyed", table):
            if not is_json:
                return self._session.table(f"SELECT {what} FROM ({self._of_columns(table.schema)})")
            try:
                return self._session.table(f"SELECT {what} FROM ({self._of_texts('')})")
            except duckdb.InvalidInputException:  # one of the rows is not JSON
                return self._session.table(f"SELECT {what} FROM ({self._of_texts('WHERE json_valid(line)')})")

    def _table(self, chunk: Chunk) -> tuple[pa.Table, bool]:
        """Returns a table with the number of each row as `n`, and whether the rows are JSON texts."""
        match chunk:
            case Lines():
                numbers, texts = _readable_lines(chunk)
                return pa.table({"n": numbers, "line": texts}), True
            case PlainLines(lines):
                numbers, texts = _readable_lines(lines)
                batch = pa.RecordBatch.from_arrays([texts], [LINE])
                return self._columns(batch, numbers), False
            case pa.RecordBatch():
                return self._columns(chunk, np.arange(chunk.num_rows)), False
            case rows:
                texts = pa.array(map(self._text, rows), pa.string())
                return pa.table({"n": np.arange(len(rows)), "line": texts}), True

    def _text(self, row: Row) -> str:
        """Returns the text of the fields that the key needs."""
        names = {key.path[0] for key in self._settings.keys if key.path} or row.keys()
        try:
            return row_text({name: row[name] for name in row if name in names})
        except BadRow:  # not a number
            return "{}"

    def _columns(self, batch: pa.RecordBatch, numbers: npt.NDArray[np.int64]) -> pa.Table:
        """Returns the columns that the key needs, by the numbers of its parts."""
        columns = {"n": pa.array(numbers)}
        for number, key in enumerate(self._settings.keys):
            if not key.path:
                names = [str(each) for each in range(batch.num_columns)]
                columns[f"k{number}"] = pa.StructArray.from_arrays(batch.columns, names)
            elif key.path[0] in batch.schema.names:
                columns[f"k{number}"] = batch.column(key.path[0])
        return pa.table(columns)

    def _of_texts(self, where: str) -> str:
        keys = self._settings.keys
        read = "".join(
            f", json_extract(line, {text_sql(pointer(key.path))})::VARCHAR AS k{number}"
            for number, key in enumerate(keys)
            if key.path
        )
        values = [_of_json(f"k{number}", key, self._is_time(key)) for number, key in enumerate(keys)]
        return self._sql(values, f"(SELECT n, line{read} FROM keyed {where})")

    def _of_columns(self, schema: pa.Schema) -> str:
        values = []
        for number, key in enumerate(self._settings.keys):
            found = _column(schema, f"k{number}", key.path[1:])
            values.append(_NOTHING if found is None else _typed_value(*found, is_time=self._is_time(key)))
        return self._sql(values, "keyed")

    def _sql(self, values: Sequence[Value], rows: str) -> str:
        selected, terms = [], []
        for number, (value, key) in enumerate(zip(values, self._settings.keys, strict=True)):
            names = [f"{name}{number}" for name in "cvs"]
            selected += [f"{sql} AS {name}" for sql, name in zip(value, names, strict=True)]
            terms += [f"{name}, '{self._way(key)}'" for name in names]
        return f"SELECT n, create_sort_key({', '.join(terms)}) AS k FROM (SELECT n, {', '.join(selected)} FROM {rows})"

    def _is_time(self, key: PoolKey) -> bool:
        return key.path in self._settings.times

    def _way(self, key: PoolKey) -> str:
        nulls = "FIRST" if self._settings.nulls_first != key.descending else "LAST"
        return f"{'DESC' if key.descending else 'ASC'} NULLS {nulls}"


def bounds_of(weights: Mapping[bytes, float], count: int) -> list[bytes]:
    """Returns bounds that cut keys into about `count` parts of the same weight. A key that weighs as much as a part has
    a part of its own. A key that weighs as much as several has several, and is repeated in the bounds."""
    if count == 1:
        return []
    each = sum(weights.values()) / count
    bounds: list[bytes] = []
    held = 0.0
    for key in sorted(weights):
        weight = weights[key]
        if weight >= each:
            bounds += [*[key] * round(weight / each), key + b"\0"]
            held = 0.0
            continue
        if held + weight / 2 >= each:
            bounds.append(key)
            held -= each
        held += weight
    return bounds


def size_of(chunk: Chunk) -> int:
    match chunk:
        case Lines(texts=texts) | PlainLines(Lines(texts=texts)):
            return len(texts)
        case pa.RecordBatch():
            return int(chunk.num_rows)
        case rows:
            return len(rows)


def _positions(chunk: Chunk) -> npt.NDArray[np.uint64]:
    """Returns the positions of rows in their input. They do not depend on how the input was cut into chunks, if each
    row is a line. All rows of a JSON array may be on one line; then their order in the chunk is added."""
    found = chunk.lines if isinstance(chunk, PlainLines) else chunk
    order = np.arange(size_of(chunk), dtype=np.uint64)
    if not isinstance(found, Lines) or found.places is None:
        return order
    places = found.places.astype(np.uint64)
    return places if len(np.unique(places)) == len(places) else places + order


def pointer(path: Path) -> str:
    """Returns the path as a JSON Pointer, which can contain any name."""
    return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in path)


def _readable_lines(lines: Lines) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Returns the lines that are UTF-8, with their numbers."""
    numbers = np.arange(len(lines.texts))
    if lines.valid:
        return numbers, lines.texts
    numbers = np.array([number for number in range(len(numbers)) if _is_text(lines.bytes_of(number))], dtype=np.int64)
    return numbers, lines.taken(numbers).texts


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _of_json(value: str, key: PoolKey, is_time: bool) -> Value:
    if not key.path:
        return str(_OTHER), "hash(line)::DOUBLE", "NULL::VARCHAR"
    first = f"left({value}, 1)"
    text = f"CASE WHEN {first} = '\"' THEN {value} ->> '$' END"
    kind = (
        f"CASE WHEN {value} IS NULL THEN NULL ELSE CASE {first} WHEN '\"' THEN {_STRING} WHEN 't' THEN {_BOOL} "
        f"WHEN 'f' THEN {_BOOL} WHEN 'n' THEN NULL WHEN '{{' THEN {_OTHER} WHEN '[' THEN {_OTHER} "
        f"ELSE {_NUMBER} END END"
    )
    amount = (
        f"CASE {first} WHEN 't' THEN 1 WHEN 'f' THEN 0 WHEN '\"' THEN NULL WHEN '{{' THEN NULL WHEN '[' THEN NULL "
        f"ELSE TRY_CAST({value} AS DOUBLE) END"
    )
    other = f"CASE WHEN {first} IN ('\"', '{{', '[') THEN coalesce({text}, {value}) END"
    return _time_value(kind, amount, other) if is_time else (kind, amount, other)


def _time_value(kind: str, amount: str, text: str) -> Value:
    """Returns the value, with texts that are times converted to times."""
    time = f"epoch_us(TRY_CAST({text} AS TIMESTAMPTZ))::DOUBLE"
    is_time = f"({kind}) = {_STRING} AND {time} IS NOT NULL"
    return (
        f"CASE WHEN {is_time} THEN {_TIME} ELSE {kind} END",
        f"CASE WHEN ({kind}) = {_STRING} THEN {time} ELSE {amount} END",
        f"CASE WHEN {is_time} THEN NULL ELSE {text} END",
    )


def _column(schema: pa.Schema, name: str, path: Path) -> tuple[str, pa.DataType] | None:
    at = schema.get_field_index(name)
    if at < 0:
        return None
    sql, type = name, schema.field(at).type
    for inner in path:
        if not pa.types.is_struct(type) or type.get_field_index(inner) < 0:
            return None
        sql, type = f"struct_extract({sql}, {text_sql(inner)})", type.field(inner).type
    return sql, type


def _typed_value(sql: str, type: pa.DataType, *, is_time: bool) -> Value:
    types = pa.types
    if types.is_dictionary(type):
        type = type.value_type
    there = f"CASE WHEN {sql} IS NULL THEN NULL ELSE {{}} END"
    if types.is_boolean(type):
        return there.format(_BOOL), f"{sql}::INTEGER::DOUBLE", "NULL::VARCHAR"
    if types.is_integer(type) or types.is_floating(type) or types.is_decimal(type) or types.is_duration(type):
        value = f"epoch({sql})" if types.is_duration(type) else f"{sql}::DOUBLE"
        return there.format(_NUMBER), value, "NULL::VARCHAR"
    if types.is_timestamp(type) or types.is_date(type):
        return there.format(_TIME), f"epoch_us({sql}::TIMESTAMPTZ)::DOUBLE", "NULL::VARCHAR"
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type) or types.is_time(type):
        found = there.format(_STRING), "NULL::DOUBLE", f"{sql}::VARCHAR"
        return _time_value(*found) if is_time else found
    if types.is_binary(type) or types.is_large_binary(type) or types.is_fixed_size_binary(type):
        return there.format(_STRING), "NULL::DOUBLE", f"base64({sql})"
    if types.is_null(type):
        return _NOTHING
    return there.format(_OTHER), f"hash({sql})::DOUBLE", "NULL::VARCHAR"
