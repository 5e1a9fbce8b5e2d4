"""The core of a load: takes rows in, and writes files of data objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lochan.engines.duckdb.load.held_rows import ShapedRows
from lochan.engines.duckdb.load.key_order import Order
from lochan.engines.duckdb.load.known_shapes import KnownShapes
from lochan.engines.duckdb.load.objects import Objects, WrittenObject
from lochan.engines.duckdb.load.relation import StagedRelation, relations
from lochan.engines.duckdb.load.shape_inference import InferredRow, ShapeInference, engine_text
from lochan.engines.duckdb.load.sql import text_sql
from lochan.engines.duckdb.load.staging import Misses, Staging
from lochan.engines.duckdb.load.text_rows import text_layout, text_table
from lochan.engines.duckdb.session import DuckSession
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.arrow_batches import expand_batch, split_by_shape
from lochan.ingest.lines import Lines
from lochan.ingest.tabular import batches_of, check_batch, rows_of, shape_batch
from lochan.pools.json_row import Faults, Row
from lochan.pools.layout import SHAPE_COLUMN, Layout, text_columns

_SAMPLE = 1_000  # rows of a chunk that are inspected before the first is inserted
_FEW = 500  # so few rows are not worth a search for common shapes
_ROUNDS = 6
_MANY = 64  # the number of shapes above which a sample shows whether rows are alike
_BATCH = 20_000  # rows that are inferred at a time


class Loader:
    """Takes rows in, and makes data objects of them. `session` need not keep the order of its input."""

    def __init__(self, session: DuckSession, settings: PoolSettings, faults: Faults) -> None:
        self.session = session
        self._settings = settings
        self.faults = faults
        self._keys = [key.path for key in settings.keys if key.path]
        self._known = KnownShapes(self._keys)
        self._staging = Staging(session, self._known, self._order, settings.times)
        self._inference = ShapeInference(self._known, faults, settings.times)
        self._text_bytes = 0
        self._made_files = 0
        self._passed: tuple[Path, StagedRelation] | None = None  # a file that holds all rows so far
        self.inferred = 0  # rows whose shape was inferred one by one

    def take(self, lines: Lines) -> None:
        """Takes lines. Raises Invalid for a fault, if faults end the load."""
        self._passed = None
        self._text_bytes += lines.texts.nbytes
        lines = self.readable(lines)
        every = np.arange(len(lines.texts), dtype=np.int64)
        if not self._known.columns:
            if len(every) <= _FEW:  # because the sample would be all of them
                self._infer(lines, every)
                return
            self._inference.learn(self._inference.peek(lines, _spread(every, _SAMPLE)))
        if len(self._known.counts) > _MANY and len(every) > 2 * _SAMPLE:
            # If hardly two rows are alike, proving their shapes is a waste of time.
            known = self._verify(lines.taken(every[:_SAMPLE])) < _SAMPLE * 0.8
            every = every[_SAMPLE:]
            if not known:
                self._infer(lines, every)
                return
            lines = lines.taken(every)
        self._verify(lines)

    def _verify(self, lines: Lines) -> int:
        """Takes lines whose shapes can be proven, and infers the others one by one. Returns how many those were."""
        misses = self._staging.insert_proven(lines.texts)
        for _ in range(_ROUNDS):
            if len(misses) <= _FEW or not self._learn(lines, misses):
                break
            before = len(misses)
            misses = misses[self._staging.insert_proven(lines.taken(misses).texts)]
            if len(misses) > before * 0.9:
                break
        self._infer(lines, misses)
        return len(misses)

    def _infer(self, lines: Lines, numbers: Misses) -> None:
        self.inferred += len(numbers)
        for begin in range(0, len(numbers), _BATCH):
            self._settle(self._inference.infer(lines, numbers[begin : begin + _BATCH].tolist()))

    def take_rows(self, rows: Any) -> None:
        """Takes dicts, an Arrow table, or record batches."""
        self._passed = None
        if isinstance(rows, pa.Table | pa.RecordBatchReader | pa.RecordBatch):
            for batch in batches_of(rows):
                for part in expand_batch(check_batch("the table", batch)):
                    if isinstance(part, list):
                        self.take_rows(part)
                    else:
                        self.take_batch(part)
            return
        some: list[Row] = []
        for row in rows:
            some.append(row)
            if len(some) == _BATCH:
                self._text_bytes += self._settle(self._inference.infer_rows(some))
                some = []
        self._text_bytes += self._settle(self._inference.infer_rows(some))

    def take_batch(self, batch: pa.RecordBatch) -> None:
        """Takes a record batch. Raises Invalid if no row can have these columns."""
        self._passed = None
        self._text_bytes += batch.nbytes
        for each in split_by_shape(batch):
            self._take_part(each)

    def _take_part(self, batch: pa.RecordBatch) -> None:
        found = shape_batch(batch, self._settings.times)
        if found is not None:
            self._known.add(Counter({found.shape: batch.num_rows}))
            id = self._known.number(found.shape)
            if id is not None and self._staging.insert_columns(ShapedRows(found.table, found.layout, found.shape, id)):
                return
        self.take_rows(rows_of(batch))

    def learn(self, lines: Lines) -> None:
        """Learns the shapes of a sample, if none are known yet."""
        if not self._known.columns:
            self._inference.learn(self._inference.peek(lines, _spread(np.arange(len(lines.texts)), _SAMPLE)))

    @property
    def passes_bytes_max(self) -> int:
        """The most bytes that `pass_lines` may take. It is 0 or less if `pass_lines` cannot be used now. A pool without
        a key keeps its rows in the order in which they come."""
        layout = self._known.layout
        if not self._keys or not self._staging.is_simple or layout.body or any(text_columns(layout)):
            return 0
        return min(self._settings.size_bytes, self.session.limits.memory_bytes // 2) - self._text_bytes

    def pass_lines(self, lines: pa.RecordBatchReader, size: Callable[[], int]) -> list[int] | None:
        """Takes lines with their numbers, `n` and `line`, and writes the file of all rows so far at once. `size`
        returns afterwards how many bytes they were. Returns the numbers of those whose shape could not be proven; they
        are not taken. Returns None, without taking any, if it could not begin. Raises duckdb.InvalidInputException if a
        line is not JSON: then none are taken either. REQUIRES: `passes_bytes_max` is not exceeded."""
        known, objects = self._known, self._objects()
        with self._staging.proven(lines) as proven:
            tables = [] if proven is None else [*self._staging.tables(), proven]
            found = relations(tables, known.layout, known, list(known.columns))
            if len(found) != 1:
                return None
            [relation] = found
            file = objects.write_rows(relation)
        self._made_files += 1
        self._staging.replace_with(file, relation.layout, relation.shapes)
        self._text_bytes += size()
        missed = self.session.execute(
            f"SELECT -{SHAPE_COLUMN} FROM read_parquet({text_sql(str(file))}) WHERE {SHAPE_COLUMN} < 0 ORDER BY 1"
        )
        if not missed:
            self._passed = file, relation
        return [number for (number,) in missed]

    def objects(self) -> Iterator[WrittenObject]:
        """Yields one file at a time, once all rows are in."""
        objects = self._objects()
        if self._passed is not None:
            yield objects.written(*self._passed)
            return
        for relation in self._relations():
            yield from objects.write(relation)

    def _objects(self) -> Objects:
        settings = self._settings
        return Objects(self.session, self._known, settings, self._text_bytes, settings.times, self._made_files)

    def _relations(self) -> list[StagedRelation]:
        known = self._known
        if self._text_bytes > self._settings.size_bytes:
            self._staging.insert_held()  # because each object will ask for its range of the key
        found = relations(self._staging.tables(), known.layout, known, list(known.columns))
        kept = self._staging.text_table()
        if kept is not None:
            found.append(StagedRelation(text_layout(self._keys), f"SELECT * FROM {kept}", tuple(self._known.texts)))
        return found

    def _order(self, layout: Layout) -> list[str]:
        """Returns the terms of the order. There are none for a pool without a key: sorting by whole rows would be too
        expensive."""
        return Order(layout, self._settings, self._known.by_id).by() if self._keys else []

    def _learn(self, lines: Lines, misses: Misses) -> bool:
        """Learns the shapes of a sample of the rows that could not be proven. Returns whether there are new patterns to
        prove the rest with."""
        before = self._staging.patterns()
        self._inference.learn(self._inference.peek(lines, _spread(misses, _FEW)))
        return self._staging.patterns() != before

    def _settle(self, inferred: Sequence[InferredRow]) -> int:
        """Stages inferred rows, and returns their size as text."""
        self._inference.learn(inferred)
        known = self._known
        numbers = {shape: known.number(shape) for shape in {each.shape for each in inferred}}
        typed = [each for each in inferred if numbers[each.shape] is not None]
        lines = pa.array([engine_text(each, known.layout) for each in typed], pa.string())
        self._staging.insert_inferred(lines, pa.array([numbers[each.shape] for each in typed], pa.int32()))
        texts = [each for each in inferred if numbers[each.shape] is None]
        if not texts:
            return int(lines.nbytes)
        rows = text_table(texts, [known.texts[each.shape] for each in texts], self._keys)
        self._staging.insert_texts(rows)
        return int(lines.nbytes + rows.nbytes)

    @property
    def folder(self) -> Path:
        """The folder for files of this load."""
        return Path(self.session.folder)

    def readable(self, lines: Lines) -> Lines:
        """Returns the lines that are UTF-8. The others are faults."""
        if lines.valid:
            return lines
        good = np.array([_is_text(lines.bytes_of(number)) for number in range(len(lines.texts))], dtype=np.bool_)
        self._settle(self._inference.infer(lines, np.flatnonzero(~good).tolist()))
        return lines.taken(np.flatnonzero(good))


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _spread(numbers: Misses, count: int) -> list[int]:
    """Returns `count` of the numbers, evenly spread."""
    at = np.linspace(0, len(numbers) - 1, min(count, len(numbers)), dtype=np.int64)
    return [int(number) for number in np.unique(numbers[at])] if len(numbers) else []
