"""Infers the shapes of rows that no known shape fits, one by one: exact but slow. The new shapes make the next rows
fast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.shape_proof import STYLES, style_of
from lochan.errors import Invalid
from lochan.formats.pool_settings import Path
from lochan.ingest.lines import Lines
from lochan.pools.json_row import BadRow, Fault, Faults, Row, read_row, row_text, shape_of
from lochan.pools.kinds import ARRAY, JSON, OBJECT
from lochan.pools.layout import Layout, Member
from lochan.pools.shape import Object, kind_of


class InferredRow(NamedTuple):
    row: Row
    shape: Object
    text: str


class ShapeInference:
    def __init__(self, known: KnownShapes, faults: Faults, times: Collection[Path]) -> None:
        self._known = known
        self._faults = faults
        self._times = times

    def infer(self, lines: Lines, numbers: Iterable[int]) -> list[InferredRow]:
        """Infers the rows with these numbers. Raises Invalid for a fault, if faults end the load. It ignores blank
        lines."""
        rows = (self._row(lines, number) for number in numbers)
        return [row for row in rows if row is not None]

    def peek(self, lines: Lines, numbers: Iterable[int]) -> list[InferredRow]:
        """Infers a sample of rows that will be read again, so faults are ignored."""
        found = []
        for number in numbers:
            text = lines.bytes_of(number).decode(errors="replace")
            with suppress(BadRow):
                row = read_row(text)
                found.append(InferredRow(row, shape_of(row, self._times), text))
        return found

    def infer_rows(self, rows: Iterable[Row]) -> list[InferredRow]:
        """Infers rows. Raises Invalid if one of them is not a row, or has a value that no row can have."""
        return [InferredRow(row, self._shape(row), "") for row in rows]

    def _shape(self, row: Row) -> Object:
        try:
            return shape_of(row, self._times)
        except (TypeError, AssertionError) as error:
            why = str(error) or "it has no names of fields"
            raise Invalid(f"{str(row)[:80]} is not a row: {why}", hint="nothing was loaded") from None

    def learn(self, inferred: Sequence[InferredRow]) -> None:
        for each in inferred:
            if each.shape not in self._known.styles:
                self._known.styles[each.shape] = style_of(each.row, each.text) or STYLES[0]
        self._known.add(Counter(each.shape for each in inferred))

    def _row(self, lines: Lines, number: int) -> InferredRow | None:
        data = lines.bytes_of(number)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            text = data.decode(errors="replace")
            return self._met(lines, number, "not valid UTF-8", error.start + 1, text)
        if not text.strip(" \t\r\n"):
            return None
        try:
            row = read_row(text)
            return InferredRow(row, shape_of(row, self._times), text)
        except BadRow as error:
            return self._met(lines, number, error.message, error.column, text)

    def _met(self, lines: Lines, number: int, message: str, column: int, text: str) -> InferredRow | None:
        row = self._faults.meet(Fault(lines.name, lines.line_of(number), column, message, text))
        return None if row is None else InferredRow(row, shape_of(row, self._times), "")


def engine_text(inferred: InferredRow, layout: Layout) -> str:
    """Returns the row as `LayoutColumns(texts=True)` reads it."""
    if inferred.text and not _has_texts(inferred.shape, layout.members):
        return inferred.text
    return row_text(_engine_row(inferred.row, inferred.shape, layout.members))


def _has_texts(shape: Object, members: Iterable[Member]) -> bool:
    by_name = {member.name: member for member in members}
    for name, type in shape.fields:
        member, kind = by_name[name], kind_of(type)
        if (kind in (OBJECT, ARRAY, JSON) and member.alternate(kind) is None) or kind == JSON:
            return True
        inner = member.alternate(OBJECT)
        if isinstance(type, Object) and inner and _has_texts(type, inner.members):
            return True
    return False


def _engine_row(row: Row, shape: Object, members: Iterable[Member]) -> dict[str, Any]:
    by_name = {member.name: member for member in members}
    made: dict[str, Any] = {}
    for name, type in shape.fields:
        value, member, kind = row[name], by_name[name], kind_of(type)
        inner = member.alternate(OBJECT)
        if isinstance(type, Object) and inner:
            made[name] = _engine_row(value, type, inner.members)
        elif kind == JSON or (kind in (OBJECT, ARRAY) and member.alternate(kind) is None):
            made[name] = row_text(value)
        else:
            made[name] = _name_special(value)
    return made


def _name_special(value: Any) -> Any:
    """Replaces NaN and infinities, which JSON does not have. The engine reads them from a text where it expects a
    double."""
    match value:
        case float() if not isfinite(value):
            return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
        case list():
            return [_name_special(each) for each in value]
        case dict():
            return {name: _name_special(each) for name, each in value.items()}
    return value
