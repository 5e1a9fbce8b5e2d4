"""A merge in which only one side has changed something: no tree is read, no file is written, and one record lands."""

import pytest

from lochan.errors import NothingToDo
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.memory import MemoryStore
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.moves import rehearse_merge
from tests.run import run
from tests.unit.versioning.history import ANN, History


class _Opened(CountingStore):
    """Also notes the files of trees that are read or written."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), RequestCounts())
        self.files: list[str] = []

    async def get(self, path: str) -> bytes:
        self._note(path)
        return await super().get(path)

    async def put(self, path: str, data: bytes) -> None:
        self._note(path)
        await super().put(path, data)

    def _note(self, path: str) -> None:
        if "ranges/" in path:
            self.files.append(path)

    def begin(self) -> None:
        self.files.clear()
        self.counts = RequestCounts()


async def diverged(ours: str, theirs: str) -> tuple[_Opened, History]:
    """Branches `main` and `dev` with these changes since they parted, opened by a process that has read nothing."""
    store = _Opened()
    lake = await Lake.create(store)
    await lake.create_repository("demo-repo", actor=ANN)
    made = History(await lake.open_repository("demo-repo"))
    await made.write("main", "a=0 b=0")
    await made.branch("dev")
    for branch, changes in (("main", ours), ("dev", theirs)):
        for each in filter(None, changes.split(", ")):
            await made.write(branch, each)
    opened = History(await (await Lake.open(store)).open_repository("demo-repo"))
    await opened.repository.refs()
    store.begin()
    return store, opened


@pytest.mark.parametrize(
    "ours, theirs, result",
    [
        pytest.param("", "a=1, -b, c=1", "a=1 c=1", id="only the source"),
        pytest.param("a=1", "b=1, b=0", "a=1 b=0", id="the source went back to where it was"),
        pytest.param("a=1, a=0", "b=1", "a=0 b=1", id="the branch went back to where it was"),
        pytest.param("a=1", "a=1", "a=1 b=0", id="both did the same"),
    ],
)
def test_nothing_is_opened_and_one_record_is_appended(ours: str, theirs: str, result: str) -> None:
    async def play() -> None:
        store, repo = await diverged(ours, theirs)
        repo.repository.gate = None  # hooks read where their files would be: the lists of ranges
        _, before = await repo.repository.refs()
        id = await repo.merge("dev", "main")
        refs, after = await repo.repository.refs()
        assert store.files == []
        assert after == before + 1
        assert store.counts.put_if_absent.requests == 1
        assert store.counts.put.requests == 0
        assert len(refs.commit(id).parents) == 2
        assert await repo.read("main") == result

    run(play())


def test_where_both_changed_something_trees_are_read() -> None:
    async def play() -> None:
        store, repo = await diverged("a=1", "b=1")
        await repo.merge("dev", "main")
        assert store.files != []
        assert await repo.read("main") == "a=1 b=1"

    run(play())


def test_a_rehearsal_has_the_trees() -> None:
    async def play() -> None:
        _, repo = await diverged("", "a=1")
        before, after = await rehearse_merge(repo.repository, "dev", "main")
        assert [await repo.read_tree(tree) for tree in (before, after)] == ["a=0 b=0", "a=1 b=0"]

    run(play())


def test_a_squash_of_nothing_is_refused() -> None:
    async def play() -> None:
        _, repo = await diverged("a=1", "b=1, b=0")
        with pytest.raises(NothingToDo):
            await head_moves.merge(repo.repository, "dev", "main", actor=Actor("ann", "test", ""), squash=True)

    run(play())
