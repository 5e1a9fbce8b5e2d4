"""Makes a lake from a backup. It is a lake only when all files exist: `lake.json` is written last."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from lochan.errors import Corrupt, NotFound, Refused
from lochan.failpoints import fp
from lochan.formats import json_file, lake_file
from lochan.formats.lake_file import LakeFile
from lochan.formats.record import SealedRecord
from lochan.journal.slots import Checkpoints
from lochan.journal.state import State, StatePart
from lochan.lake import LAKE_PARTS
from lochan.recovery.backup import KEYS, BackupManifest, JournalEnd, read_manifest
from lochan.recovery.copy_lake import LakeCopy
from lochan.recovery.journal_walk import JournalWalk, list_journal
from lochan.recovery.rebuild_lake import kept_repositories
from lochan.recovery.replay import Replay
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories
from lochan.versioning.state.refs import Refs

LAKE = "_lake"
MARK = "restore.json"


class RestoredLake:
    def __init__(self, backup: Store, target: Store) -> None:
        self._backup = backup
        self._target = target
        self._copy = LakeCopy(backup, target)

    async def run(self) -> tuple[BackupManifest, LakeCopy]:
        """Copies the backup. Raises NotFound if there is no complete backup, Refused for a target that is not empty,
        and Corrupt."""
        manifest = await self._manifest()
        await self._check_target(manifest)
        await self._target.put(MARK, json_file.seal(_Mark(manifest.lake)))
        state = await state_at(self._backup, LAKE, manifest.journals[LAKE], LAKE_PARTS)
        for repository in kept_repositories(state.of(Repositories)):
            end = manifest.journals[repository.id]
            own = await state_at(self._backup, repository.id, end, (Refs,))
            await self._copy.copy_repository(repository.id, own.of(Refs))
            await self._journal(own, end)
        await self._journal(state, manifest.journals[LAKE])
        async for stat in self._backup.list(KEYS):
            await self._copy.copy_file(stat.path)
        fp("restore.copied")
        file = LakeFile(manifest.lake_format, manifest.lake, "store", manifest.created)
        await self._target.put_if_absent(lake_file.PATH, lake_file.encode(file))
        await self._target.delete(MARK)
        return manifest, self._copy

    async def _manifest(self) -> BackupManifest:
        try:
            return await read_manifest(self._backup)
        except NotFound:
            raise NotFound(
                f"{self._backup.url} holds no complete backup", hint="`lochan backup DEST` makes one"
            ) from None

    async def _check_target(self, manifest: BackupManifest) -> None:
        if self._target.url.rstrip("/") == self._backup.url.rstrip("/"):
            raise Refused("a backup cannot be restored into itself", hint="name an empty folder or prefix")
        try:
            await self._target.head(lake_file.PATH)
        except NotFound:
            pass
        else:
            raise Refused(f"there is a lake at {self._target.url} already", hint="name an empty folder or prefix")
        first = await anext(aiter(self._target.list("")), None)
        if first is None:
            return
        try:
            fields = json_file.unseal(await self._target.get(MARK), MARK, "").fields
        except (NotFound, Corrupt):
            raise Refused(
                f"{self._target.url} is not empty: {first.path} is there", hint="name an empty folder or prefix"
            ) from None
        if fields.get("lake") != manifest.lake:
            raise Refused(f"another lake is being restored to {self._target.url}", hint="name an empty folder")

    async def _journal(self, state: State, end: JournalEnd) -> None:
        """Copies the journal and writes a checkpoint, so that the first start need not fold all of it."""
        await self._copy.copy_journal(state.journal, records_upto(self._backup, state.journal, end))
        await Checkpoints(self._target, state.journal).write(state.checkpoint())


async def state_at(backup: Store, journal: str, end: JournalEnd, parts: tuple[type[StatePart], ...]) -> State:
    """Returns the state at the end that the manifest names. Raises Corrupt."""
    replay = Replay(journal, parts)
    async for sealed in records_upto(backup, journal, end):
        replay.fold(sealed)
    return replay.settle()


async def records_upto(backup: Store, journal: str, end: JournalEnd) -> AsyncIterator[SealedRecord]:
    """Yields the records up to the end that the manifest names. Later ones belong to a backup that broke off. Raises
    Corrupt."""
    walk = JournalWalk(backup, journal, await list_journal(backup, journal))
    async for sealed in walk.records():
        yield sealed
        if walk.number == end.number:
            break
    if (walk.number, walk.digest.hex()) != (end.number, end.digest):
        raise Corrupt(
            f"the journal {journal} of the backup ends at record {walk.number}, and not as its manifest says",
            hint="use another backup; nothing of the target is a lake yet",
        )


class _Mark(msgspec.Struct, frozen=True):
    lake: str
