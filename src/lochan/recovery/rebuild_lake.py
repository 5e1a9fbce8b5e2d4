"""Rebuilds the derived files of a lake, or of some of its repositories: makes them again, compares them, or writes them
elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from lochan.clock import Clock
from lochan.formats import checkpoint as checkpoints
from lochan.journal.journal import CHECKPOINT_EVERY
from lochan.lake import LAKE_PARTS
from lochan.recovery.digests import DigestSource
from lochan.recovery.live_files import MISSING
from lochan.recovery.rebuild import (
    DIFFERS,
    LOST,
    MADE,
    FoldedJournal,
    Rebuild,
    RebuiltFile,
    checkpoint_path,
    fold_journal,
    live_roots,
)
from lochan.recovery.repair import Repair
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories, Repository

LAKE = "_lake"


def kept_repositories(repositories: Repositories) -> list[Repository]:
    """Returns the repositories that have a name, and deleted ones that can be restored."""
    deleted = [each.repository for each in repositories.deleted() if not each.list]
    return [*repositories.all(), *sorted(deleted, key=lambda each: each.id)]


class RebuildRequest(NamedTuple):
    repositories: Sequence[str] = ()  # names; without any, all repositories and the lake's own journal
    check: bool = False  # whether files are only compared, and none is written
    missing: bool = False  # whether only missing or damaged files are made, and the rest is not compared
    to: Store | None = None  # the store to write to; None for the lake itself


class JournalRebuild(NamedTuple):
    name: str  # the name of the repository; empty for the lake itself
    events: int
    outcomes: dict[str, int]  # the number of files by outcome: same, same-content, made, differs, lost
    primary: int  # trees that cannot be made again from events
    files: tuple[RebuiltFile, ...]  # the files that are not the same


class LakeRebuild:
    """Rebuilds a lake. `scratch` opens a store for files before they are compared or written."""

    def __init__(
        self,
        store: Store,
        request: RebuildRequest,
        scratch: Callable[[], AbstractContextManager[Store]],
        clock: Clock,
        digest: DigestSource | None = None,
    ) -> None:
        """Prepares a rebuild. `digest` checks the segments of journals elsewhere; without it, they are checked here."""
        self._store = store
        self._request = request
        self._digest = digest
        self._scratch = scratch
        self._clock = clock

    async def run(self) -> AsyncIterator[JournalRebuild]:
        """Yields a result for each journal. Raises JournalDamage if a journal breaks off, because nothing is guessed,
        and NotFound for a repository that the lake does not name."""
        own = await fold_journal(self._store, LAKE, LAKE_PARTS)
        if own.damage is not None:
            raise own.damage
        repositories = own.state.of(Repositories)
        chosen = [repositories.get(name) for name in self._request.repositories] or repositories.all()
        if not self._request.repositories:
            yield await self._rebuild_result("", own, ())
        for repository in chosen:
            yield await self._repository(repository)

    async def _repository(self, repository: Repository) -> JournalRebuild:
        with self._scratch() as scratch:
            rebuild = Rebuild(self._store, repository.id, repository.kind, scratch, self._clock, self._digest)
            folded = await rebuild.fold()
            if folded.damage is not None:
                raise folded.damage
            live = await rebuild.damaged(live_roots(folded.state, repository.id))
            results = await rebuild.make(folded, live, everything=not self._request.missing)
            for each in results:
                if each.outcome == MADE or (self._request.to is not None and each.outcome != LOST):
                    await self._write(each, await rebuild.bytes_of(each.path), scratch)
            return await self._rebuild_result(repository.name, folded, results)

    async def _rebuild_result(self, name: str, folded: FoldedJournal, results: Sequence[RebuiltFile]) -> JournalRebuild:
        made = [await self._checkpoint(folded, each) for each in self._checkpoints(folded)]
        every = [each._replace(outcome=MISSING) if self._is_unwritten(each) else each for each in (*made, *results)]
        unlike = tuple(each for each in every if each.outcome in (MADE, MISSING, DIFFERS, LOST))
        primary = sum(bool(note.reason) for note in folded.notes)
        return JournalRebuild(
            name, folded.replay.events, dict(Counter(each.outcome for each in every)), primary, unlike
        )

    def _is_unwritten(self, made: RebuiltFile) -> bool:
        return self._request.check and made.outcome == MADE

    def _checkpoints(self, folded: FoldedJournal) -> list[RebuiltFile]:
        """Returns the existing checkpoints, or one for the last record if there are none. A short journal needs
        none."""
        state = folded.state
        if folded.checkpoints or state.number < CHECKPOINT_EVERY:
            return list(folded.checkpoints)
        folded.right_checkpoints[state.number] = checkpoints.encode(state.checkpoint())
        return [RebuiltFile(checkpoint_path(state.journal, state.number), "checkpoint", MADE, MISSING)]

    async def _checkpoint(self, folded: FoldedJournal, found: RebuiltFile) -> RebuiltFile:
        data = folded.right_checkpoints.get(int(found.path.rpartition("/")[2]))
        if data is None or self._request.check:
            return found
        with self._scratch() as scratch:
            await self._write(found, data, scratch)
        return found._replace(outcome=MADE)

    async def _write(self, made: RebuiltFile, data: bytes, scratch: Store) -> None:
        if self._request.check:
            return
        if self._request.to is not None:
            await self._request.to.put(made.path, data)
            return
        if made.was_damaged:
            await Repair(self._store, scratch, self._clock).set_aside(made.path)
        await self._store.put(made.path, data)
