"""Small loads that share commits. Loads that come within a moment of each other, or while the commit before is under
way, land as one commit, and each is answered when it is durable.

    load ─┐
    load ─┼─▶ group ──▶ read all ──▶ one commit, with the key of each
    load ─┘               └─ not rows: each is read alone, and the bad ones are refused

A group is of one user, one branch, one message and one format, because a commit has one of each. Each load keeps its
own idempotency key and its own error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lochan.api.results import LoadResult
from lochan.api.session import OpenedRepository
from lochan.api.small_objects import SmallObjects, merges
from lochan.bounded_cache import BoundedCache
from lochan.engines.duckdb.instances import Instances
from lochan.errors import Conflict, Invalid, KeyReused, LochanError, NothingToDo
from lochan.journal.keys import CarriedOut, KeyedActor, with_keys, without_key
from lochan.versioning.lineage import trace_key

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.engines.duckdb.load.direct_object import DirectObject
    from lochan.engines.duckdb.load.load import LoadCommit, LoaderOptions, StagedLoad
    from lochan.engines.duckdb.load.shape_inference import InferredRow
    from lochan.engines.duckdb.load.small_inputs import SmallInput
    from lochan.formats.record import Actor
    from lochan.versioning.heads.moves import CommitMessage
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.repositories import Repository

SMALL_BYTES = 64 << 10  # a load that is larger has a commit of its own
_WINDOW_S = 0.005
_LOADS_MAX = 1_000  # the limit for one commit; each load has a key in its journal entry
_BYTES_MAX = 8 << 20
_TRIES_MAX = 5  # how often a commit is tried if other processes carry out its loads meanwhile
_AT_ONCE = 2  # the number of groups of one process that land at the same time
_BRANCHES_MAX = 256  # the number of branches whose small objects are known
_SIZES_MAX = 1_024
_ROWS_AT_ONCE = 200  # this many are written in some milliseconds, for which no thread is worth its while


class LoadGroups:
    """The groups of loads of one process, by what their loads have in common."""

    def __init__(self) -> None:
        self.by_name: dict[object, LoadGroup] = {}
        self.sizes: BoundedCache[object, int] = BoundedCache(_SIZES_MAX)  # how many loads the last commit had, by name
        self.loop = asyncio.get_running_loop()
        self.landing = asyncio.Semaphore(_AT_ONCE)
        self.instances = Instances()
        self._small: BoundedCache[tuple[str, str], SmallObjects] = BoundedCache(_BRANCHES_MAX)
        self._tasks: set[asyncio.Task[None]] = set()

    def small_objects(self, session: Session, pool: Repository, branch: str) -> SmallObjects | None:
        """Returns the small objects of a branch, or None if they are not merged."""
        if not merges(session.upkeep, pool, branch):
            return None
        key = pool.id, branch
        return self._small.get(key) or self._small.put(key, SmallObjects(session, pool, branch, self._tasks))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.instances.close()


class LoadTarget(NamedTuple):
    """The target of a group's loads, and the options of reading them."""

    repository: Repository
    branch: str
    message: CommitMessage
    options: LoaderOptions


class WaitingLoad:
    """One load, and the answer that its sender waits for."""

    __slots__ = ("actor", "input", "key", "result", "rows")

    def __init__(
        self, input: SmallInput, rows: list[InferredRow] | None, actor: Actor, result: asyncio.Future[LoadResult]
    ) -> None:
        self.input = input
        self.rows = rows  # None if the engine has to read them
        self.actor = actor  # the actor has the key of the load
        self.key = actor.key if isinstance(actor, KeyedActor) else ""
        self.result = result

    def succeed(self, result: LoadResult) -> None:
        if not self.result.done():
            self.result.set_result(result)

    def fail(self, error: BaseException) -> None:
        if not self.result.done():
            self.result.set_exception(error)


def add_to_group(session: Session, target: LoadTarget, input: SmallInput, actor: Actor) -> asyncio.Future[LoadResult]:
    """Adds a load to its group. The result is there when the load is durable, or has failed as a load of its own
    would."""
    from lochan.engines.duckdb.load.small_inputs import plain_rows
    from lochan.pools.settings import settings_of

    options = target.options
    rows = plain_rows(input, options, settings_of(target.repository).times)
    id = target.repository.id, target.branch, actor.user, options.format, options.row_tag, rows is None
    message = target.message
    metadata = tuple(sorted(message.metadata.items())) if message.metadata else ()
    name = id, (message.message, message.author, message.date, metadata, trace_key())
    groups = session.load_groups()
    group = groups.by_name.get(name)
    if group is None:
        group = groups.by_name[name] = LoadGroup(session, target, name)
    load = WaitingLoad(input, rows, actor, groups.loop.create_future())
    group.add(load)
    return load.result


class LoadGroup:
    def __init__(self, session: Session, target: LoadTarget, name: object) -> None:
        self._session = session
        self._target = target
        self._name = name
        self._waiting: list[WaitingLoad] = []
        self._task: asyncio.Task[None] | None = None
        self._enough = 0  # the number of loads that ends the wait for more
        self._gathered: asyncio.Future[None] | None = None

    def add(self, load: WaitingLoad) -> None:
        self._waiting.append(load)
        if self._task is None:
            self._task = asyncio.create_task(self._land_all())
        elif self._gathered is not None and len(self._waiting) >= self._enough and not self._gathered.done():
            self._gathered.set_result(None)

    async def _land_all(self) -> None:
        sizes = self._session.load_groups().sizes
        try:
            while await self._gather(sizes.get(self._name)) and (batch := self._next()):
                sizes.put(self._name, len(batch))
                await self._land_batch(batch)
        finally:  # later loads make a group of their own, also after a cancelled one
            del self._session.load_groups().by_name[self._name]

    async def _gather(self, enough: int | None) -> bool:
        """Waits a moment for as many loads as the last commit had, because clients that wait for their answers come
        again at the same time. The first time, it waits for any. Returns whether there are loads."""
        if enough == 1:
            await asyncio.sleep(0)  # lets loads come that arrive in the same turn of the loop
        elif self._waiting and (enough is None or len(self._waiting) < enough):
            self._enough, self._gathered = enough or _LOADS_MAX, asyncio.get_running_loop().create_future()
            await asyncio.wait([self._gathered], timeout=_WINDOW_S)
            self._gathered = None
        return bool(self._waiting)

    async def _land_batch(self, batch: list[WaitingLoad]) -> None:
        try:
            async with self._session.load_groups().landing:
                await self._land(batch)
                await self._merge_small()
        except BaseException as error:
            for load in batch:
                load.fail(error)
            if not isinstance(error, Exception):
                raise

    async def _merge_small(self) -> None:
        """Merges small objects. This takes no longer than one commit, and the next loads gather meanwhile."""
        pool, branch = self._target.repository, self._target.branch
        small = self._session.load_groups().small_objects(self._session, pool, branch)
        if small is not None and small.is_due:
            async with OpenedRepository(self._session, pool.name, pool) as opened:
                await small.merge(opened)

    def _next(self) -> list[WaitingLoad]:
        """Removes and returns the first loads that wait, as many as one commit takes. Of several with the same key, it
        returns only one."""
        batch: list[WaitingLoad] = []
        keys: set[str] = set()
        later: list[WaitingLoad] = []
        size = 0
        for load in self._waiting:
            if load.key in keys or len(batch) == _LOADS_MAX or size > _BYTES_MAX:
                later.append(load)
                continue
            batch.append(load)
            size += len(load.input.data)
            if load.key:
                keys.add(load.key)
        self._waiting = later
        return batch

    async def _land(self, batch: list[WaitingLoad]) -> None:
        async with OpenedRepository(self._session, self._target.repository.name, self._target.repository) as opened:
            for _ in range(_TRIES_MAX):
                batch = await self._not_done_before(opened, batch)
                if not batch:
                    return
                try:
                    await self._try_landing(opened, batch)
                    return
                except (CarriedOut, KeyReused):
                    continue  # another process has carried out one of them meanwhile
                except (Invalid, NothingToDo):
                    if len(batch) == 1:
                        raise
                    readable = await self._readable(batch)
                    if len(readable) == len(batch):  # each half can be read, but not all of them together
                        raise
                    batch = readable
            raise Conflict("other processes carry out the same requests again and again", hint="try again")

    async def _not_done_before(self, repository: OpenRepository, batch: list[WaitingLoad]) -> list[WaitingLoad]:
        """Answers the loads whose keys are known, and returns the others."""
        if not any(load.key for load in batch):
            return batch
        state, left, now = await repository.journal.fresh(), [], repository.clock.wall()
        look_up = state.keys.look_up_key
        for load in batch:
            actor = load.actor
            if not isinstance(actor, KeyedActor):
                left.append(load)
                continue
            try:
                done = look_up(actor.user, actor.key, actor.fingerprint, now)
                if done is None:
                    left.append(load)
                else:
                    load.succeed(await self._repeated(repository, load, done.result))
            except LochanError as error:
                load.fail(error)
        return left

    async def _try_landing(self, repository: OpenRepository, batch: Sequence[WaitingLoad]) -> None:
        from lochan.engines.duckdb.load.load import land_object

        branch, message = self._target.branch, self._target.message
        direct = await self._direct_object(batch)
        if direct is not None:
            counts = [len(load.rows or ()) for load in batch]
            made, entry = await land_object(repository, branch, direct, message, actor=_together(batch, counts))
            small = self._session.load_groups().small_objects(self._session, self._target.repository, branch)
            if small is not None:
                small.landed(entry, [row for load in batch for row in load.rows or ()])
        else:
            with self._staged() as staging:
                counts = await staging.take_small([load.input for load in batch])
                made = await staging.land(repository, branch, message, actor=_together(batch, counts))
        results = {count: _result(made, count) for count in set(counts)}
        for load, count in zip(batch, counts, strict=True):
            if count:
                load.succeed(results[count])
            else:
                load.fail(_no_rows())

    async def _direct_object(self, batch: Sequence[WaitingLoad]) -> DirectObject | None:
        """Returns one object with the rows of all loads, made without the engine. Returns None if the engine has to
        read and write them."""
        from lochan.engines.duckdb.load.direct_object import direct_object
        from lochan.pools.settings import settings_of

        if any(load.rows is None for load in batch):
            return None
        rows = [row for load in batch for row in load.rows or ()]
        if not rows:
            raise _no_rows()
        make = partial(direct_object, rows, settings_of(self._target.repository))
        return make() if len(rows) <= _ROWS_AT_ONCE else await asyncio.to_thread(make)

    async def _readable(self, batch: list[WaitingLoad]) -> list[WaitingLoad]:
        """Returns the loads that can be read. The bad ones are found by halves, and refused, each with its own
        error."""
        good = []
        for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
            try:
                await self._count_rows(half)
                good += half
            except LochanError as error:
                if len(half) == 1:
                    half[0].fail(error)
                else:
                    good += await self._readable(half)
        return good

    async def _repeated(self, repository: OpenRepository, load: WaitingLoad, commit: str) -> LoadResult:
        """Returns the first result of a load that is sent again."""
        from lochan.engines.duckdb.load.load import repeated_load

        made = await repeated_load(repository, CarriedOut(load.key, commit))
        rows = (await self._count_rows([load]))[0] if load.rows is None else len(load.rows)
        return _result(made, rows)

    def _staged(self) -> AbstractContextManager[StagedLoad]:
        from lochan.engines.duckdb.load.load import staged_load
        from lochan.pools.settings import settings_of

        settings = settings_of(self._target.repository)
        return staged_load(settings, self._target.options, self._session.load_groups().instances)

    async def _count_rows(self, loads: Sequence[WaitingLoad]) -> list[int]:
        """Reads the loads without loading anything, and returns the number of rows of each. Raises Invalid."""
        with self._staged() as staging:
            return await staging.take_small([load.input for load in loads])


def _result(made: LoadCommit, rows: int) -> LoadResult:
    """Returns the result of one load. It has the load's own rows, and the data objects of the commit."""
    from msgspec.structs import replace

    return replace(LoadResult.of(made), rows=rows)


def _together(batch: Sequence[WaitingLoad], counts: Sequence[int]) -> Actor:
    """Returns the actor for the loads that have rows. Raises NothingToDo if none has."""
    full = [load.actor for load, count in zip(batch, counts, strict=True) if count]
    if not full:
        raise _no_rows()
    return with_keys(without_key(full[0]), full)


def _no_rows() -> NothingToDo:
    return NothingToDo("there are no rows to load", hint="nothing was changed")
