"""Checks every file of a lake. Damage is reported with its kind, its path, its meaning and what can be done.

    lake.json ─▶ the lake's journal ─▶ each repository: journal ─▶ state ─▶ trees, runs, data ─▶ all other files

The lake can be used meanwhile. Nothing is changed without a repair, which replaces derived files and keeps a copy of
each file that it replaces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

import pyarrow.compute as pc

from lochan.access.encryption import PATH as SECRETS_KEY
from lochan.access.state import AccessState
from lochan.clock import Clock
from lochan.errors import Corrupt, FutureFormat, NotFound
from lochan.formats import job, key_file, lake_file
from lochan.formats.lake_file import LakeFile
from lochan.lake import LAKE_PARTS
from lochan.recovery.check_journal import JournalCheck
from lochan.recovery.check_repository import RepositoryCheck
from lochan.recovery.findings import Finding
from lochan.recovery.lake_files import QUARANTINE, SCRUB, ListedFiles
from lochan.recovery.rebuild import FoldedJournal
from lochan.recovery.rebuild_lake import kept_repositories
from lochan.recovery.repair import Repair
from lochan.recovery.scrub import check_report
from lochan.store.capabilities import TemporaryFiles, capability
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Stat, Store
from lochan.versioning.repositories import Repositories, Repository

LAKE = "_lake"
_KEYS = "_lake/keys/"
_FOREIGN_MAX = 100  # files that are listed by name; the rest is counted
_AFTER_SLASH = "0"  # the character after `/`

Scratch = Callable[[], AbstractContextManager[Store]]


class FsckRequest(NamedTuple):
    repositories: Sequence[str] = ()  # names; without any, all repositories and the lake itself
    data: bool = False  # whether all data is read and hashed too
    repair: bool = False


class FsckTotals:
    def __init__(self) -> None:
        self.repositories = 0
        self.files = 0
        self.bytes = 0
        self.events = 0
        self.damaged = 0
        self.repaired = 0


class Fsck:
    """Checks a lake. `scratch` opens a store for files that a repair makes."""

    def __init__(self, store: Store, request: FsckRequest, scratch: Scratch, clock: Clock) -> None:
        self._store = store
        self._request = request
        self._scratch = scratch
        self._clock = clock
        self.totals = FsckTotals()

    async def run(self) -> AsyncIterator[Finding]:
        """Yields the findings. Raises NotFound for a repository that the lake does not name."""
        async for found in self._findings():
            self.totals.damaged += found.is_damage
            self.totals.repaired += bool(found.repaired)
            yield found

    async def _findings(self) -> AsyncIterator[Finding]:
        lake, found = await self._lake_file()
        if found is not None:
            yield found
        is_mirror = lake is not None and lake.journal != "store"
        journal = JournalCheck(self._store, LAKE, "", LAKE_PARTS, is_mirror=is_mirror)
        folded, findings = await journal.fold()
        if not self._request.repositories:
            async for each in self._repair_findings(None, folded, findings):
                yield each
            async for each in self._small_files(folded):
                yield each
        repositories = folded.state.of(Repositories) if folded else Repositories()
        chosen = [repositories.get(name) for name in self._request.repositories] or kept_repositories(repositories)
        for repository in chosen:
            async for each in self._repository(repository, is_mirror):
                yield each
        if not self._request.repositories:
            async for each in self._check_others(repositories):
                yield each

    async def _lake_file(self) -> tuple[LakeFile | None, Finding | None]:
        try:
            read = partial(lake_file.decode, url=self._store.url)
            return await get_decoded(self._store, lake_file.PATH, read), None
        except NotFound:
            return None, Finding(kind="lake-missing", path=lake_file.PATH)
        except FutureFormat as error:
            return None, Finding(kind="format-newer", path=lake_file.PATH, detail=error.message)
        except Corrupt as error:
            return None, Finding(kind="lake-damaged", path=lake_file.PATH, detail=error.message)

    async def _repository(self, repository: Repository, is_mirror: bool) -> AsyncIterator[Finding]:
        check = RepositoryCheck(self._store, repository, data=self._request.data, is_mirror=is_mirror)
        findings = await check.check()
        self.totals.repositories += 1
        self.totals.files += check.files
        self.totals.bytes += check.bytes
        self.totals.events += check.folded.replay.events if check.folded else 0
        async for each in self._repair_findings(check, check.folded, findings):
            yield each

    async def _repair_findings(
        self, check: RepositoryCheck | None, folded: FoldedJournal | None, findings: list[Finding]
    ) -> AsyncIterator[Finding]:
        if not self._request.repair or folded is None or not any(each.is_damage for each in findings):
            for each in findings:
                yield each
            return
        with self._scratch() as scratch:
            repair = Repair(self._store, scratch, self._clock)
            async for each in repair.repaired(check, folded, findings):
                yield each

    # --- small files of the lake itself ---
    async def _small_files(self, folded: FoldedJournal | None) -> AsyncIterator[Finding]:
        keys: dict[bytes, str] = {}
        paths = set[str]()
        async for stat in self._store.list(_KEYS):
            paths.add(stat.path)
            found = await self._find_damage("key-damaged", stat, partial(_check_key, path=stat.path, others=keys))
            if found:
                yield found
        sealed = [key.id for _, key in folded.state.of(AccessState).key_table.items()] if folded else []
        if sealed and SECRETS_KEY not in paths:
            yield Finding(kind="key-missing", path=SECRETS_KEY, detail=f"access keys: {len(sealed):,}")
        for prefix, kind, decode in (
            (job.PREFIX, "job-damaged", _check_job),
            (SCRUB, "report-damaged", check_report),
        ):
            async for stat in self._store.list(prefix):
                found = await self._find_damage(kind, stat, partial(decode, path=stat.path))
                if found and self._request.repair:
                    with self._scratch() as scratch:
                        moved = await Repair(self._store, scratch, self._clock).set_aside(stat.path)
                    yield _mark_repaired(found, f"moved to {moved}")
                elif found:
                    yield found

    async def _find_damage(self, kind: str, stat: Stat, decode: Callable[[bytes], object]) -> Finding | None:
        try:
            await get_decoded(self._store, stat.path, decode)
        except (Corrupt, FutureFormat) as error:
            return Finding(kind=kind, path=stat.path, detail=error.message)
        except NotFound:
            return None
        return None

    # --- other files ---
    async def _check_others(self, repositories: Repositories) -> AsyncIterator[Finding]:
        names = {each.id: each.name for each in kept_repositories(repositories)}
        async for folder in _folders(self._store):
            listed = await ListedFiles.listed(self._store, folder)
            if _is_repository(folder) and not repositories.knows(folder[:-1]):
                total = pc.sum(listed.table["size"]).as_py() or 0
                yield Finding(kind="repository-unnamed", path=folder, count=len(listed), bytes=total)
                continue
            foreign = listed.foreign()
            for row in foreign.slice(0, _FOREIGN_MAX).to_pylist():
                name = names.get(folder[:-1], "")
                yield Finding(kind="file-foreign", path=row["path"], repository=name, bytes=row["size"])
            if len(foreign) > _FOREIGN_MAX:
                count = len(foreign) - _FOREIGN_MAX
                yield Finding(kind="file-foreign", path=folder, detail="further files", count=count)
        async for stat in self._store.list(QUARANTINE):
            yield Finding(kind="file-quarantined", path=stat.path, bytes=stat.size)
        temporary = capability(self._store, TemporaryFiles)
        for stat in () if temporary is None else temporary.temporary_files():
            yield Finding(kind="file-temporary", path=stat.path, bytes=stat.size)


def _check_key(data: bytes, path: str, others: dict[bytes, str]) -> None:
    """Raises Corrupt if two keys are the same: one was put in place of the other."""
    other = others.setdefault(key_file.decode(data, path), path)
    if other != path:
        raise Corrupt(f"{path} holds the same key as {other}: another file is in its place")


def _check_job(data: bytes, path: str) -> None:
    record = job.decode(data, path)
    if record.id != job.id_of(path):
        raise Corrupt(f"{path} is the record of job {record.id}: another file is in its place")


async def _folders(store: Store) -> AsyncIterator[str]:
    """Yields the first parts of all paths, each with its slash, with one listing for each. A file at the top is listed
    by its own name."""
    after = ""
    while True:
        first = await anext(aiter(store.list("", after)), None)
        if first is None:
            return
        name, slash, _ = first.path.partition("/")
        yield name + slash
        after = name + (_AFTER_SLASH if slash else "")


def _is_repository(folder: str) -> bool:
    return len(folder) == 28 and folder[:-1].isalnum()


def _mark_repaired(found: Finding, how: str) -> Finding:
    import msgspec

    return msgspec.structs.replace(found, repaired=how)
