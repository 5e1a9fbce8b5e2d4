"""A workspace as programs use it, and its name in a ref."""

import pytest

from lochan.errors import Invalid, NotFound, Refused
from lochan.ids import Ids
from lochan.versioning import branches, head_moves, objects
from lochan.versioning.expression import parse
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces.handle import WorkspaceHandle, handle_of, open_handle
from tests.run import run
from tests.unit.versioning.workspace_place import ANN, BOB, once, read, repository_with


async def with_handle() -> tuple[OpenRepository, WorkspaceHandle]:
    repository = await repository_with(my_collection="1")
    return repository, await open_handle(repository, "main", "a job", actor=ANN)


async def write_at(repository: OpenRepository, url: str, text: str) -> None:
    """Writes like a program that got only the path."""
    await repository.store.put(url.removeprefix("memory:///"), text.encode())


def test_write_to_the_path_and_commit_everything() -> None:
    async def play() -> None:
        repository, ws = await with_handle()
        await write_at(repository, ws.path("another/location") + "/part-0", "x")
        id, made = await ws.all().commit("commit everything!", metadata={"job": "7"})
        assert (made.message, made.metadata) == ("commit everything!", {"job": "7"})
        assert await read(repository, id) == {"my/collection": "1", "another/location/part-0": "x"}

    run(play())


def test_add_some_and_commit_them() -> None:
    async def play() -> None:
        repository, ws = await with_handle()
        for name in ("a.parquet", "deep/b.parquet", "c.tmp", "another/location/_SUCCESS"):
            await ws.put(name, once(b"x"))
        assert await ws.add("**/*.parquet") is ws
        assert [each.path for each in await ws.diff() if each.selected] == ["a.parquet", "deep/b.parquet"]
        await ws.add("another/location/_SUCCESS").commit("some of the stuff")
        assert sorted(await read(repository, "main")) == [
            "a.parquet",
            "another/location/_SUCCESS",
            "deep/b.parquet",
            "my/collection",
        ]

    run(play())


def test_read_list_delete_and_revert() -> None:
    async def play() -> None:
        _, ws = await with_handle()
        await ws.put("x", once(b"0123"))
        assert (await ws.get("x")).size == 4
        assert b"".join([piece async for piece in ws.read("x", 1, 3)]) == b"12"
        assert [entry.path for entry in (await ws.list()).entries] == ["my/collection", "x"]
        assert await ws.delete("my/collection") == ["my/collection"]
        assert await ws.revert("x") == 1
        assert (await ws.list()).entries == []
        assert await ws.revert() == 1
        assert [entry.path for entry in (await ws.list()).entries] == ["my/collection"]
        with pytest.raises(NotFound):
            await ws.get("x")

    run(play())


@pytest.mark.parametrize("end", ["commit", "drop"])
def test_nothing_goes_on_a_handle_that_is_closed(end: str) -> None:
    async def play() -> None:
        repository, ws = await with_handle()
        await ws.put("x", once(b"1"))
        other = await handle_of(repository, ws.id, actor=BOB)
        await (ws.all().commit("m") if end == "commit" else ws.drop())
        closed = "was committed as" if end == "commit" else "was dropped"
        for attempt in (lambda: ws.path("x"), ws.all, lambda: ws.add("x")):
            with pytest.raises(Refused, match=closed):
                attempt()
        for handle in (ws, other):
            for work in (
                handle.put("y", once(b"")),
                handle.get("x"),
                handle.list(),
                handle.delete("x"),
                handle.diff(),
                handle.revert(),
                handle.drop(),
                handle.commit("again"),
            ):
                with pytest.raises(Refused, match=closed):
                    await work
        with pytest.raises(Refused, match=closed):
            await handle_of(repository, ws.id, actor=ANN)

    run(play())


def test_a_commit_that_is_asked_for_again_with_its_key() -> None:
    async def play() -> None:
        repository, ws = await with_handle()
        await ws.put("x", once(b"1"))
        other = await handle_of(repository, ws.id, actor=ANN)
        key = Ids().idempotency_key(repository.clock.wall())
        first = await ws.add("x").commit("m", key=key)
        assert await other.add("x").commit("m", key=key) == first

    run(play())


def test_paths_lead_to_the_folder_and_nowhere_else() -> None:
    async def play() -> None:
        repository, ws = await with_handle()
        root = f"memory:///{repository.repository.id}/workspaces/{ws.id}/"
        assert ws.path() == root
        assert ws.path("a/ü 1%") == f"{root}a/ü 1%"
        assert ws.path("folder/") == f"{root}folder/"
        for path in ("../x", "a//b", "/a", "a\0", "a/../b"):
            with pytest.raises(Invalid):
                ws.path(path)

    run(play())


# --- as a ref --------------------------------------------------------------------------------------------------------
def test_the_expression() -> None:
    found = parse("main+17-9f3a6c21")
    assert (found.name, found.workspace, found.steps, found.only) == ("main", "17-9f3a6c21", (), "")


@pytest.mark.parametrize("text", ["main+", "main+17", "main+17-9f3a6c21~1", "main+17-9F3A6C21", "main~1+17-9f3a6c21"])
def test_invalid_expressions(text: str) -> None:
    with pytest.raises(Invalid):
        parse(text)


def test_a_workspace_is_read_by_its_ref_and_is_no_commit() -> None:
    async def play() -> None:
        repository, ws = await with_handle()
        await ws.put("x", once(b"1"))
        assert (await objects.stat(repository, ws.ref, "x")).size == 1
        await branches.create_branch(repository, "dev", "main", actor=ANN)
        with pytest.raises(Invalid, match="workspace of branch 'main'"):
            await objects.stat(repository, f"dev+{ws.id}", "x")
        with pytest.raises(NotFound, match="no workspace"):
            await objects.stat(repository, "main+1-00000000", "x")
        for work in (
            branches.create_branch(repository, "new", ws.ref, actor=ANN),
            branches.create_tag(repository, "v1", ws.ref, actor=ANN),
            head_moves.merge(repository, ws.ref, "dev", actor=ANN),
            head_moves.revert(repository, "main", ws.ref, actor=ANN),
        ):
            with pytest.raises(Invalid, match="is a workspace, and a commit is wanted"):
                await work

    run(play())
