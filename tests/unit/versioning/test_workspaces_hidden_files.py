"""Deleted, replaced or reverted files of a workspace are hidden by their stamp until somebody writes again."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from lochan.errors import Refused, Transient, Unknown
from lochan.formats.events import Vocabulary, change
from lochan.formats.record import RecordChange
from lochan.formats.workspace_events import WorkspaceReverted, WorkspaceStaged
from lochan.journal.state import Schema
from lochan.lake import Lake
from lochan.store.capabilities import Wrapper
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Stat, Store
from lochan.versioning import objects
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.workspaces import NO_FILES
from lochan.versioning.workspaces import selection, write
from lochan.versioning.workspaces import selection as diff
from lochan.versioning.workspaces.write import find
from tests.run import run
from tests.unit.versioning.workspace_place import (
    ANN,
    BOB,
    commit_all,
    once,
    opened,
    read,
    repository_with,
    write_file,
)
from tests.unit.versioning.workspace_place import (
    change as committed_change,
)


class LikeABucket(Wrapper):
    """An ETag is the MD5 of the bytes, and a HEAD gives the time in whole seconds, although a list does not."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())

    async def head(self, path: str) -> Stat:
        stat = await self._told(await self.inner.head(path))
        return stat._replace(modified=float(int(stat.modified)))

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        async for stat in self.inner.list(prefix, after):
            yield await self._told(stat)

    async def _told(self, stat: Stat) -> Stat:
        data = await self.inner.get(stat.path)
        return stat._replace(etag=f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"')


async def repository_on(store: Store) -> OpenRepository:
    lake = await Lake.create(store)
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    await committed_change(repository, {"a": "1", "b": "2"})
    return repository


@pytest.fixture(params=["bucket", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return LikeABucket() if request.param == "bucket" else LocalStore(str(tmp_path / "lake"), create=True)


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["new", "file"], ids=["another", "the same bytes"])
@pytest.mark.parametrize("verb", ["delete", "put", "stage", "revert"])
def test_what_another_program_writes_afterwards_is_seen_and_committed(store: Store, verb: str, text: str) -> None:
    async def play() -> None:
        repository = await repository_on(store)
        workspace = await opened(repository)
        await write_file(repository, workspace, "a", "file")
        match verb:
            case "delete":
                await write.delete(repository, workspace.id, ["a"], actor=ANN)
                meant = {"b": "2"}
            case "put" | "stage":
                notes = {"k": "v"} if verb == "stage" else {}
                await write.put(repository, workspace.id, "a", once(b"ours"), actor=ANN, metadata=notes)
                meant = {"a": "ours", "b": "2"}
            case _:
                await selection.revert(repository, workspace.id, ["a"], actor=ANN)
                meant = {"a": "1", "b": "2"}
        assert await read(repository, workspace.ref) == meant
        assert (await objects.stat(repository, workspace.ref, "b")).size == 1
        await write_file(repository, workspace, "a", text)
        assert await read(repository, workspace.ref) == {"a": text, "b": "2"}
        assert (await objects.stat(repository, workspace.ref, "a")).size == len(text)
        await commit_all(repository, workspace)
        assert await read(repository, "main") == {"a": text, "b": "2"}

    run(play())


def test_what_is_hidden_is_in_no_list_diff_or_commit(store: Store) -> None:
    async def play() -> None:
        repository = await repository_on(store)
        workspace = await opened(repository)
        for path in ("a", "x/1", "x/2"):
            await write_file(repository, workspace, path, "file")
        assert await selection.revert(repository, workspace.id, ["a", "x/1"], actor=ANN) == 2
        assert [each.path for each in await diff.diff(repository, workspace.id)] == ["x/2"]
        page = await objects.list_objects(repository, workspace.ref, delimiter="/")
        assert ([each.path for each in page.entries], page.prefixes) == (["a", "b"], ["x/"])
        assert await selection.revert(repository, workspace.id, ["x/1"], actor=ANN) == 0
        await commit_all(repository, workspace)
        assert await read(repository, "main") == {"a": "1", "b": "2", "x/2": "file"}

    run(play())


def test_a_reopened_lake_shows_the_same(store: Store) -> None:
    async def play() -> None:
        repository = await repository_on(store)
        workspace = await opened(repository)
        await write_file(repository, workspace, "a", "file")
        await write.delete(repository, workspace.id, ["a"], actor=ANN)
        again = await (await Lake.open(store)).open_repository("demo-repo")
        assert await read(again, workspace.ref) == {"b": "2"}
        before = repository.folded()
        other = Schema(Refs).empty("x").of(Refs)
        other.load(msgspec.Raw(msgspec.msgpack.encode(before.dump())))
        kept = other.workspaces.get(workspace.id).hidden
        assert kept.merged() == before.workspaces.get(workspace.id).hidden.merged() != {}

    run(play())


def test_more_files_than_fit_one_event_are_reverted() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        for number in range(1_203):
            await write_file(repository, workspace, f"f/{number:04}", "x")
        _, before = await repository.refs()
        assert await selection.revert(repository, workspace.id, ["f/*"], actor=ANN) == 1_203
        assert (await repository.refs())[1] == before + 3
        assert await read(repository, workspace.ref) == {"a": "1"}

    run(play())


def test_too_many_hidden_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        for path in ("x", "y", "z"):
            await write_file(repository, workspace, path, "x")
        monkeypatch.setattr(write, "_HIDDEN_MAX", 2)
        with pytest.raises(Refused, match="at most 2 files") as error:
            await selection.revert(repository, workspace.id, actor=ANN)
        assert "drop the workspace" in error.value.hint
        with pytest.raises(Refused, match="at most 2 files"):
            await write.delete(repository, workspace.id, ["x", "y", "z"], actor=ANN)
        assert len(await read(repository, workspace.ref)) == 4

    run(play())


def test_a_path_below_a_file_that_was_deleted_can_be_put_on_a_disk(tmp_path: Path) -> None:
    """The file stays on the disk, where nothing can be below it."""

    async def play() -> None:
        repository = await repository_on(LocalStore(str(tmp_path / "lake"), create=True))
        workspace = await opened(repository)
        await write.put(repository, workspace.id, "x", once(b"file"), actor=ANN)
        await write.delete(repository, workspace.id, ["x"], actor=ANN)
        await write.put(repository, workspace.id, "x/y", once(b"below"), actor=ANN)
        await write.put(repository, workspace.id, "x/large", once(bytes(9 << 20)), actor=ANN)
        shown = await read(repository, workspace.ref)
        assert (sorted(shown), shown["x/y"], len(shown["x/large"])) == (["a", "b", "x/large", "x/y"], "below", 9 << 20)
        await commit_all(repository, workspace)
        assert await read(repository, "main") == shown

    run(play())


@pytest.mark.thorough
@pytest.mark.parametrize("size", [9 << 20, (9 << 20) + 1])
def test_a_large_body_is_a_plain_file_on_a_disk_and_staged_on_a_bucket(store: Store, size: int) -> None:
    async def play() -> None:
        repository = await repository_on(store)
        workspace = await opened(repository)
        entry = await write.put(repository, workspace.id, "x", _pieces(size), actor=ANN)
        assert entry.size == size
        in_folder = entry.blocks[0].address == f"{repository.folder(workspace.id).root}x"
        assert in_folder == isinstance(store, LocalStore)
        assert entry.etag == (await objects.stat(repository, workspace.ref, "x")).etag
        again = await write.put(repository, workspace.id, "x", _pieces(size), actor=ANN)
        assert "/data/" in again.blocks[0].address
        md5 = hashlib.md5(bytes(size), usedforsecurity=False).hexdigest()
        assert again.etag == again.checksum == entry.checksum == md5
        assert in_folder or entry.etag == md5
        await commit_all(repository, workspace)
        assert len((await read(repository, "main"))["x"]) == size

    run(play())


async def _pieces(size: int) -> AsyncIterator[bytes]:
    for start in range(0, size, 1 << 20):
        yield bytes(min(1 << 20, size - start))


def test_a_put_that_the_commit_saw_is_not_refused() -> None:
    """It was there at the last look, and only the answer came after the commit."""

    async def play() -> None:
        store = MemoryStore()
        repository = await repository_on(store)
        other = await (await Lake.open(store)).open_repository("demo-repo")
        workspace = await opened(repository)

        class Slow(Wrapper):
            async def put_if_absent(self, path: str, data: bytes) -> None:
                await self.inner.put_if_absent(path, data)
                if path.endswith("/x"):
                    await commit_all(repository, workspace)

        other.store = Slow(store)
        await write.put(other, workspace.id, "x", once(b"seen"), actor=BOB)
        assert (await read(repository, "main"))["x"] == "seen"

    run(play())


def test_a_put_without_an_answer_is_unknown_and_can_be_repeated() -> None:
    async def play() -> None:
        store = MemoryStore()
        repository = await repository_on(store)
        workspace = await opened(repository)

        class Lost(Wrapper):
            async def put_if_absent(self, path: str, data: bytes) -> None:
                await self.inner.put_if_absent(path, data)
                if path.endswith("/x"):
                    raise Transient("no answer")

        repository.store = Lost(store)
        with pytest.raises(Unknown, match="whether 'x' was written is not known"):
            await write.put(repository, workspace.id, "x", once(b"1"), actor=ANN)
        await write.put(repository, workspace.id, "x", once(b"1"), actor=ANN)
        assert (await read(repository, workspace.ref))["x"] == "1"

    run(play())


def test_events_of_the_version_before_keep_their_meaning() -> None:
    words = Vocabulary([WorkspaceStaged, WorkspaceReverted])
    old = msgspec.msgpack.encode({"workspace": "1-00000000", "deletes": ["a"]})
    staged = words.decode(RecordChange("workspace-staged", 1, msgspec.Raw(old)), "repo", 1)
    assert (staged.deletes, staged.hides) == (("a",), {})
    old = msgspec.msgpack.encode({"workspace": "1-00000000", "patterns": ["**"]})
    assert words.decode(RecordChange("workspace-reverted", 1, msgspec.Raw(old)), "repo", 1).hides == {}
    assert change(WorkspaceStaged("1-00000000", hides={"a": "1:2:e"})).version == 2


def test_a_checkpoint_from_before_hid_nothing() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await find(repository, (await opened(repository)).id)
        dumped = msgspec.to_builtins(repository.folded().workspaces.dump())
        dumped[0][0] = dumped[0][0][:-1]  # fields are only ever added at the end
        again = type(repository.folded().workspaces)()
        again.load(msgspec.convert(dumped, type(repository.folded().workspaces.dump())))
        assert again.get(workspace.id).hidden is NO_FILES

    run(play())


def test_stamps_stay_quick_however_many_there_are() -> None:
    hidden = NO_FILES
    for number in range(5_000):
        hidden = hidden.with_files({f"p{number % 4_000}": str(number)})
    assert len(hidden.pieces) <= 14
    assert hidden.get("p7") == "4007"
    assert hidden.get("p3999") == "3999"
    assert len(hidden.merged()) == len(list(hidden)) == 4_000
    assert hidden.with_files({}) is hidden


@pytest.mark.parametrize("damaged", [1, 2], ids=["once", "each time otherwise"])
def test_what_came_damaged_while_it_was_committed_is_read_again(damaged: int) -> None:
    """Otherwise the commit would name the digest of the damaged bytes, and nobody could read the file any more."""

    async def play() -> None:
        store = LikeABucket()
        repository = await repository_on(store)
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "whole")

        class Damaging(Wrapper):
            reads = 0

            async def get_stream(self, path: str) -> AsyncIterator[bytes]:
                async for piece in self.inner.get_stream(path):
                    self.reads += 1
                    yield f"dam{self.reads}e".encode() if self.reads <= damaged else piece

        repository.store = Damaging(store)
        if damaged > 1:
            with pytest.raises(Transient, match="is read differently each time"):
                await commit_all(repository, workspace)
        await commit_all(repository, workspace)
        assert (await read(repository, "main"))["x"] == "whole"

    run(play())


def test_an_etag_that_only_looks_like_an_md5_is_no_damage() -> None:
    """Some buckets encrypt, and their ETags are those of the stored bytes."""

    async def play() -> None:
        store = LikeABucket()

        class Encrypting(Wrapper):
            async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
                async for stat in self.inner.list(prefix, after):
                    yield stat._replace(etag=hashlib.md5(stat.etag.encode(), usedforsecurity=False).hexdigest())

        repository = await repository_on(store)
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "whole")
        repository.store = Encrypting(store)
        await commit_all(repository, workspace)
        assert (await read(repository, "main"))["x"] == "whole"

    run(play())
