"""Loads inputs of any format into a pool, as one commit: all of them or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from lochan.concurrency import abandon
from lochan.engines.duckdb.data_objects import store_objects
from lochan.engines.duckdb.instances import Instances
from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.direct_object import DirectObject
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import impossible_as_invalid, read_input
from lochan.engines.duckdb.load.small_inputs import SmallInput, read_small_inputs
from lochan.engines.duckdb.session import DuckSession, run_on_thread
from lochan.errors import NothingToDo
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.record import Actor
from lochan.ingest.streams import Input, file_input
from lochan.journal.keys import CarriedOut
from lochan.pools.commit_objects import add_objects, begin_small, committed_objects, row_count
from lochan.pools.facts import unparsed_times
from lochan.pools.json_row import FAIL, Faults
from lochan.pools.settings import settings_of
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import once
from lochan.versioning.job_hold import held_if_long
from lochan.versioning.open_repository import OpenRepository

MEMORY_BYTES = 1 << 30  # the memory of the engine; a load stays below 1.5 GiB in total

T = TypeVar("T")


def _nothing(_: int) -> None:
    pass


class LoaderOptions(NamedTuple):
    """The options of a load."""

    format: str | None = None  # the format of all inputs; None if it is detected for each
    on_error: str = FAIL
    limits: Limits = Limits(memory_bytes=MEMORY_BYTES)
    unpacked_bytes_max: int | None = None
    temp: str | None = None  # the folder for data that does not fit into memory
    advance: Callable[[int], None] = _nothing  # called with the size of each piece of input, in bytes
    typed: bool = True  # whether columns of CSV get the kind of their values; otherwise all are texts
    row_tag: str = ""  # for XML: the elements that are rows
    row_groups: list[int] | None = None  # for Parquet: only these are read


STANDARD = LoaderOptions()


@dataclass(frozen=True, slots=True)
class LoadCommit:
    commit: str
    rows: int
    paths: Sequence[str]  # the paths of the objects
    size_bytes: int  # their total size
    faults: Faults = field(default_factory=Faults)
    unparsed_times: dict[str, int] = field(default_factory=dict)  # see `pools.facts`

    @classmethod
    def of(cls, commit: str, entries: Sequence[Entry], faults: Faults | None = None) -> LoadCommit:
        paths, size = [entry.path for entry in entries], sum(entry.size for entry in entries)
        return cls(commit, row_count(entries), paths, size, faults or Faults(), unparsed_times(entries))


async def repeated_load(repository: OpenRepository, before: CarriedOut) -> LoadCommit:
    """Returns the result of a load that is repeated with its idempotency key. Its faults are no longer known."""
    landed = await committed_objects(repository, before)
    return LoadCommit.of(landed.commit, landed.added)


@once(repeated_load)
async def load(
    repository: OpenRepository,
    branch: str,
    inputs: Sequence[Input],
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    options: LoaderOptions = STANDARD,
) -> LoadCommit:
    """Loads inputs. Raises Invalid if one of them does not contain rows, NothingToDo if there are none, and the errors
    of the commit."""
    with staged_load(settings_of(repository.repository), options) as staging:
        await staging.take_inputs(inputs)
        return await staging.land(repository, branch, message, actor=actor)


@once(repeated_load)
async def load_rows(
    repository: OpenRepository,
    branch: str,
    rows: Any,
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    options: LoaderOptions = STANDARD,
) -> LoadCommit:
    """Loads rows: dicts, an Arrow table, a reader of record batches, or paths of files."""
    files = _files(rows)
    with staged_load(settings_of(repository.repository), options) as staging:
        if files:
            await staging.take_inputs(files)
        else:
            await staging.take_rows(rows)
        return await staging.land(repository, branch, message, actor=actor)


def _files(rows: Any) -> list[Input]:
    paths = [rows] if isinstance(rows, str | Path) else rows if isinstance(rows, list | tuple) else []
    if not paths or not all(isinstance(each, str | Path) for each in paths):
        return []
    return [file_input(Path(path)) for path in paths]


async def land_object(
    repository: OpenRepository, branch: str, made: DirectObject, message: CommitMessage = NOTHING, *, actor: Actor
) -> tuple[LoadCommit, Entry]:
    """Lands an object that is ready, and stores it while its commit is being made. REQUIRES: an event loop."""
    from asyncio import ensure_future, sleep

    refs, mint = await repository.refs()
    refs.branch(branch)  # fails before anything is written if there is no such branch
    entry, storing = begin_small(repository, mint, made.data, made.facts)
    stored = ensure_future(storing)
    try:
        await sleep(0)  # lets the disk work while the tree is made
        text = _load_text(made.facts.rows)
        commit = await add_objects(repository, branch, [entry], message, actor=actor, default=text, stored=stored)
    finally:
        abandon([stored])
    return LoadCommit.of(commit, [entry]), entry


def _load_text(rows: int) -> str:
    return f"Load {rows:,} row{'' if rows == 1 else 's'}"


@contextmanager
def staged_load(
    settings: PoolSettings, options: LoaderOptions = STANDARD, instances: Instances | None = None
) -> Iterator[StagedLoad]:
    """Yields a load for callers that create the pool after the rows were read, or that load often and keep
    `instances`."""
    with DuckSession(options.limits, temp=options.temp, ordered=False, instances=instances) as session:
        yield StagedLoad(session, settings, options)


class StagedLoad:
    """Rows that were read. Nothing is written to the lake before `land`."""

    def __init__(self, session: DuckSession, settings: PoolSettings, options: LoaderOptions) -> None:
        self._session = session
        self._options = options
        self._faults = Faults(options.on_error)
        self._loader = Loader(session, settings, self._faults)

    async def take_inputs(self, inputs: Sequence[Input]) -> None:
        alone = len(inputs) == 1
        for input in inputs:
            await self._on_thread(partial(read_input, self._loader, input, self._options, alone=alone))

    async def take_small(self, inputs: Sequence[SmallInput]) -> list[int]:
        """Reads inputs, and returns how many rows each one has. Raises Invalid, and then it is not known which of them
        is wrong."""
        return await self._on_thread(lambda: read_small_inputs(self._loader, inputs, self._options))

    async def take_rows(self, rows: Any) -> None:
        def take() -> None:
            with (
                impossible_as_invalid("the table")
                if isinstance(rows, pa.Table | pa.RecordBatchReader)
                else nullcontext()
            ):
                self._loader.take_rows(rows)

        await self._on_thread(take)

    async def land(
        self, repository: OpenRepository, branch: str, message: CommitMessage = NOTHING, *, actor: Actor
    ) -> LoadCommit:
        refs, mint = await repository.refs()
        refs.branch(branch)  # fails before anything is written if there is no such branch
        async with held_if_long(repository, "load", branch, mint, actor=actor) as hold:
            entries = await store_objects(repository, mint, self._loader.objects(), self._on_thread)
            if not entries:
                raise NothingToDo("there are no rows to load", hint="nothing was changed")
            text = _load_text(row_count(entries))
            commit = await add_objects(
                repository, branch, entries, message, actor=actor, default=text, closes=await hold.closes()
            )
        return LoadCommit.of(commit, entries, self._faults)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await run_on_thread(work, self._session)
