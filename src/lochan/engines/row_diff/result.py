"""The result of comparing rows: how many differ, the first of them, and all of them as columns.

change · times       added, removed or changed; how often (1 where rows have a key)
key                  {"id":7}, NULL where whole rows are compared
before · after       the row on the left and on the right; NULL if there is none
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from lochan.engines.row_diff.sides import LEFT, RIGHT, Sides
from lochan.engines.row_diff.statements import ADDED, CHANGED, KEYLESS, REMOVED
from lochan.errors import Invalid
from lochan.pools.json_row import BadRow, read_value
from lochan.query.output.arrow_forms import ArrowForms

SAMPLE = 20  # the default number of rows
SCHEMA = pa.schema(
    [
        pa.field("change", pa.string()),
        pa.field("times", pa.int64()),
        pa.field("key", pa.string()),
        pa.field("before", pa.string()),
        pa.field("after", pa.string()),
        pa.field("lefts", pa.int64()),
        pa.field("rights", pa.int64()),
    ]
)


class RowChange(NamedTuple):
    """One change. Its rows are the texts that were compared: names in order, with the words NaN, Infinity and
    -Infinity."""

    change: str
    times: int
    key: str | None
    before: str | None
    after: str | None

    def record(self) -> dict[str, Any]:
        """Returns the change with its rows as values."""
        values = {name: _value(text) for name, text in zip(self._fields[2:], self[2:], strict=True)}
        return {"change": self.change, "times": self.times, **values}


class ObjectsRead(NamedTuple):
    """The data that a comparison reads: objects of each side, and the bytes of both."""

    left: int
    right: int
    bytes: int


@dataclass
class RowDiff(ArrowForms):
    """The result of a comparison. Close it, or use it as a context, to free its resources. `batches` can be called
    several times."""

    sides: Sides
    engine: str
    counts: Mapping[str, int]
    sample: Sequence[RowChange]
    batches: Callable[[], Iterator[pa.RecordBatch]] = field(repr=False)
    _close: Callable[[], None] = field(repr=False)
    frame: Any = None  # on Spark: the whole result as a DataFrame
    read: ObjectsRead | None = None

    def __post_init__(self) -> None:
        if self.read is None:
            left, right = self.sides.entries
            self.read = ObjectsRead(len(left), len(right), self.sides.size_bytes)

    @property
    def added(self) -> int:
        return self.counts.get(ADDED, 0)

    @property
    def removed(self) -> int:
        return self.counts.get(REMOVED, 0)

    @property
    def changed(self) -> int:
        """The number of rows with the same key and other values; 0 if whole rows are compared."""
        return self.counts.get(CHANGED, 0)

    @property
    def same(self) -> bool:
        return not (self.added or self.removed or self.changed)

    def arrow_reader(self) -> pa.RecordBatchReader:
        """Returns all changes, with the columns above."""
        return pa.RecordBatchReader.from_batches(SCHEMA, (batch.cast(SCHEMA) for batch in self.batches()))

    def record(self) -> dict[str, Any]:
        """Returns the counts and the sample, for JSON."""
        assert self.read is not None
        return {
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed,
            "read": self.read._asdict(),
            "engine": self.engine,
            "rows": [each.record() for each in self.sample],
        }

    def _repr_html_(self) -> str:
        from lochan.notebook.html import HtmlRow, table

        counts = f"{self.added:,} added, {self.removed:,} removed, {self.changed:,} changed"
        rows = [
            HtmlRow((each.change, each.times, each.key, each.before, each.after), each.change) for each in self.sample
        ]
        more = self.added + self.removed + self.changed > sum(each.times for each in self.sample)
        return table(("", "times", "key", "before", "after"), rows, caption=counts, note="a sample" if more else "")

    def close(self) -> None:
        """Frees the resources. Calling it again does nothing."""
        self._close()

    def __enter__(self) -> RowDiff:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_keys(sides: Sides, wrong: Iterable[Sequence[Any]]) -> None:
    """Raises Invalid for the first row of `statements.wrong`."""
    for change, key, line, lefts, rights in wrong:
        hint = "name fields that identify rows with --key, or compare whole rows with --no-key"
        if change == KEYLESS:
            side, count = (LEFT, lefts) if lefts else (RIGHT, rights)
            rows = f"{count:,} row{'' if count == 1 else 's'} of {sides.name(side)}"
            lack, have = ("lacks", "has") if count == 1 else ("lack", "have")
            raise Invalid(f"{rows} {lack} the key {sides.key_text}, or {have} null in it, such as {line}", hint=hint)
        side, count = (LEFT, lefts) if lefts > 1 else (RIGHT, rights)
        raise Invalid(f"{count:,} rows of {sides.name(side)} have the key {key}", hint=hint)


def _value(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return read_value(text)
    except BadRow:  # a row has NaN in it, which JSON does not have
        return json.loads(text, parse_constant=lambda _: None)
