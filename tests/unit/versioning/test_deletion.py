"""A deleted repository takes nothing more, and comes back as it was. What was interrupted is settled by the next."""

from pathlib import Path

import pytest

from lochan.errors import AlreadyExists, Conflict, Gone, LochanError, NotFound, Refused
from lochan.formats.lake_events import RepositoryDeleted, RepositoryExpired, RepositoryFound, RepositoryRestored
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning import branches, objects
from lochan.versioning.deletion import close
from tests.run import run
from tests.unit.versioning.history import once

ANN = Actor("ann", "test", "here")


async def made(folder: Path) -> Lake:
    """A repository with a commit-less staged object, a branch and a tag."""
    lake = await Lake.create(LocalStore(str(folder / "lake"), create=True))
    await lake.create_repository("shop", actor=ANN)
    repository = await lake.open_repository("shop")
    await objects.put(repository, "main", "a", once(b"1"), actor=ANN)
    await branches.create_branch(repository, "dev", "main", actor=ANN)
    await branches.create_tag(repository, "v1", "main", actor=ANN)
    await repository.close()
    return lake


async def contents(lake: Lake, name: str) -> tuple[dict[str, bytes], list[str]]:
    repository = await lake.open_repository(name)
    refs, _ = await repository.refs()
    entries = (await objects.list_objects(repository, "main")).entries
    found = {entry.path: await repository.reader.read_all(entry) for entry in entries}
    await repository.close()
    return found, refs.names()


AS_IT_WAS = ({"a": b"1"}, ["main", "dev", "v1"])


def test_it_comes_back_with_all_it_had(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        await lake.delete_repository("shop", actor=ANN)
        with pytest.raises(NotFound):
            await lake.open_repository("shop")
        assert [each.repository.name for each in await lake.deleted_repositories()] == ["shop"]
        assert await lake.restore_repository("shop", actor=ANN) == "shop"
        assert await contents(lake, "shop") == AS_IT_WAS
        assert await lake.deleted_repositories() == []
        repository = await lake.open_repository("shop")
        await objects.put(repository, "main", "b", once(b"2"), actor=ANN)
        with pytest.raises(AlreadyExists, match="is not deleted"):
            await lake.restore_repository("shop", actor=ANN)
        await repository.close()
        await lake.close()

    run(play())


def test_who_had_it_open_adds_nothing(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        repository = await lake.open_repository("shop")
        await repository.refs()
        await lake.delete_repository("shop", actor=ANN)
        with pytest.raises(LochanError, match="deleted"):
            await objects.put(repository, "main", "late", once(b"x"), actor=ANN)
        repository.settle_closed = None  # stalled just before the append
        with pytest.raises(Refused, match="was deleted"):
            await branches.create_tag(repository, "late", "main", actor=ANN)
        await lake.restore_repository("shop", actor=ANN)
        assert await contents(lake, "shop") == AS_IT_WAS
        await branches.create_tag(repository, "now", "main", actor=ANN)
        await repository.close()
        await lake.close()

    run(play())


def test_the_name_may_be_taken(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        await lake.delete_repository("shop", actor=ANN)
        await lake.create_repository("shop", actor=ANN)
        with pytest.raises(AlreadyExists, match="another repository 'shop'") as refused:
            await lake.restore_repository("shop", actor=ANN)
        assert "--as" in refused.value.hint
        await lake.restore_repository("shop", "shop-2", actor=ANN)
        assert await contents(lake, "shop-2") == AS_IT_WAS
        assert (await contents(lake, "shop"))[0] == {}
        await lake.close()

    run(play())


def test_of_two_with_one_name_the_last_comes_back_and_each_by_its_id(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        first = (await lake.repository("shop")).id
        await lake.delete_repository("shop", actor=ANN)
        await lake.create_repository("shop", actor=ANN)
        second = (await lake.repository("shop")).id
        await lake.delete_repository("shop", actor=ANN)
        await lake.restore_repository("shop", actor=ANN)
        assert (await lake.repository("shop")).id == second
        await lake.restore_repository(first, "older", actor=ANN)
        assert await contents(lake, "older") == AS_IT_WAS
        await lake.close()

    run(play())


def test_a_deletion_that_was_interrupted_is_completed_by_the_next(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        id = (await lake.repository("shop")).id
        await close(lake.journals(), id, ANN)
        with pytest.raises(NotFound, match="was deleted"):
            await contents(lake, "shop")
        assert await lake.repositories() == []
        await lake.restore_repository("shop", actor=ANN)
        assert await contents(lake, "shop") == AS_IT_WAS
        await lake.close()

    run(play())


def test_a_deletion_that_was_interrupted_can_be_taken_back(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        id = (await lake.repository("shop")).id
        closing = await close(lake.journals(), id, ANN)
        await lake.restore_repository("shop", actor=ANN)
        with pytest.raises(Conflict, match="restored meanwhile"):  # the deleter was only slow
            await append(lake, RepositoryDeleted(id, closing.number))
        assert await contents(lake, "shop") == AS_IT_WAS
        await lake.close()

    run(play())


def test_a_restoration_that_was_interrupted_is_completed_by_the_next(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        await lake.delete_repository("shop", actor=ANN)
        (gone,) = await lake.deleted_repositories()
        await append(lake, RepositoryRestored(gone.id, "shop", gone.closed))
        assert await contents(lake, "shop") == AS_IT_WAS
        repository = await lake.open_repository("shop")
        assert (await repository.refs())[0].guard.closed == 0
        await repository.close()
        await lake.close()

    run(play())


def test_two_who_delete_it_and_two_who_restore_it_do_it_once(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        id = (await lake.repository("shop")).id
        await lake.delete_repository("shop", actor=ANN)
        (gone,) = await lake.deleted_repositories()
        await append(lake, RepositoryDeleted(id, gone.closed))
        assert len(await lake.deleted_repositories()) == 1
        await lake.restore_repository("shop", actor=ANN)
        await append(lake, RepositoryRestored(id, "shop", gone.closed))
        with pytest.raises(Conflict):
            await append(lake, RepositoryDeleted(id, gone.closed))
        assert await contents(lake, "shop") == AS_IT_WAS
        await lake.close()

    run(play())


def test_a_request_that_is_sent_again_is_done_once(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        delete, restore = (lake.ids.idempotency_key(lake.clock.wall()) for _ in range(2))
        await lake.delete_repository("shop", actor=ANN, key=delete)
        await lake.delete_repository("shop", actor=ANN, key=delete)
        assert await lake.restore_repository("shop", actor=ANN, key=restore) == "shop"
        await lake.delete_repository("shop", actor=ANN, key=delete)
        assert await lake.restore_repository("shop", actor=ANN, key=restore) == "shop"
        assert await contents(lake, "shop") == AS_IT_WAS
        await lake.close()

    run(play())


def test_what_has_expired_stays_away(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        await lake.delete_repository("shop", actor=ANN)
        (gone,) = await lake.deleted_repositories()
        await append(lake, RepositoryExpired(gone.id, "plans/list"))
        for name in ("shop", gone.id):
            with pytest.raises(Gone, match="has expired"):
                await lake.restore_repository(name, actor=ANN)
        await lake.close()

    run(play())


def test_a_creator_that_was_given_up_gets_no_name(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        prepared = await lake.prepare_pool("logs", PoolSettings(), actor=ANN)
        await append(lake, RepositoryFound(prepared.repository.id, "", "pool", "", undo_days=0))
        with pytest.raises(Refused, match="given up"):
            await lake.name_pool(prepared, actor=ANN)
        with pytest.raises(Refused, match="never had a name"):
            await lake.restore_repository(prepared.repository.id, "logs", actor=ANN)
        await prepared.close()
        await lake.close()

    run(play())


def test_a_checkpoint_keeps_what_was_deleted(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await made(tmp_path)
        await lake.delete_repository("shop", actor=ANN)
        await (await lake.journal()).checkpoint()
        await lake.close()
        lake = await Lake.open(LocalStore(str(tmp_path / "lake")))
        await lake.restore_repository("shop", actor=ANN)
        await (await lake.journal()).checkpoint()
        await lake.close()
        lake = await Lake.open(LocalStore(str(tmp_path / "lake")))
        assert await contents(lake, "shop") == AS_IT_WAS
        await lake.close()

    run(play())


async def append(lake: Lake, event: object) -> None:
    await (await lake.journal()).submit(AppendRequest(ANN, lambda _: [event]))  # type: ignore[list-item]
