"""A copy of a lake that is being written to.

    the lake's journal, up to m ─▶ each repository that it names, at its own number n:
        what the state at n names, then the journal up to n ─▶ … ─▶ the lake's journal up to m ─▶ backup.json

Journal numbers make it consistent: a backup is the state of the journals at the numbers in `backup.json`, which is
written last and replaced as a whole. So a copy that broke off leaves the one before it as it was. While a repository is
copied, an event holds all of its files open against garbage collection: a plan made since lists none of them.

A backup has the files of a lake under the same names, but no `lake.json`, so that it is not opened or written to by
mistake.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec

from lochan.errors import Corrupt, FutureFormat, Gone, LochanError, NotFound, Refused
from lochan.failpoints import fp
from lochan.formats import json_file, lake_file
from lochan.formats.collection_events import Abandoned, Opened
from lochan.formats.record import Actor, SealedRecord
from lochan.journal.journal import Journal
from lochan.journal.state import State, check_link
from lochan.lake import LAKE_JOURNAL, Lake
from lochan.recovery.copy_lake import LakeCopy
from lochan.recovery.rebuild_lake import kept_repositories
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories, Repository
from lochan.versioning.state.refs import Refs

MANIFEST = "backup.json"
VERSION = 1
KEYS = "_lake/keys/"
_HELD_US = 7 * 86_400 * 1_000_000  # a backup that was killed holds files open for so long, or until the next one
_RESTORE = "make a new backup in another place"


class JournalEnd(msgspec.Struct, frozen=True):
    number: int
    digest: str  # the digest of that record, in hex


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of a backup. Stored as `backup.json`; fields may only be added."""

    format: int = VERSION
    lake: str  # the id of the lake
    lake_format: int
    created: int  # of the lake, in microseconds since 1970
    url: str  # the URL of the lake at that time
    started: int
    ended: int
    journals: dict[str, JournalEnd]  # by the repository's id; `_lake` is the lake's own
    names: dict[str, str]  # the names of the repositories, by id
    files: int  # the number of files that the last run copied
    bytes: int
    lost: tuple[tuple[str, str], ...] = ()  # files that the lake itself had lost, and why they were not copied


class Backup:
    def __init__(self, lake: Lake, target: Store, actor: Actor) -> None:
        self._lake = lake
        self._target = target
        self._actor = actor
        self._copy = LakeCopy(lake.files, target)
        self._before: BackupManifest | None = None

    async def run(self) -> tuple[BackupManifest, LakeCopy]:
        """Copies the lake, and writes the manifest last. Raises Refused for a place that holds something else, Corrupt,
        or DiskFull."""
        lake = self._lake
        started = lake.clock.wall()
        self._before = await check_target(self._target, lake)
        own = await lake.journal(LAKE_JOURNAL)
        state = _snapshot(await own.fresh())
        ends = {LAKE_JOURNAL: JournalEnd(state.number, state.digest.hex())}
        repositories = kept_repositories(state.of(Repositories))
        for repository in repositories:
            ends[repository.id] = await self._repository(repository)
        await self._journal(own, ends[LAKE_JOURNAL])
        async for stat in lake.store.list(KEYS):
            await self._copy.copy_file(stat.path)
        manifest = BackupManifest(
            lake=lake.id,
            lake_format=lake.file.format,
            created=lake.file.created,
            url=lake.url,
            started=started,
            ended=lake.clock.wall(),
            journals=ends,
            names={each.id: each.name for each in repositories},
            files=self._copy.totals.files,
            bytes=self._copy.totals.bytes,
            lost=tuple(self._copy.totals.lost),
        )
        fp("backup.copied")
        await self._target.put(MANIFEST, json_file.seal(manifest, indented=True))
        fp("backup.complete")
        return manifest, self._copy

    async def _repository(self, repository: Repository) -> JournalEnd:
        journal = await self._lake.journal(repository.id)
        try:
            held = await self._hold(journal, repository)
            try:
                state = _snapshot(await journal.fresh())
                fp("backup.snapshot")
                await self._copy.copy_repository(repository.id, state.of(Refs))
                end = JournalEnd(state.number, state.digest.hex())
                await self._journal(journal, end)
                await self._check_held(journal, held)
            finally:
                await self._let_go(journal, held)
        finally:
            await journal.close()
        return end

    # --- holding files against garbage collection ---------------------------------------------------------------------
    async def _hold(self, journal: Journal, repository: Repository) -> str:
        """Holds all files of the repository open, and returns the id. Returns an empty id if the repository is
        read-only or deleted. Its files may then be collected meanwhile, and are listed as lost in the result."""
        from lochan.journal.group import AppendRequest

        lake = self._lake
        id = lake.ids.ksuid(lake.clock.wall())
        about = f"{repository.id}/"
        refs = (await journal.fresh()).of(Refs)
        stale = tuple(
            each for each, held in refs.collection.all_held() if held.kind == HELD and held.path == self._target.url
        )
        expires = lake.clock.wall() + _HELD_US
        event = Opened(id, HELD, about, "", self._target.url, expires)
        if stale:
            with suppress(LochanError):
                await journal.submit(AppendRequest(self._actor, lambda state: [Abandoned(stale)]))
        try:
            await journal.submit(AppendRequest(self._actor, lambda state: [event]))
        except (Refused, NotFound, Gone):
            return ""
        fp("backup.held")
        return id

    async def _check_held(self, journal: Journal, id: str) -> None:
        if id and (await journal.fresh()).of(Refs).collection.held(id) is None:
            raise Refused(
                "what protected the files from garbage collection was given up meanwhile", hint="make the backup again"
            )

    async def _let_go(self, journal: Journal, id: str) -> None:
        from lochan.journal.group import AppendRequest

        if id:
            with suppress(LochanError):  # it expires by itself
                await journal.submit(AppendRequest(self._actor, lambda state: [Abandoned((id,))]))

    # --- journals -----------------------------------------------------------------------------------------------------
    async def _journal(self, journal: Journal, end: JournalEnd) -> None:
        before = self._before.journals.get(journal.journal) if self._before else None
        after, digest = await self._copy.packed_upto(journal.journal)
        upto = before.number if before is not None else 0
        await self._copy.copy_journal(journal.journal, self._records(journal, after, digest, end, before), upto)

    async def _records(
        self, journal: Journal, after: int, digest: bytes, end: JournalEnd, before: JournalEnd | None
    ) -> AsyncIterator[SealedRecord]:
        """Yields the records up to the end. Raises Refused if the lake's history differs from the backup's."""
        number = after
        if number >= end.number:
            return
        async for sealed in journal.records(after):
            try:
                check_link(sealed, journal.journal, number, digest)
            except Corrupt as error:
                raise _another_history(self._target) from error
            number, digest = sealed.record.number, sealed.digest
            if before is not None and number == before.number and digest.hex() != before.digest:
                raise _another_history(self._target)
            yield sealed
            if number == end.number:
                return
        raise Corrupt(f"record {number + 1} of {journal.journal} is gone")


HELD = "backup"


async def abandon_held(lake: Lake, repository: str, actor: Actor) -> None:
    """Abandons what backups hold open in a repository."""
    from lochan.journal.group import AppendRequest

    journal = await lake.journal(repository)
    try:
        refs = (await journal.fresh()).of(Refs)
        held = tuple(id for id, each in refs.collection.all_held() if each.kind == HELD)
        if held:
            with suppress(LochanError):  # it expires by itself
                await journal.submit(AppendRequest(actor, lambda state: [Abandoned(held)]))
    finally:
        await journal.close()


async def check_target(target: Store, lake: Lake) -> BackupManifest | None:
    """Returns the manifest of the last backup there, or None if there is none yet. Raises Refused if the place holds
    something else."""
    if target.url.rstrip("/") == lake.url.rstrip("/"):
        raise Refused("a lake cannot be backed up into itself", hint="name another folder or bucket")
    try:
        there = await get_decoded(target, lake_file.PATH, lambda data: lake_file.decode(data, target.url))
    except NotFound:
        pass
    except (Corrupt, FutureFormat) as error:
        raise Refused(f"{target.url} holds a lake: {error.message}", hint="name an empty folder or prefix") from error
    else:
        which = "this lake itself" if there.lake == lake.id else "another lake"
        raise Refused(f"{target.url} is {which}, and no backup", hint="name an empty folder or prefix")
    try:
        manifest = await read_manifest(target)
    except NotFound:
        await _check_unfinished(target, lake)
        return None
    if manifest.lake != lake.id:
        raise Refused(
            f"{target.url} is a backup of another lake: {manifest.lake}, not {lake.id}", hint="name another place"
        )
    return manifest


async def _check_unfinished(target: Store, lake: Lake) -> None:
    """Raises Refused if a place without a manifest holds anything but the remains of a first backup of this lake."""
    ids = {each.id for each in await lake.repositories()} | {"_lake"}
    first = await anext(aiter(target.list("")), None)
    if first is not None and first.path.partition("/")[0] not in ids:
        raise Refused(
            f"{target.url} is not empty, and holds no backup: {first.path} is there", hint="name an empty folder"
        )


async def read_manifest(target: Store) -> BackupManifest:
    """Returns the manifest. Raises NotFound, Corrupt or FutureFormat."""
    what = f"{target.url}/{MANIFEST}"

    def decode(data: bytes) -> BackupManifest:
        unsealed = json_file.unseal(data, what, _RESTORE)
        if unsealed.fields.get("format", 0) > VERSION:
            raise FutureFormat(f"{what} was written by a newer Lochan", hint="upgrade Lochan to read it")
        return json_file.convert(unsealed, BackupManifest, what, _RESTORE)

    return await get_decoded(target, MANIFEST, decode)


def _snapshot(state: State) -> State:
    """Returns a copy of the state as it is now. The journal's own state keeps changing."""
    return state.schema.restore(state.checkpoint())


def _another_history(target: Store) -> Refused:
    return Refused(
        f"the lake's journal is not the one that {target.url} is a backup of: the lake was restored from an older copy",
        hint="keep that backup, and make a new one in another place",
    )
