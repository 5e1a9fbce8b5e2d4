"""Workspaces while others work: on the branch, in the folder, in the same workspace."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from lochan.errors import ConcurrentCommit, Conflict, Gone, KeyReused, PathsInTheWay, Refused
from lochan.formats.collection_events import Opened
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.store.capabilities import Wrapper
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Stat
from lochan.versioning import branches, objects
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.commit import CommitRequest
from lochan.versioning.heads.land import FinalConflict
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import REMOVAL
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces import commit, selection, write
from lochan.versioning.workspaces import write as registry
from lochan.versioning.workspaces.commit import BothChanged
from tests.run import run
from tests.unit.versioning.workspace_place import (
    ANN,
    BOB,
    change,
    commit_all,
    once,
    opened,
    read,
    repository_with,
    write_file,
)

pytestmark = pytest.mark.thorough

Meanwhile = Callable[[int], Awaitable[None]]


class Watched(Wrapper):
    """Calls back before each listing of a workspace's folder: the first and the last of a commit."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.listings = 0
        self.meanwhile: Meanwhile | None = None

    async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
        if "/workspaces/" in prefix and self.meanwhile is not None:
            self.listings += 1
            await self.meanwhile(self.listings)
        async for stat in self.inner.list(prefix, after):
            yield stat


async def watched() -> tuple[Watched, OpenRepository, OpenRepository]:
    """One repository, opened by two processes."""
    store = Watched()
    lake = await Lake.create(store)
    await lake.create_repository("demo-repo", actor=ANN)
    other = await Lake.open(store)
    return store, await lake.open_repository("demo-repo"), await other.open_repository("demo-repo")


def test_the_branch_moves_elsewhere_and_the_workspace_lands_on_top() -> None:
    async def play() -> None:
        repository = await repository_with(a="1", b="2")
        workspace = await opened(repository)
        await write_file(repository, workspace, "a", "mine")
        theirs = await change(repository, {"b": "theirs", "c": "new"})
        id = await commit_all(repository, workspace)
        assert await read(repository, "main") == {"a": "mine", "b": "theirs", "c": "new"}
        refs, _ = await repository.refs()
        assert refs.commit(id).parents == (theirs,)

    run(play())


@pytest.mark.parametrize("theirs", [{"a": "theirs"}, {"a": None}], ids=["changed", "deleted"])
def test_a_path_that_the_branch_changed_since_is_a_conflict_and_nothing_moves(theirs: dict[str, str | None]) -> None:
    async def play() -> None:
        repository = await repository_with(a="1", b="2")
        workspace = await opened(repository)
        await write_file(repository, workspace, "a", "mine")
        await write_file(repository, workspace, "z", "mine too")
        head = await change(repository, theirs)
        with pytest.raises(BothChanged, match="'a'") as error:
            await commit_all(repository, workspace)
        assert isinstance(error.value, ConcurrentCommit)
        assert (error.value.paths, error.value.count) == (("a",), 1)
        refs, _ = await repository.refs()
        assert refs.branch("main").head == head
        assert refs.branch("main").turns == ()
        await selection.revert(repository, workspace.id, ["a"], actor=ANN)
        await commit_all(repository, workspace)
        assert (await read(repository, "main"))["z"] == "mine too"

    run(play())


def test_the_same_change_on_both_sides_is_no_conflict() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "a", "same")
        await write_file(repository, workspace, "b", "more")
        await change(repository, {"a": "same"})
        await commit_all(repository, workspace)
        assert await read(repository, "main") == {"a": "same", "b": "more"}

    run(play())


def test_what_is_staged_on_the_branch_stays_and_refuses_only_its_own_paths() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "a", "mine")
        await objects.put(repository, "main", "elsewhere", once(b"staged"), actor=BOB)
        await objects.put(repository, "main", "a", once(b"staged"), actor=BOB)
        with pytest.raises(PathsInTheWay, match="'a'"):
            await commit_all(repository, workspace)
        await branches.reset_staged(repository, "main", actor=BOB)
        await objects.put(repository, "main", "elsewhere", once(b"staged"), actor=BOB)
        await commit_all(repository, workspace)
        assert await read(repository, "main@") == {"a": "mine"}
        assert await read(repository, "main") == {"a": "mine", "elsewhere": "staged"}

    run(play())


def test_a_branch_that_was_made_again_is_another() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        await branches.create_branch(repository, "dev", "main", actor=ANN)
        workspace = await opened(repository, "dev")
        await write_file(repository, workspace, "x", "1")
        await branches.delete_branch(repository, "dev", "main", actor=ANN)
        with pytest.raises(FinalConflict, match="was deleted since"):
            await commit_all(repository, workspace)
        await branches.create_branch(repository, "dev", "main", actor=ANN)
        with pytest.raises(FinalConflict, match="deleted and made again"):
            await commit_all(repository, workspace)
        assert await read(repository, "dev") == {"a": "1"}
        assert (await registry.find(repository, workspace.id)).id == workspace.id

    run(play())


def test_a_branch_that_was_reset_does_not_take_a_workspace_twice() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "1")
        id = await commit_all(repository, workspace)
        await branches.hard_reset(repository, "main", workspace.fork, actor=ANN)
        with pytest.raises(Refused, match=f"was committed as {id[:12]}"):
            await commit_all(repository, workspace)
        assert await read(repository, "main") == {"a": "1"}

    run(play())


def test_asked_again_with_the_same_key_it_answers_the_first_commit() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "1")
        key = Ids().idempotency_key(repository.clock.wall())
        first = await commit_all(repository, workspace, "said", key=key)
        _, number = await repository.refs()
        assert await commit_all(repository, workspace, "said", key=key) == first
        assert (await repository.refs())[1] == number
        with pytest.raises(KeyReused):
            await commit_all(repository, workspace, "said otherwise", key=key)
        other = Ids().idempotency_key(repository.clock.wall())
        with pytest.raises(Refused, match=f"was committed as {first[:12]}"):
            await commit_all(repository, workspace, "said", key=other)

    run(play())


def test_two_commits_at_once_make_one_commit() -> None:
    async def play() -> None:
        _, one, other = await watched()
        workspace = await opened(one)
        await write_file(one, workspace, "x", "1")
        done = await asyncio.gather(commit_all(one, workspace), commit_all(other, workspace), return_exceptions=True)
        refused = [each for each in done if isinstance(each, Refused)]
        made = [each for each in done if isinstance(each, str)]
        assert (len(refused), len(made)) == (1, 1)
        refs, _ = await one.refs()
        assert refs.branch("main").head == made[0]
        assert refs.commit(made[0]).parents == (workspace.fork,)

    run(play())


def test_a_file_that_comes_while_the_commit_is_computed_is_in_it() -> None:
    async def play() -> None:
        store, one, _ = await watched()
        workspace = await opened(one)
        await write_file(one, workspace, "a", "first")

        async def meanwhile(listing: int) -> None:
            if listing == 2:
                await write_file(one, workspace, "late", "in time")
                await write_file(one, workspace, "a", "second")

        store.meanwhile = meanwhile
        await commit_all(one, workspace)
        assert await read(one, "main") == {"a": "second", "late": "in time"}
        assert store.listings == 4

    run(play())


def test_a_file_that_goes_while_it_is_read_is_not_in_it() -> None:
    async def play() -> None:
        store, one, other = await watched()
        workspace = await opened(one)
        await write_file(one, workspace, "a", "1")
        await write_file(one, workspace, "b", "2")

        async def meanwhile(listing: int) -> None:
            if listing == 2:
                await write.delete(other, workspace.id, ["a"], actor=BOB)

        store.meanwhile = meanwhile
        await commit_all(one, workspace)
        assert await read(one, "main") == {"b": "2"}

    run(play())


def test_a_folder_that_never_rests_is_not_committed() -> None:
    async def play() -> None:
        store, one, _ = await watched()
        workspace = await opened(one)

        async def meanwhile(listing: int) -> None:
            await write_file(one, workspace, f"f{listing}", "x")

        store.meanwhile = meanwhile
        with pytest.raises(FinalConflict, match="still being written to"):
            await commit_all(one, workspace)
        store.meanwhile = None
        assert await read(one, "main") == {}
        await commit_all(one, workspace)
        assert len(await read(one, "main")) == 20

    run(play())


def test_the_head_moves_while_it_is_computed() -> None:
    async def play() -> None:
        store, one, other = await watched()
        await change(one, {"a": "1", "b": "2"})
        workspace = await opened(one)
        await write_file(one, workspace, "a", "mine")

        async def meanwhile(listing: int) -> None:
            if listing == 2:
                await change(other, {"b": "theirs"})

        store.meanwhile = meanwhile
        await commit_all(one, workspace)
        assert await read(other, "main") == {"a": "mine", "b": "theirs"}

        store.meanwhile, store.listings = None, 0
        again = await opened(one)
        await write_file(one, again, "a", "mine once more")

        async def same_path(listing: int) -> None:
            if listing == 2:
                await change(other, {"a": "theirs"})

        store.meanwhile = same_path
        with pytest.raises(BothChanged):
            await commit_all(one, again)
        assert (await read(other, "main"))["a"] == "theirs"

    run(play())


def test_what_is_staged_in_the_workspace_while_it_is_computed_is_in_it() -> None:
    async def play() -> None:
        store, one, other = await watched()
        workspace = await opened(one)
        await write_file(one, workspace, "a", "1")

        async def meanwhile(listing: int) -> None:
            if listing == 2:
                await write.put(other, workspace.id, "b", once(b"2"), actor=BOB, metadata={"k": "v"})

        store.meanwhile = meanwhile
        await commit_all(one, workspace)
        assert await read(other, "main") == {"a": "1", "b": "2"}

    run(play())


@pytest.mark.parametrize("at", [1, 2], ids=["at the first look", "at the last look"])
def test_a_put_is_in_the_commit_or_refused(at: int) -> None:
    """Wherever it falls: the listing that the commit had last may not have shown the file."""

    async def play() -> None:
        store, one, other = await watched()
        workspace = await opened(one)
        await write_file(one, workspace, "a", "1")

        class Behind(Wrapper):
            """Lists what was there a moment ago."""

            async def list(self, prefix: str = "", after: str = "") -> AsyncIterator[Stat]:
                found = [stat async for stat in self.inner.list(prefix, after)]
                if "/workspaces/" in prefix:
                    store.listings += 1
                    if store.listings == at:
                        await write.put(other, workspace.id, "b", once(b"2"), actor=BOB)
                for stat in found:
                    yield stat

        one.store = Behind(store)
        await commit_all(one, workspace)
        assert await read(other, "main") == {"a": "1", "b": "2"}

    run(play())


def test_a_put_that_is_too_late_says_so() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "1")

        async def slow() -> AsyncIterator[bytes]:
            yield b"late"
            await commit_all(repository, workspace)

        with pytest.raises(Refused, match=r"'y' was written too late: .* was committed as"):
            await write.put(repository, workspace.id, "y", slow(), actor=ANN)
        assert await read(repository, "main") == {"a": "1", "x": "1"}

    run(play())


def test_a_removal_that_an_older_version_left_is_given_up() -> None:
    """Older versions held a workspace open for a minute while they deleted its files; nothing waits for that any
    more."""

    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "1")
        root = repository.folder(workspace.id).root
        later = repository.clock.wall() + 3_600_000_000
        await repository.submit(BOB, Opened("held", REMOVAL, root, "main", expires=later))
        await commit_all(repository, workspace)
        assert repository.folded().collection.held("held") is None
        assert await read(repository, "main") == {"a": "1", "x": "1"}

    run(play())


# --- after the commit ------------------------------------------------------------------------------------------------
async def committed(text: str = "0123456789") -> tuple[OpenRepository, WorkspaceState]:
    repository = await repository_with(a="1")
    workspace = await opened(repository)
    await write_file(repository, workspace, "x", text)
    await commit_all(repository, workspace)
    return repository, workspace


async def part(repository: OpenRepository, path: str, start: int, stop: int | None) -> bytes:
    entry = await objects.stat(repository, "main", path)
    return b"".join([piece async for piece in objects.read(repository, entry, start, stop)])


@pytest.mark.parametrize("span", [(0, None), (2, 5)], ids=["whole", "part"])
@pytest.mark.parametrize("text", ["9876543210", "short", "much longer than before"])
def test_a_late_overwrite_is_noticed_by_every_reader(span: tuple[int, int | None], text: str) -> None:
    async def play() -> None:
        repository, workspace = await committed()
        assert await part(repository, "x", *span) == b"0123456789"[span[0] : span[1]]
        await write_file(repository, workspace, "x", text)
        with pytest.raises(Conflict, match="was overwritten after its workspace was committed"):
            await part(repository, "x", *span)

    run(play())


def test_a_late_writer_of_the_same_bytes_harms_nobody() -> None:
    async def play() -> None:
        repository, workspace = await committed()
        await write_file(repository, workspace, "x", "0123456789")
        assert await part(repository, "x", 0, None) == b"0123456789"
        await write_file(repository, workspace, "x", "0123456789 and more")
        assert await part(repository, "x", 0, None) == b"0123456789"

    run(play())


def test_a_file_that_is_deleted_by_hand_is_gone() -> None:
    async def play() -> None:
        repository, workspace = await committed()
        await repository.store.delete(f"{repository.folder(workspace.id).root}x")
        with pytest.raises(Gone):
            await part(repository, "x", 0, None)

    run(play())


def test_a_copy_of_a_committed_file_is_watched_too() -> None:
    async def play() -> None:
        repository, workspace = await committed()
        await branches.create_branch(repository, "dev", "main", actor=ANN)
        await change(repository, {"other": "1"}, "dev")
        await head_moves.merge(repository, "dev", "main", actor=ANN)
        assert (await read(repository, "main"))["x"] == "0123456789"
        await write_file(repository, workspace, "x", "9876543210")
        with pytest.raises(Conflict, match="overwritten"):
            await part(repository, "x", 1, 3)

    run(play())


@pytest.mark.thorough
def test_commits_of_many_workspaces_at_once_all_land() -> None:
    async def play() -> None:
        _, one, other = await watched()
        spaces = [await opened(one) for _ in range(6)]
        for number, workspace in enumerate(spaces):
            await write_file(one, workspace, f"file-{number}", str(number))
        await asyncio.gather(*(commit_all((one, other)[number % 2], each) for number, each in enumerate(spaces)))
        assert await read(one, "main") == {f"file-{number}": str(number) for number in range(6)}
        refs, _ = await one.refs()
        assert refs.branch("main").turns == ()

    run(play())


def test_the_commit_has_the_fields_of_the_request() -> None:
    async def play() -> None:
        repository = await repository_with(a="1")
        workspace = await opened(repository)
        await write_file(repository, workspace, "x", "1")
        request = CommitRequest("m", {"k": "v"}, "carol", 12)
        _, made = await commit.commit(repository, workspace.id, request, actor=ANN, everything=True)
        assert (made.metadata, made.author, made.committer, made.date) == ({"k": "v"}, "carol", "ann", 12)

    run(play())
