"""The files of deleted repositories. They are kept while the repository can be restored, then listed, and deleted a
grace later.

    deleted ──window──▶ list its files ──▶ lake: expired ──grace──▶ delete them ──▶ lake: erased

From `expired` on it cannot be restored. Its own journal is closed, so nothing can be added either. The journal and its
segments stay, because they stop a writer that was stalled all the time (J4); the lists stay too.
"""

from collections.abc import Awaitable, Sequence
from typing import NamedTuple, Protocol

import msgspec
import pyarrow as pa

from lochan.clock import Clock
from lochan.concurrency import map_concurrently
from lochan.errors import Corrupt, NotFound, Refused
from lochan.failpoints import fp
from lochan.formats import json_file, plan_list
from lochan.formats.lake_events import RepositoryErased, RepositoryExpired
from lochan.formats.plan_list import FOLDER as PLANS
from lochan.formats.plan_list import LIST_SCHEMA, PLAN_SCHEMA, PlanHead
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.store.protocol import Store
from lochan.versioning.collection.engine import PartWriter, read_head, read_part
from lochan.versioning.collection.foreign_names import check_named_by_none
from lochan.versioning.collection.listing import KINDS
from lochan.versioning.collection.plan import STANDARD, CollectionLimits
from lochan.versioning.collection.reasons import DELETED, added_totals, as_totals, totals_of
from lochan.versioning.collection.store_clock import hours, store_time
from lochan.versioning.deletion import LakeJournals, close, deletion_stamp, put_stamp
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import DeletedRepository, Repositories, Repository

_LAKE = "_lake"
_STAYS = ("journal/", f"{PLANS}/")
_DAY_S = 86_400.0
_AT_ONCE = 32


class CollectedLake(Protocol):
    """An open lake, as far as this module needs it."""

    @property
    def id(self) -> str: ...
    @property
    def store(self) -> Store: ...
    @property
    def files(self) -> Store:
        """Returns a store that sees the files of all repositories, including those with storage of their own."""

    @property
    def clock(self) -> Clock: ...

    def journals(self) -> LakeJournals: ...
    def open_known(self, found: Repository) -> Awaitable[OpenRepository]: ...
    def repositories(self) -> Awaitable[list[Repository]]: ...
    def deleted_repositories(self) -> Awaitable[list[DeletedRepository]]: ...
    def release_storage(self, repository: Repository) -> Awaitable[None]: ...


class DeletedAge(NamedTuple):
    """The progress of a deleted repository towards being erased, by the store's clock."""

    about: DeletedRepository
    until: float  # seconds since 1970: it can be restored until then, and may expire at any time afterwards
    left_s: float  # the time until then; if it has expired, the time since then, as a negative number

    @property
    def is_due(self) -> bool:
        return not self.about.list and self.left_s <= 0


class ErasedFiles(msgspec.Struct, frozen=True):
    """The counts of erased files. Stored as `plans/erased.json`; fields may only be added."""

    id: str
    name: str
    files: int
    bytes: int
    format: int = 1


async def ages(lake: CollectedLake, *, stamps: bool = True) -> list[DeletedAge]:
    """Lists all deleted repositories, the last deleted first. With `stamps`, a deletion that has no time by the store's
    clock gets one: its window begins now."""
    deleted = await lake.deleted_repositories()
    if not deleted:
        return []
    now = await store_time(lake.store, _LAKE) if stamps else lake.clock.wall() / 1e6
    return await map_concurrently(lambda each: _age(lake.files, each, now, stamps), deleted, _AT_ONCE)


async def _age(store: Store, about: DeletedRepository, now: float, stamps: bool) -> DeletedAge:
    if about.list:
        listed = await _modified_at(store, f"{about.id}/{about.list}")
        return DeletedAge(about, 0, (now if listed is None else listed) - now)
    stamp = deletion_stamp(about.id, about.closed)
    begun = await _modified_at(store, stamp)
    if begun is None and stamps:
        await put_stamp(store, about.id, about.closed)
        begun = await _modified_at(store, stamp)
    if begun is None:
        begun = about.deleted / 1e6 if about.closed else now
    until = begun + about.undo_days * _DAY_S
    return DeletedAge(about, until, until - now if about.undo_days else 0)


async def _modified_at(store: Store, path: str) -> float | None:
    try:
        return (await store.head(path)).modified
    except NotFound:
        return None


class DeadFiles(NamedTuple):
    """All files of a deleted repository."""

    head: PlanHead
    files: pa.Table  # LIST_SCHEMA


async def files_of(lake: CollectedLake, about: DeletedRepository) -> DeadFiles:
    """Returns all files of the repository on the store, except for its journal and its lists, sorted by path."""
    rows: list[tuple[str, str, int, int, int]] = []
    async for stat in lake.files.list(f"{about.id}/"):
        path = stat.path[len(about.id) + 1 :]
        if not path.startswith(_STAYS):
            kind, mint = _kind(path)
            rows.append((path, kind, stat.size, mint, round(stat.modified * 1e6)))
    columns = zip(*rows, strict=True) if rows else ([] for _ in PLAN_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PLAN_SCHEMA, strict=True)]
    arrays += [pa.array([DELETED] * len(rows), pa.string()), pa.nulls(len(rows), pa.string())]
    files, size = pa.table(arrays, LIST_SCHEMA), sum(row[2] for row in rows)
    head = PlanHead(
        plan_list.VERSION,
        lake.id,
        about.id,
        0,
        about.closed,
        len(rows),
        size,
        dead_files=len(rows),
        dead_bytes=size,
        totals=as_totals(added_totals([totals_of(files)])),
    )
    return DeadFiles(head, files)


def _kind(path: str) -> tuple[str, int]:
    """Returns the kind of the file and its mint number, or 0 if it has none."""
    for kind in KINDS:
        if path.startswith(kind.folder):
            mint = kind.mint(path[len(kind.folder) :])
            return kind.name, int(mint) if mint.isdecimal() else 0
    return ("checkpoint" if path.startswith("checkpoints/") else "other"), 0


async def expire_deleted(lake: CollectedLake, age: DeletedAge, *, actor: Actor) -> DeadFiles:
    """Lists the files of the repository, and ends the time in which it can be restored. Raises Refused if it can still
    be restored, and Corrupt if its own journal was reopened."""
    about = age.about
    if not age.is_due:
        left = f"{age.left_s / _DAY_S:.1f} days" if age.left_s > _DAY_S else hours(age.left_s)
        raise Refused(f"repository {shown_name(about)} can be restored for {left} more", hint="wait until then")
    await _check_closed(lake, about, about.closed)
    dead = await files_of(lake, about)
    writer = PartWriter(lake.files, about.id, about.closed)
    await writer.add(dead.files)
    file, data = plan_list.encode_head(msgspec.structs.replace(dead.head, parts=await writer.finish()))
    await lake.files.put(f"{about.id}/{file}", data)
    fp("deleted.listed")
    await lake.journals().lake.submit(AppendRequest(actor, lambda _: [RepositoryExpired(about.id, file)]))
    fp("deleted.expired")
    return dead


async def erase_deleted(
    lake: CollectedLake, expired: Sequence[DeletedAge], limits: CollectionLimits = STANDARD, *, actor: Actor
) -> list[ErasedFiles]:
    """Deletes the files of repositories that have expired, no sooner than a grace later. It can be repeated. Raises
    Refused if it is not confirmed or too early, and Corrupt if another repository names one of the files, or a list is
    damaged. Nothing is deleted then."""
    for age in expired:
        if -age.left_s < limits.grace_s:
            raise Refused(
                f"{shown_name(age.about)} expired {hours(-age.left_s)} ago, and readers have a grace of "
                f"{hours(limits.grace_s)}",
                hint=f"sweep it in {hours(limits.grace_s + age.left_s)}",
            )
    if expired and not limits.confirmed:
        names = ", ".join(shown_name(age.about) for age in expired)
        raise Refused(f"all files of {names} would be deleted", hint="look at the list, and confirm it with --confirm")
    for age in expired:
        await _check_list(lake, age.about)
        await _check_closed(lake, age.about, await _close(lake, age.about, actor))
    await check_named_by_none(lake, [age.about.id for age in expired])
    fp("deleted.checked")
    return [await _erase(lake, age.about, actor) for age in expired]


async def _erase(lake: CollectedLake, about: DeletedRepository, actor: Actor) -> ErasedFiles:
    dead = await files_of(lake, about)
    paths = [f"{about.id}/{path}" for path in dead.files["path"].to_pylist()]
    await map_concurrently(lake.files.delete, paths, _AT_ONCE)
    fp("deleted.swept")
    made = ErasedFiles(about.id, about.repository.name, dead.head.files, dead.head.bytes)
    await lake.files.put(f"{about.id}/{PLANS}/erased.json", json_file.seal(made))
    await lake.journals().lake.submit(
        AppendRequest(actor, lambda _: [RepositoryErased(about.id, made.files, made.bytes)])
    )
    fp("deleted.erased")
    await lake.release_storage(about.repository)
    return made


async def erase_late_files(lake: CollectedLake) -> int:
    """Deletes files that came into repositories after their files were erased, and returns how many there were. Their
    writer had stalled since before the deletion. Its event was refused, because the journal is closed, so nothing names
    the files."""
    state = (await lake.journals().lake.fresh()).of(Repositories)
    late = [
        stat.path
        for id in state.erased_ids()
        async for stat in lake.files.list(f"{id}/")
        if not stat.path.startswith(tuple(f"{id}/{folder}" for folder in _STAYS))
    ]
    await map_concurrently(lake.files.delete, late, _AT_ONCE)
    return len(late)


async def _close(lake: CollectedLake, about: DeletedRepository, actor: Actor) -> int:
    """Closes the journal of the repository if it is still open. That is so if an older version deleted it, or if it
    never had a name."""
    if about.closed:
        return about.closed
    try:
        return (await close(lake.journals(), about.id, actor)).number
    except Corrupt:
        return 0


async def _check_closed(lake: CollectedLake, about: DeletedRepository, closed: int) -> None:
    """Raises Corrupt if the repository's journal is open. This is the first tripwire: by the rules a deleted repository
    is never open again. Raises Refused if it was restored since this began."""
    if not closed:
        return
    repository = await open_deleted(lake, about)
    try:
        refs, _ = await repository.refs()
        if refs.guard.closed != closed:
            now = (await lake.journals().lake.fresh()).of(Repositories).was_deleted(about.id)
            if now is None or now.closed != about.closed:
                raise Refused(f"repository {shown_name(about)} was restored meanwhile", hint="there is nothing to do")
            raise Corrupt(
                f"repository {shown_name(about)} is deleted, and yet its journal is open",
                hint="nothing was deleted; report this",
            )
    finally:
        await repository.close()


async def open_deleted(lake: CollectedLake, about: DeletedRepository) -> OpenRepository:
    """Opens a deleted repository for reading. It cannot be written to."""
    opened = await lake.open_known(about.repository)
    opened.settle_closed = None
    return opened


async def _check_list(lake: CollectedLake, about: DeletedRepository) -> None:
    head = await read_head(lake.files, about.id, about.list)
    for part in head.parts:
        await read_part(lake.files, about.id, part)
    if (head.lake, head.repository) != (lake.id, about.id):
        raise Corrupt(f"the list {about.list} is that of another lake or repository", hint="nothing was deleted")


def shown_name(about: DeletedRepository) -> str:
    return repr(about.repository.name) if about.repository.name else f"{about.id}, which never had a name,"
