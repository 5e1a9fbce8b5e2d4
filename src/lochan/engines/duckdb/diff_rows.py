"""Compares the rows of two commits on DuckDB. Data that does not fit into memory goes to the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from lochan.engines.duckdb.files import Files, gone_error
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.load.decode import DecodedFiles
from lochan.engines.duckdb.repository_files import copy_body
from lochan.engines.duckdb.session import DuckSession, run_on_thread
from lochan.engines.row_diff import lines, statements
from lochan.engines.row_diff.lines import object_lines
from lochan.engines.row_diff.result import SAMPLE, RowChange, RowDiff, check_keys
from lochan.engines.row_diff.sides import LEFT, RIGHT, Sides
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import Path as KeyPath
from lochan.pools.facts import from_metadata
from lochan.pools.objects import object_id
from lochan.pools.snapshot import DataObject
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.open_repository import OpenRepository

FOUND, _ROWS = "found", "rows"
SCHEMA = lines.SCHEMA.insert(0, pa.field("side", pa.int32()))


class RowPart(NamedTuple):
    """An entry with a local file of its bytes."""

    side: int
    entry: Entry
    file: Path


async def diff_rows(
    repository: OpenRepository, sides: Sides, files: Files, limits: Limits = STANDARD, *, sample: int = SAMPLE
) -> RowDiff:
    """Compares the rows. Raises Invalid if the key is not unique or files do not contain rows, or Gone."""
    half = limits._replace(memory_bytes=limits.memory_bytes // 2) if not sides.is_pool else limits
    session = DuckSession(half, folders=[], ordered=False)
    try:
        parts = [
            part
            for side in (LEFT, RIGHT)
            for part in await place_parts(
                sides, side, sides.entries[side], repository.reader, files, Path(session.folder)
            )
        ]
        compared = partial(_compare, session, sides, parts, half, sample)
        return await run_on_thread(compared, session)
    except BaseException:
        session.close()
        raise


def _compare(session: DuckSession, sides: Sides, parts: Sequence[RowPart], limits: Limits, sample: int) -> RowDiff:
    find(session, _batches(session, sides, parts, limits), keyed=bool(sides.keys))
    check_keys(sides, session.execute(statements.wrong(FOUND)))
    counts = dict(session.execute(statements.counts(FOUND)))
    first = [RowChange(*row) for row in session.execute(statements.first(FOUND, sample))]
    batches: Callable[[], Iterator[pa.RecordBatch]] = partial(session.stream, f"FROM {FOUND}")
    return RowDiff(sides, "duckdb", counts, first, batches, session.close)


def find(session: DuckSession, rows: Iterator[pa.RecordBatch], *, keyed: bool) -> None:
    """Writes the differences to the session's table FOUND. The rows come from `with_side`."""
    failed: list[Exception] = []
    try:
        with session.registered(_ROWS, pa.RecordBatchReader.from_batches(SCHEMA, _note_errors(failed, rows))):
            session.execute(f"CREATE TEMP TABLE {FOUND} AS {statements.differences(_ROWS, keyed=keyed)}")
    except Exception:
        if failed:
            raise failed[0] from None
        raise


def _note_errors(failed: list[Exception], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Keeps an error of the input, because DuckDB replaces it by a message of its own."""
    try:
        yield from batches
    except Exception as error:
        failed.append(error)
        raise


def _batches(session: DuckSession, sides: Sides, parts: Sequence[RowPart], limits: Limits) -> Iterator[pa.RecordBatch]:
    for side in (LEFT, RIGHT):
        here = [part for part in parts if part.side == side]
        for batch in part_lines(here, sides.is_pool, sides.keys, limits, session.stops):
            yield with_side(side, batch)


def part_lines(
    parts: Sequence[RowPart],
    is_pool: bool,
    keys: Sequence[KeyPath],
    limits: Limits,
    stops: list[Callable[[], object]] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yields the lines of some parts of one side. Adds functions to `stops` that cancel the reading."""
    if not is_pool:
        yield from _of_files(parts, keys, limits, stops)
        return
    for part in parts:
        yield from object_lines(part.file, from_metadata(part.entry.metadata, part.entry.path), keys)


def with_side(side: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.repeat(pa.scalar(side, pa.int32()), len(batch)), *batch.columns], schema=SCHEMA
    )


def _of_files(
    parts: Sequence[RowPart], keys: Sequence[KeyPath], limits: Limits, stops: list[Callable[[], object]] | None
) -> Iterator[pa.RecordBatch]:
    """Reads rows as a load does, except that values of CSV stay texts: the kind of a column depends on all of its
    values, so one of them would change every row."""
    if not parts:
        return
    folder = parts[0].file.parent
    with DecodedFiles(folder, limits, sum(part.entry.size for part in parts), typed=False) as decoded:
        if stops is not None:
            stops.append(decoded.cancel)
        for part in parts:
            decoded.take(part.entry.path, part.file)
            part.file.unlink()
        for written in decoded.objects():
            yield from object_lines(written.file, written.facts, keys)
            written.file.unlink()


async def place_parts(
    sides: Sides, side: int, entries: Sequence[Entry], reader: BodyReader, files: Files, folder: Path
) -> list[RowPart]:
    """Returns the entries with their files. Data objects stay where `files` has them; files are copied to the folder.
    Raises Gone, Corrupt."""
    if not sides.is_pool:
        bodies = [folder / f"body-{side}-{number}" for number in range(len(entries))]
        return [
            RowPart(side, entry, await copy_body(reader, entry, body))
            for entry, body in zip(entries, bodies, strict=True)
        ]
    objects = [_data_object(entry, sides, side) for entry in entries]
    paths = await files.place(objects, str(folder), recheck=True)
    for object, path in zip(objects, paths, strict=True):
        if not path:
            raise gone_error(object)
    return [RowPart(side, entry, Path(path)) for entry, path in zip(entries, paths, strict=True)]


def _data_object(entry: Entry, sides: Sides, side: int) -> DataObject:
    [block] = entry.blocks
    rows = from_metadata(entry.metadata, entry.path).rows
    whose = sides.repository, sides.refs[side]
    return DataObject(object_id(entry.path), block.address, entry.size, block.sha256, rows, *whose)
