"""The files of deleted repositories go after their window, and only theirs. What nobody named is found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lochan.api.lake import Lake
from lochan.api.session import Session
from lochan.errors import Corrupt, Gone, NotFound, Refused
from lochan.formats.lake_events import RepositoryDeleted
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.record import Actor, RecordChange
from lochan.formats.repository_events import RepositoryReopened, Staged
from lochan.journal.group import AppendRequest, GroupCommit
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore
from lochan.versioning import objects
from lochan.versioning.collection import deleted, strays
from lochan.versioning.collection.leftovers import delete_old_jobs
from lochan.versioning.deletion import close
from tests.run import run

ANN = Actor("ann", "test", "here")


class Place:
    def __init__(self, opened: OpenLake) -> None:
        self.opened = opened
        self.lake = Lake(Session(opened, ANN))

    @classmethod
    async def made(cls, folder: Path) -> "Place":
        return cls(await OpenLake.create(LocalStore(str(folder / "lake"), create=True)))

    async def deleted(self, name: str, undo_days: float = 0) -> str:
        """A repository with an object, which was deleted; its id."""
        repository = await self.lake.create_repository(name)
        await repository.gc.set_rules([], undo_days)
        await repository.branch().put("a", b"1")
        await repository.branch().commit("one")
        id = (await repository.show()).id
        await repository.delete()
        return id

    async def files(self, id: str) -> set[str]:
        return {stat.path.split("/")[1] async for stat in self.opened.store.list(f"{id}/")}


def test_all_but_the_journal_goes_after_the_window_and_the_grace(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        id = await place.deleted("shop")
        kept = await place.deleted("kept", undo_days=30)
        await place.lake.create_repository("alive")
        (planned,) = await place.lake.deleted.plan()
        assert (planned.name, planned.expired) == ("shop", True)
        assert {each.kind for each in planned.kinds} == {"data", "metarange", "range"}
        with pytest.raises(Gone):
            await place.lake.restore_repository(id)
        with pytest.raises(Refused, match="grace"):
            await place.lake.deleted.sweep(confirmed=True)
        with pytest.raises(Refused, match="all files of 'shop'"):
            await place.lake.deleted.sweep(grace_hours=0)
        (erased,) = await place.lake.deleted.sweep(grace_hours=0, confirmed=True)
        assert (erased.files, erased.bytes) == (planned.files, planned.bytes)
        assert await place.files(id) == {"journal", "plans"}
        assert "data" in await place.files(kept)
        with pytest.raises(NotFound):
            await place.lake.deleted.status([id])
        with pytest.raises(Refused, match="can be restored for 30"):
            await place.lake.deleted.plan(["kept"])
        await (await place.lake.restore_repository("kept")).branch().put("b", b"2")
        await place.lake.close()

    run(play())


def test_run_does_what_is_due_and_says_why_it_waits(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        id = await place.deleted("shop")
        first = await place.lake.deleted.run(0)
        assert [each.id for each in first.planned] == [id]
        second = await place.lake.deleted.run(0)
        assert "all files of 'shop' would be deleted" in second.waits[0]
        third = await place.lake.deleted.run(0, confirmed=True)
        assert [each.id for each in third.erased] == [id]
        await place.lake.close()

    run(play())


def test_a_deleted_repository_that_is_open_again_is_left_alone(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        id = await place.deleted("shop")
        (gone,) = await place.opened.deleted_repositories()
        own = await place.opened.journal(id)
        await own.submit(AppendRequest(ANN, lambda _: [RepositoryReopened(gone.closed)]))
        await own.close()
        with pytest.raises(Corrupt, match="yet its journal is open"):
            await place.lake.deleted.plan()
        await place.lake.close()

    run(play())


def test_one_that_is_restored_while_it_expires_is_no_alarm(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        await place.deleted("shop")
        (age,) = await deleted.ages(place.opened)
        again = await place.lake.restore_repository("shop")
        with pytest.raises(Refused, match="was restored meanwhile"):
            await deleted.expire_deleted(place.opened, age, actor=ANN)
        assert await again.branch().read("a") == b"1"
        await place.lake.close()

    run(play())


def test_a_file_that_another_repository_names_stops_the_sweep(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        other = await place.lake.create_repository("other")
        await place.lake.create_repository("shop")
        shop = place.lake.repository("shop")
        await shop.gc.set_rules([], 0)
        await shop.branch().put("a", b"1")
        taken = await place.opened.open_repository("shop")
        (staged,) = (await objects.list_objects(taken, "main")).entries
        await taken.close()
        thief = await place.opened.open_repository("other")
        await thief.submit(ANN, Staged("main", (staged,)))  # no verb does this
        await thief.close()
        await other.branch().commit("stolen")
        await shop.delete()
        await place.lake.deleted.plan()
        with pytest.raises(Corrupt, match="'other' names"):
            await place.lake.deleted.sweep(grace_hours=0, confirmed=True)
        assert await other.branch().read("a") == b"1"
        await place.lake.close()

    run(play())


def test_what_an_older_version_deleted_is_found_and_can_be_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        id = await place.deleted("shop")
        own = await place.opened.journal(id)
        (gone,) = await place.opened.deleted_repositories()
        await place.lake.restore_repository("shop")
        await own.close()
        with monkeypatch.context() as older:
            older.setattr(GroupCommit, "_entry", _as_version_1(GroupCommit._entry))
            await (await place.opened.journal()).submit(AppendRequest(ANN, lambda _: [RepositoryDeleted(id)]))
        assert await place.opened.deleted_repositories() == []
        assert gone.repository.name == "shop"
        with pytest.raises(NotFound):
            await place.lake.restore_repository("shop")
        done = await place.lake.deleted.run()
        assert done.found == (id,)
        back = await place.lake.restore_repository("shop")
        assert await back.branch().read("a") == b"1"
        await place.lake.close()

    run(play())


def _as_version_1(entry: Callable[..., Any]) -> Callable[..., Any]:
    """Its events are written as an older version did."""

    def older(self: GroupCommit, *args: Any) -> Any:
        made = entry(self, *args)
        changes = tuple(RecordChange(each.type, 1, each.payload) for each in made.changes)
        return type(made)(made.actor, made.key, made.fingerprint, changes, made.pending)

    return older


def test_a_repository_that_never_got_a_name_is_found_when_nobody_writes_to_it_any_more(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        prepared = await place.opened.prepare_pool("logs", PoolSettings(), actor=ANN)
        id = prepared.repository.id
        assert await strays.find_strays(place.opened) == [], "its creator may still be at work"
        (found,) = await strays.find_strays(place.opened, silent_s=-1)
        assert found.is_nameless
        assert await strays.adopt(place.opened, found, actor=ANN)
        assert not await strays.adopt(place.opened, found, actor=ANN), "once"
        with pytest.raises(Refused, match="given up"):
            await place.opened.name_pool(prepared, actor=ANN)
        await prepared.close()
        (planned,) = await place.lake.deleted.plan()
        assert (planned.id, planned.name) == (id, "")
        await place.lake.deleted.sweep(grace_hours=0, confirmed=True)
        assert await place.files(id) == {"journal", "plans"}
        assert await strays.find_strays(place.opened, silent_s=-1) == []
        await place.lake.close()

    run(play())


def test_who_gets_the_name_first_keeps_it(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        prepared = await place.opened.prepare_pool("logs", PoolSettings(), actor=ANN)
        (found,) = await strays.find_strays(place.opened, silent_s=-1)
        await place.opened.name_pool(prepared, actor=ANN)
        assert not await strays.adopt(place.opened, found, actor=ANN)
        await prepared.close()
        await place.lake.close()

    run(play())


def test_what_a_stalled_writer_leaves_in_an_erased_repository_goes(tmp_path: Path) -> None:
    """It had looked at the journal before the repository was deleted, and its bytes come when all others are gone."""

    async def play() -> None:
        place = await Place.made(tmp_path)
        id = await place.deleted("shop")
        await place.lake.deleted.plan()
        await place.lake.deleted.sweep(grace_hours=0, confirmed=True)
        before = await place.files(id)
        await place.opened.store.put(f"{id}/data/00000000000000000003-w/late", b"late")
        assert (await place.lake.deleted.run()).temporary == 1
        assert await place.files(id) == before == {"journal", "plans"}

    run(play())


def test_old_records_of_jobs_go(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        await place.opened.store.put("_lake/jobs/1.json", b"x")
        assert await delete_old_jobs(place.opened.store) == 0
        assert await delete_old_jobs(place.opened.store, older_than_s=-60) == 1
        await place.lake.close()

    run(play())


def test_a_repository_with_a_damaged_journal_can_be_deleted(tmp_path: Path) -> None:
    async def play() -> None:
        place = await Place.made(tmp_path)
        made = await place.lake.create_repository("shop")
        id = (await made.show()).id
        first = next(iter(sorted((tmp_path / "lake" / id / "journal").glob("0*"))))
        first.write_bytes(b"damaged")
        with pytest.raises(Corrupt):
            await close(place.opened.journals(), id, ANN)
        await made.delete()
        assert [each.name async for each in place.lake.deleted_repositories()] == ["shop"]
        await place.lake.close()

    run(play())
