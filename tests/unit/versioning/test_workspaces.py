"""A workspace is written to, read, and then committed once or dropped; nobody else sees it before."""

import pytest

from lochan.errors import BadDigest, Invalid, NotFound, NothingToDo, Refused
from lochan.versioning import objects
from lochan.versioning.heads.commit import CommitRequest
from lochan.versioning.workspaces import commit, selection, write
from lochan.versioning.workspaces import selection as diff
from lochan.versioning.workspaces import write as registry
from tests.run import run
from tests.unit.versioning.workspace_place import (
    ANN,
    change,
    commit_all,
    once,
    opened,
    read,
    repository_with,
    write_file,
)


def test_files_written_by_others_become_a_commit_without_a_copy() -> None:
    async def play() -> None:
        repository = await repository_with(a="1", dir_b="2")
        workspace = await opened(repository)
        await write_file(repository, workspace, "dir/b", "two")
        await write_file(repository, workspace, "new/ü n€w.csv", "three")
        assert await read(repository, workspace.ref) == {"a": "1", "dir/b": "two", "new/ü n€w.csv": "three"}
        assert await read(repository, "main") == {"a": "1", "dir/b": "2"}
        id = await commit_all(repository, workspace, "from outside")
        assert await read(repository, "main") == {"a": "1", "dir/b": "two", "new/ü n€w.csv": "three"}
        refs, _ = await repository.refs()
        made = refs.commit(id)
        assert (made.message, made.author, made.parents) == ("from outside", "ann", (workspace.fork,))
        entry = await objects.stat(repository, "main", "dir/b")
        assert entry.blocks[0].address == f"{repository.repository.id}/workspaces/{workspace.id}/dir/b"
        assert entry.checksum == entry.etag == "b8a9f715dbb64fd5c56e7783c6820a61"
        lock = f"{repository.repository.id}/workspaces/_committed/{workspace.id}"
        assert await repository.store.get(lock) == f"{id}\n".encode()

    run(play())


def test_the_id_is_the_number_of_the_opening_event_and_a_tail() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        _, before = await repository.refs()
        workspace = await opened(repository)
        number, _, tail = workspace.id.partition("-")
        assert int(number) == before + 1
        assert len(tail) == 8 and int(tail, 16) >= 0
        assert workspace.ref == f"main+{workspace.id}"
        with pytest.raises(NotFound, match="no branch 'other'"):
            await opened(repository, "other")
        assert [each.id for each in await registry.open_workspaces(repository)] == [workspace.id]
        assert await registry.open_workspaces(repository, "dev") == []

    run(play())


def test_a_put_is_a_plain_file_and_no_event() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        _, before = await repository.refs()
        entry = await write.put(repository, workspace.id, "x/y", once(b"hello"), actor=ANN)
        assert (entry.size, entry.checksum) == (5, "5d41402abc4b2a76b9719d911017c592")
        seen = await objects.stat(repository, workspace.ref, entry.path)
        [listed] = (await objects.list_objects(repository, workspace.ref, entry.path)).entries
        assert entry.etag == seen.etag == listed.etag
        assert (await repository.refs())[1] == before
        assert await repository.store.get(f"{repository.repository.id}/workspaces/{workspace.id}/x/y") == b"hello"
        with pytest.raises(BadDigest):
            await write.put(repository, workspace.id, "x/z", once(b"hello"), actor=ANN, expected_md5="0" * 32)
        assert await read(repository, workspace.ref) == {"a": "1", "x/y": "hello"}

    run(play())


def test_what_a_file_cannot_say_is_staged_and_replaces_the_file() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "a", "a file")
        await write.put(repository, workspace.id, "a", once(b"noted"), actor=ANN, metadata={"owner": "ann"})
        assert await read(repository, workspace.ref) == {"a": "noted"}
        await commit_all(repository, workspace)
        entry = await objects.stat(repository, "main", "a")
        assert entry.metadata == {"owner": "ann"}
        assert "/data/" in entry.blocks[0].address

    run(play())


def test_a_file_wins_over_what_is_staged_and_that_over_the_commit() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write.put(repository, workspace.id, "a", once(b"staged"), actor=ANN, content_type="text/plain")
        assert await read(repository, workspace.ref) == {"a": "staged"}
        await write_file(repository, workspace, "a", "file")
        assert await read(repository, workspace.ref) == {"a": "file"}
        assert await write.delete(repository, workspace.id, ["a", "nothing"], actor=ANN) == ["a"]
        assert await read(repository, workspace.ref) == {}
        await write_file(repository, workspace, "a", "again")
        assert await read(repository, workspace.ref) == {"a": "again"}

    run(play())


def test_deletes_are_committed() -> None:
    async def play() -> None:
        repository = await repository_with(a="1", b="2")
        workspace = await opened(repository)
        await write_file(repository, workspace, "only/here", "x")
        assert await write.delete(repository, workspace.id, ["a", "only/here", "none"], actor=ANN) == [
            "a",
            "only/here",
        ]
        assert await read(repository, workspace.ref) == {"b": "2"}
        with pytest.raises(NotFound):
            await objects.stat(repository, workspace.ref, "a")
        await commit_all(repository, workspace)
        assert await read(repository, "main") == {"b": "2"}

    run(play())


def test_what_a_commit_would_change() -> None:
    async def play() -> None:
        repository = await repository_with(a="1", b="22", c="333")
        workspace = await opened(repository)
        await write_file(repository, workspace, "b", "longer")
        await write_file(repository, workspace, "data/new.csv", "12345")
        await write.delete(repository, workspace.id, ["c"], actor=ANN)
        await selection.add(repository, workspace.id, ["data/*"], actor=ANN)
        assert await diff.diff(repository, workspace.id) == [
            ("b", "changed", 2, 6, False),
            ("c", "removed", 3, None, False),
            ("data/new.csv", "added", None, 5, True),
        ]
        assert [each.path for each in await diff.diff(repository, workspace.id, "data/")] == ["data/new.csv"]

    run(play())


def test_only_what_was_added_is_committed() -> None:
    async def play() -> None:
        repository = await repository_with(a="1", old="x")
        workspace = await opened(repository)
        for path in ("t/part-0.parquet", "t/part-1.parquet", "t/_SUCCESS", "t/log.txt"):
            await write_file(repository, workspace, path, path)
        await write.delete(repository, workspace.id, ["old"], actor=ANN)
        request = CommitRequest("some")
        with pytest.raises(NothingToDo, match="nothing was added") as error:
            await commit.commit(repository, workspace.id, request, actor=ANN)
        assert "--all" in error.value.hint
        await selection.add(repository, workspace.id, ["nowhere/*"], actor=ANN)
        with pytest.raises(NothingToDo, match="nothing fits"):
            await commit.commit(repository, workspace.id, request, actor=ANN)
        await selection.add(repository, workspace.id, ["**/*.parquet", "t/_SUCCESS"], actor=ANN)
        await commit.commit(repository, workspace.id, request, actor=ANN)
        assert sorted(await read(repository, "main")) == [
            "a",
            "old",
            "t/_SUCCESS",
            "t/part-0.parquet",
            "t/part-1.parquet",
        ]

    run(play())


def test_patterns_that_are_none() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        for patterns in ([], [""], ["[z-a]"], ["a\ud800"]):
            with pytest.raises(Invalid, match="pattern"):
                await selection.add(repository, workspace.id, patterns, actor=ANN)
            with pytest.raises(Invalid, match="pattern"):
                await selection.revert(repository, workspace.id, patterns, actor=ANN)

    run(play())


def test_parts_are_reverted_and_then_everything() -> None:
    async def play() -> None:
        repository = await repository_with(a="1", b="2")
        workspace = await opened(repository)
        for path in ("a", "x/1", "x/2", "y"):
            await write_file(repository, workspace, path, "new")
        await write.delete(repository, workspace.id, ["b"], actor=ANN)
        await selection.add(repository, workspace.id, ["x/*"], actor=ANN)
        assert await selection.revert(repository, workspace.id, ["x/*", "b"], actor=ANN) == 3
        assert await read(repository, workspace.ref) == {"a": "new", "b": "2", "y": "new"}
        assert await selection.revert(repository, workspace.id, actor=ANN) == 2
        assert await read(repository, workspace.ref) == {"a": "1", "b": "2"}
        assert await diff.diff(repository, workspace.id) == []
        with pytest.raises(NothingToDo, match="nothing was written"):
            await commit_all(repository, workspace)

    run(play())


def test_a_dropped_workspace_is_closed_and_its_files_are_left() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "1")
        await registry.drop(repository, workspace.id, actor=ANN)
        for work in (
            registry.drop(repository, workspace.id, actor=ANN),
            commit_all(repository, workspace),
            objects.stat(repository, workspace.ref, "x"),
            write.put(repository, workspace.id, "y", once(b""), actor=ANN),
            write.delete(repository, workspace.id, ["x"], actor=ANN),
            selection.add(repository, workspace.id, ["**"], actor=ANN),
            selection.revert(repository, workspace.id, actor=ANN),
            diff.diff(repository, workspace.id),
        ):
            with pytest.raises(Refused, match="was dropped"):
                await work
        assert await repository.store.get(f"{repository.repository.id}/workspaces/{workspace.id}/x") == b"1"
        assert await registry.open_workspaces(repository) == []

    run(play())


def test_one_that_changes_nothing_says_so() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "a", "1")
        with pytest.raises(NothingToDo, match="changes nothing"):
            await commit_all(repository, workspace)
        await write_file(repository, workspace, "b", "2")
        await change(repository, {"b": "2"})
        with pytest.raises(NothingToDo, match="is on branch 'main' already"):
            await commit_all(repository, workspace)

    run(play())


@pytest.mark.parametrize("path", ["../up", "a//b", "/a", "a/", "a/./b", "a\0b", "line\nbreak", "", "x" * 1100])
def test_names_that_no_file_can_have_are_refused(path: str) -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        with pytest.raises(Invalid):
            await write.put(repository, workspace.id, path, once(b"x"), actor=ANN)
        assert await read(repository, workspace.ref) == {"a": "1"}

    run(play())


def test_paths_of_the_commit_below_that_no_file_can_have_are_read_and_deleted() -> None:
    async def play() -> None:
        repository = await repository_with()
        await change(repository, {"a//b": "1", "../up": "2", "dir/": "3"})
        workspace = await opened(repository)
        assert await read(repository, workspace.ref) == {"a//b": "1", "../up": "2", "dir/": "3"}
        assert await write.delete(repository, workspace.id, ["a//b", "dir/"], actor=ANN) == ["a//b", "dir/"]
        await commit_all(repository, workspace)
        assert await read(repository, "main") == {"../up": "2"}

    run(play())
