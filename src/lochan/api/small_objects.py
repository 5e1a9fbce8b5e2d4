"""Data objects of small loads are merged as they come, so that few are left, however many loads there were.

    load, load, load …  ──▶ 16 objects, whose rows are still in memory ──▶ one, between two loads
    16 of those, or a pause of all loads  ──▶ one, rewritten by the engine beside the loads

A server merges what it has written itself, each time objects of about the same size, so that a row is written again
once for each sixteenfold. Each merge is a compaction (S6): it lands only on a head that still holds all of the objects,
and whoever deletes or compacts one of them meanwhile wins. The rest is then rewritten with later ones. What is
forgotten here, because the server ended or because somebody was faster again, is left to upkeep by schedule.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lochan.api.session import OpenedRepository
from lochan.errors import ConcurrentCommit, LochanError
from lochan.formats.record import Actor

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.engines.duckdb.load.shape_inference import InferredRow
    from lochan.formats.entry import Entry
    from lochan.pools.upkeep import Upkeep
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.repositories import Repository

FAN_IN = 16
LEFT_MAX = 4  # objects that a pause leaves as they are: reading so many costs less than writing them again
PAUSE_S = 1.0
ROWS_KEPT = 1_000  # rows in memory, of all objects of a branch that are not merged yet
_ROWS_AT_ONCE = 200  # this many are written in some milliseconds, for which no thread is worth its while
_BYTES_MAX = 64 << 20  # larger objects are not small
_GROWTH = 8  # in a pause, no object is rewritten for the sake of others that have an eighth of its bytes together
_MEMORY_BYTES = 256 << 20  # the memory of the engine
_ACTOR = Actor("lochan", "server", "")
_log = logging.getLogger("lochan.server")


class LandedObject(NamedTuple):
    entry: Entry
    rows: Sequence[InferredRow]


class SmallObjects:
    """The small objects of one branch that this process has written. It is used on the event loop."""

    def __init__(self, session: Session, pool: Repository, branch: str, tasks: set[asyncio.Task[None]]) -> None:
        """`tasks` are the tasks that run beside the loads, for the code that ends them."""
        self._session = session
        self._pool = pool
        self._branch = branch
        self._tasks = tasks
        self._recent: list[LandedObject] = []
        self._tiers: dict[int, list[Entry]] = {}  # merged objects, by how often they were merged
        self._merging = asyncio.Lock()
        self._settling: asyncio.Task[None] | None = None
        self._landed_at = 0.0

    def landed(self, entry: Entry, rows: Sequence[InferredRow]) -> None:
        self._recent.append(LandedObject(entry, rows))
        loop = asyncio.get_running_loop()
        self._landed_at = loop.time()
        if self._settling is None:
            self._settling = loop.create_task(self._settle())
            self._tasks.add(self._settling)
            self._settling.add_done_callback(self._tasks.discard)

    @property
    def is_due(self) -> bool:
        if self._merging.locked():
            return False
        return len(self._recent) >= FAN_IN or sum(len(each.rows) for each in self._recent) >= ROWS_KEPT

    async def merge(self, repository: OpenRepository) -> None:
        """Merges the objects whose rows are in memory."""
        async with self._merging:
            merged, self._recent = self._recent, []
            if len(merged) < 2:
                self._add(0, *(each.entry for each in merged))
                return
            try:
                made = await self._merged(repository, merged)
            except ConcurrentCommit:  # somebody has deleted or compacted one of them: the others are still small
                self._add(0, *(each.entry for each in merged))
                return
            except Exception as error:
                self._forget(error)
                return
            if made is None:
                self._add(0, *(each.entry for each in merged))
            elif 2 * len(made.rows) >= ROWS_KEPT:
                self._add(0, made.entry)
            else:
                self._recent.insert(0, made)

    async def _merged(self, repository: OpenRepository, objects: Sequence[LandedObject]) -> LandedObject | None:
        """Merges objects, and returns the result, or None if one object cannot hold them without the engine."""
        from lochan.engines.duckdb.load.direct_object import direct_object
        from lochan.pools.commit_objects import Swap, begin_small, replace_objects
        from lochan.pools.settings import settings_of

        rows = [row for each in objects for row in each.rows]
        make = partial(direct_object, rows, settings_of(self._pool))
        made = make() if len(rows) <= _ROWS_AT_ONCE else await asyncio.to_thread(make)
        if made is None:
            return None
        _, mint = await repository.refs()
        entry, storing = begin_small(repository, mint, made.data, made.facts)
        await storing
        swap = Swap([each.entry for each in objects], [entry])
        await replace_objects(repository, self._branch, swap, actor=_ACTOR)
        return LandedObject(entry, rows)

    def _add(self, tier: int, *entries: Entry) -> None:
        self._tiers.setdefault(tier, []).extend(each for each in entries if each.size < _BYTES_MAX)

    def _forget(self, error: Exception) -> None:
        """Leaves the objects to upkeep by schedule."""
        about = f"{self._pool.name}@{self._branch}"
        if isinstance(error, LochanError):
            _log.debug("objects of %s are not merged: %s", about, error)
        else:
            _log.error("objects of %s could not be merged", about, exc_info=error)

    # --- beside the loads --------------------------------------------------------------------------------------------
    async def _settle(self) -> None:
        """Merges until no load has come for a while, nor while the last objects were merged."""
        loop = asyncio.get_running_loop()
        seen = -1.0
        is_pause = False
        while not is_pause or seen != self._landed_at:
            await asyncio.sleep(PAUSE_S / 2)
            seen = self._landed_at
            is_pause = loop.time() - seen >= PAUSE_S
            try:
                async with OpenedRepository(self._session, self._pool.name, self._pool) as repository:
                    if is_pause and self._count > LEFT_MAX and len(self._recent) > 1:
                        await self.merge(repository)
                    while (due := self._due(is_pause)) and await self._rewrite(repository, *due):
                        pass
            except Exception as error:
                self._forget(error)
        self._settling = None

    @property
    def _count(self) -> int:
        return len(self._recent) + sum(map(len, self._tiers.values()))

    def _due(self, is_pause: bool) -> tuple[int, list[Entry]] | None:
        """Returns the objects to merge, and the tier that the result belongs to, or None."""
        for tier, entries in sorted(self._tiers.items()):
            if len(entries) >= FAN_IN:
                return tier + 1, entries[:]
        if not is_pause or self._count <= LEFT_MAX:
            return None
        chosen: list[Entry] = []
        top = size = 0
        for tier, entries in sorted(self._tiers.items()):
            for each in sorted(entries, key=lambda entry: entry.size):
                if len(chosen) > 1 and each.size > _GROWTH * size:
                    return top, chosen
                chosen.append(each)
                size += each.size
                top = tier
        return (top, chosen) if len(chosen) > 1 else None

    async def _rewrite(self, repository: OpenRepository, tier: int, entries: list[Entry]) -> bool:
        """Rewrites objects as fewer ones. Returns whether there are fewer objects now."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from lochan.engines.duckdb.data_objects import snapshot_of
        from lochan.engines.duckdb.limits import Limits
        from lochan.engines.duckdb.rewrite import rewrite_objects
        from lochan.pools.commit_objects import Swap, replace_objects
        from lochan.versioning.job_hold import held_if_long

        gone = {each.path for each in entries}
        for number, several in self._tiers.items():
            self._tiers[number] = [each for each in several if each.path not in gone]
        refs, mint = await repository.refs()
        head = refs.branch(self._branch).head
        snapshot = await snapshot_of(repository, head, await repository.tree(refs.commit(head)))
        paths = snapshot.spans["path"]
        is_chosen = pc.is_in(paths, value_set=pa.array(sorted(gone), type=paths.type))
        indices = pc.indices_nonzero(is_chosen).to_pylist()
        if len(indices) < 2:  # others have deleted or merged them
            return False
        limits = Limits(memory_bytes=_MEMORY_BYTES, threads=1)
        files = self._session.lake.queries().files
        async with held_if_long(repository, "compact", self._branch, mint, actor=_ACTOR) as hold:
            removed, added = await rewrite_objects(repository, snapshot, indices, files, mint, limits)
            if len(added) >= len(removed):  # no layout holds several of them; what was written is garbage
                return False
            swap, closes = Swap(removed, added), await hold.closes()
            await replace_objects(repository, self._branch, swap, actor=_ACTOR, closes=closes)
        self._add(tier, *added)
        return True


def merges(policy: Upkeep | None, pool: Repository, branch: str) -> bool:
    """Returns whether objects of that branch are merged as they come. Without a policy, this process merges none."""
    if policy is None:
        return False
    rule = policy.rule(pool.name)
    return rule.compact and branch in (rule.branches or (pool.default_branch,))
