"""Repositories and pools that were deleted: how long each can be restored, and the removal of their files.

`run` does whatever is due, so that calling it once a day is enough: repositories that can no longer be restored are
listed, and a grace later their files are deleted, if that is confirmed. Repositories without a record in the lake are
found too: those that older versions deleted, and those whose creator was killed before they got a name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lochan.api.collection import GRACE_HOURS, KindOfFiles
from lochan.api.collection_times import grace_seconds
from lochan.api.results import Result, moment
from lochan.errors import NotFound, Refused

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.versioning.collection.deleted import DeadFiles, DeletedAge


class DeletedInfo(Result, frozen=True, kw_only=True):
    name: str  # empty if it never had one
    id: str
    kind: str  # files, pool
    deleted: datetime
    deleted_by: str
    until: datetime | None  # it can be restored until then; None if it has expired, or never had a name


class DeletedPlan(Result, frozen=True, kw_only=True):
    name: str
    id: str
    expired: bool  # whether it can no longer be restored
    until: datetime | None
    files: int
    bytes: int
    kinds: tuple[KindOfFiles, ...]


class ErasedResult(Result, frozen=True, kw_only=True):
    name: str
    id: str
    files: int
    bytes: int


class DeletedRun(Result, frozen=True, kw_only=True):
    found: tuple[str, ...]  # ids of repositories that the lake did not know
    planned: tuple[DeletedPlan, ...]  # repositories that can no longer be restored
    erased: tuple[ErasedResult, ...]
    records: int  # old records of jobs that were deleted
    temporary: int  # deleted files: those of killed processes on a local disk, and late ones in erased repositories
    waits: tuple[str, ...]  # why something was not done


class DeletedCollection:
    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return "<DeletedCollection>"

    async def status(self, names: Sequence[str] = ()) -> list[DeletedPlan]:
        """Returns what deleted repositories have on the store, and how long each can be restored. `names` may be ids.
        Changes nothing. Raises NotFound."""
        from lochan.versioning.collection.deleted import ages, files_of

        lake = self._session.lake
        found = _choose(await ages(lake, stamps=False), names)
        return [_deleted_plan(age, await files_of(lake, age.about)) for age in found]

    async def plan(self, names: Sequence[str] = ()) -> list[DeletedPlan]:
        """Lists the files of repositories that were deleted longer ago than their window. From then on they cannot be
        restored. Raises NotFound; Refused if one that is named can still be restored."""
        from lochan.versioning.collection.deleted import ages, expire_deleted

        lake = self._session.lake
        found = _choose([age for age in await ages(lake) if not age.about.list], names)
        due = [age for age in found if age.is_due or names]
        return [
            _deleted_plan(age, await expire_deleted(lake, age, actor=self._session.actor), listed=True) for age in due
        ]

    async def sweep(
        self, names: Sequence[str] = (), grace_hours: float = GRACE_HOURS, *, confirmed: bool = False
    ) -> list[ErasedResult]:
        """Deletes the files of repositories that `plan` has listed; their journals stay. It can be repeated. Raises
        NotFound; Refused if it is not `confirmed`, or the list is younger than the grace; Corrupt if another repository
        names one of the files, and then nothing is deleted."""
        from lochan.versioning.collection.deleted import ages, erase_deleted
        from lochan.versioning.collection.plan import CollectionLimits

        lake = self._session.lake
        expired = _choose([age for age in await ages(lake) if age.about.list], names)
        if not expired:
            raise Refused("no deleted repository has expired", hint="`lochan gc plan --deleted` lists what has")
        limits = CollectionLimits(grace_s=grace_seconds(grace_hours), confirmed=confirmed)
        made = await erase_deleted(lake, expired, limits, actor=self._session.actor)
        return [ErasedResult(name=each.name, id=each.id, files=each.files, bytes=each.bytes) for each in made]

    async def run(self, grace_hours: float = GRACE_HOURS, *, confirmed: bool = False) -> DeletedRun:
        """Does what is due: finds repositories that the lake does not know, sweeps, plans, and deletes old records of
        jobs and temporary files. Raises Corrupt as `sweep` does."""
        from lochan.versioning.collection.deleted import ages, erase_late_files
        from lochan.versioning.collection.leftovers import delete_old_jobs, delete_temporary_files
        from lochan.versioning.collection.strays import adopt, find_strays

        lake, actor = self._session.lake, self._session.actor
        strays = [stray for stray in await find_strays(lake) if await adopt(lake, stray, actor=actor)]
        erased: list[ErasedResult] = []
        waits: list[str] = []
        for age in [each for each in await ages(lake) if each.about.list]:
            try:
                erased += await self.sweep([age.about.id], grace_hours, confirmed=confirmed)
            except Refused as error:  # too early, or not confirmed
                waits.append(str(error))
        late = await erase_late_files(lake)
        return DeletedRun(
            found=tuple(stray.event.id for stray in strays),
            planned=tuple(await self.plan()),
            erased=tuple(erased),
            records=await delete_old_jobs(lake.store),
            temporary=delete_temporary_files(lake.store, lake.clock) + late,
            waits=tuple(waits),
        )


def deleted_info(age: DeletedAge) -> DeletedInfo:
    about = age.about
    return DeletedInfo(
        name=about.repository.name,
        id=about.id,
        kind=about.repository.kind,
        deleted=moment(about.deleted),
        deleted_by=about.deleted_by,
        until=_restorable_until(age),
    )


def _restorable_until(age: DeletedAge) -> datetime | None:
    can_be_restored = age.about.repository.name and not age.about.list
    return moment(round(age.until * 1e6)) if can_be_restored else None


def _choose(found: list[DeletedAge], names: Sequence[str]) -> list[DeletedAge]:
    """Returns the repositories with these names or ids."""
    chosen = [age for age in found if not names or age.about.id in names or age.about.repository.name in names]
    for name in names:
        if not any(name in (age.about.id, age.about.repository.name) for age in chosen):
            raise NotFound(f"no deleted repository {name!r} is there", hint="`lochan gc report --deleted` shows them")
    return chosen


def _deleted_plan(age: DeletedAge, dead: DeadFiles, *, listed: bool = False) -> DeletedPlan:
    totals = dead.files.group_by("kind").aggregate([("size", "sum"), ("size", "count")]).sort_by("kind").to_pylist()
    expired = listed or bool(age.about.list)
    return DeletedPlan(
        name=age.about.repository.name,
        id=age.about.id,
        expired=expired,
        until=None if expired else _restorable_until(age),
        files=dead.head.files,
        bytes=dead.head.bytes,
        kinds=tuple(
            KindOfFiles(kind=each["kind"], files=each["size_count"], bytes=each["size_sum"]) for each in totals
        ),
    )
