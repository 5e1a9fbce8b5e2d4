"""A load from beginning to end: inputs of any format become one commit of a pool, all of them or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.objects import WrittenObject
from lochan.engines.duckdb.load.read_input import read_input
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.duckdb.worker_thread import apart
from lochan.errors import NothingToDo
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.record import Actor
from lochan.ingest.streams import Input, file_input
from lochan.journal.keys import CarriedOut
from lochan.pools.commit_objects import add_objects
from lochan.pools.faults import FAIL, Faults
from lochan.pools.object_upload import ObjectWriter
from lochan.pools.repeated_result import landed_first
from lochan.pools.settings import settings_of
from lochan.pools.unparsed_times import unparsed_times
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import once
from lochan.versioning.open_repository import OpenRepository

MEMORY_BYTES = 1 << 30  # of the engine; with the rest, a load stays below 1.5 GiB
_PIECE_BYTES = 2 << 20

T = TypeVar("T")


def _nothing(_: int) -> None:
    pass


class LoaderOptions(NamedTuple):
    """What a load may be told."""

    format: str | None = None  # of all inputs; None: of each by itself
    on_error: str = FAIL
    limits: Limits = Limits(memory_bytes=MEMORY_BYTES)
    unpacked_bytes_max: int | None = None
    temp: str | None = None  # the folder for what does not fit into memory
    advance: Callable[[int], None] = _nothing  # told of each piece of input, in bytes
    typed: bool = True  # columns of CSV are what their values are; else all are texts
    row_tag: str = ""  # of XML: the elements that are rows
    row_groups: list[int] | None = None  # of Parquet: only these


STANDARD = LoaderOptions()


@dataclass(frozen=True, slots=True)
class Loaded:
    commit: str
    rows: int
    objects: list[Entry]
    faults: Faults = field(default_factory=Faults)

    @property
    def size_bytes(self) -> int:
        return sum(entry.size for entry in self.objects)

    @property
    def unparsed_times(self) -> dict[str, int]:
        """Of fields declared as times: how many values say none, and were loaded as strings."""
        return unparsed_times(self.objects)


async def loaded_first(repository: OpenRepository, before: CarriedOut) -> Loaded:
    """Of a load that is asked for again with its key: what was no row is not known any more."""
    landed = await landed_first(repository, before)
    return Loaded(landed.commit, landed.rows_added, landed.added)


@once(loaded_first)
async def load(
    repository: OpenRepository,
    branch: str,
    inputs: Sequence[Input],
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    how: LoaderOptions = STANDARD,
) -> Loaded:
    """Raises Invalid for input that is no rows, NothingToDo where there are none, and what landing raises."""
    with staged(settings_of(repository.repository), how) as staging:
        await staging.take_inputs(inputs)
        return await staging.land(repository, branch, said, actor=actor)


@once(loaded_first)
async def load_rows(
    repository: OpenRepository,
    branch: str,
    rows: Any,
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    how: LoaderOptions = STANDARD,
) -> Loaded:
    """Of dicts, of an Arrow table or reader of record batches, or of files by their paths."""
    files = _files(rows)
    with staged(settings_of(repository.repository), how) as staging:
        if files:
            await staging.take_inputs(files)
        else:
            await staging.take_rows(rows)
        return await staging.land(repository, branch, said, actor=actor)


def _files(rows: Any) -> list[Input]:
    paths = [rows] if isinstance(rows, str | Path) else rows if isinstance(rows, list | tuple) else []
    if not paths or not all(isinstance(each, str | Path) for each in paths):
        return []
    return [file_input(Path(path)) for path in paths]


@contextmanager
def staged(settings: PoolSettings, how: LoaderOptions = STANDARD) -> Iterator[StagedLoad]:
    """For who makes the pool only after the rows were read."""
    with DuckSession(how.limits, temp=how.temp, ordered=False) as session:
        yield StagedLoad(session, settings, how)


class StagedLoad:
    """Rows on their way: nothing is written to the lake before `land`."""

    def __init__(self, session: DuckSession, settings: PoolSettings, how: LoaderOptions) -> None:
        self._session = session
        self._how = how
        self._faults = Faults(how.on_error)
        self._loader = Loader(session, settings, self._faults)

    async def take_inputs(self, inputs: Sequence[Input]) -> None:
        for input in inputs:
            await self._apart(partial(read_input, self._loader, input, self._how))

    async def take_rows(self, rows: Any) -> None:
        await self._apart(lambda: self._loader.take_rows(rows))

    async def land(
        self, repository: OpenRepository, branch: str, said: CommitMessage = NOTHING, *, actor: Actor
    ) -> Loaded:
        refs, mint = await repository.refs()
        refs.branch(branch)  # before anything is written
        writer = ObjectWriter.of(repository, mint)
        files = self._loader.objects()
        entries, rows = [], 0
        while (written := await self._apart(lambda: next(files, None))) is not None:
            entries.append(await _write(writer, written))
            rows += written.facts.rows
        if not entries:
            raise NothingToDo("there are no rows to load", hint="nothing was changed")
        message = f"Load {rows:,} row{'' if rows == 1 else 's'}"
        commit = await add_objects(repository, branch, entries, said, actor=actor, message=message)
        return Loaded(commit, rows, entries, self._faults)

    async def _apart(self, work: Callable[[], T]) -> T:
        """On a thread; who is cancelled stops the engine too, and waits for it."""
        return await apart(work, self._session)


async def _write(writer: ObjectWriter, written: WrittenObject) -> Entry:
    entry = await writer.write(_pieces(written.file), written.facts)
    written.file.unlink()
    return entry


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as stream:
        while piece := await asyncio.to_thread(stream.read, _PIECE_BYTES):
            yield piece
