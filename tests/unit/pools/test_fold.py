"""Pools in the state of the journals: their settings, their names, and what is refused on them."""

import asyncio

import msgspec
import pytest

from lochan.errors import AlreadyExists, Gone, Invalid, NotFound, Refused
from lochan.formats.collection_events import Opened, PlanEnded, Planned
from lochan.formats.commit import Commit
from lochan.formats.events import Event
from lochan.formats.lake_events import RepositoryCreated, RepositoryDeleted, RepositoryRenamed
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.formats.repository_events import Moved, RepositoryOpened, RunsStaged, Sealed, Staged, Stashed, UploadOpened
from lochan.formats.workspace_events import WorkspaceOpened
from lochan.journal.state import EventPosition
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning.repositories import Repositories
from lochan.versioning.state.refs import Refs
from tests.run import run
from tests.unit.pools.place import ANN
from tests.unit.versioning.folded_events import FIRST, after, entry

SETTINGS = PoolSettings((PoolKey(("a", "b"), True),), True, 1_000, (("t",),), (("id",),))


class PoolStory:
    def __init__(self) -> None:
        self.refs = Refs()
        self.number = 0
        self.tell(RepositoryOpened("pool", "main", FIRST))

    def tell(self, event: Event) -> int:
        self.number += 1
        self.refs.apply(event, EventPosition(self.number, 0, "ann"))
        return self.number

    def move(self, to: Commit, why: str, mint: int = 0, closes: tuple[str, ...] = ()) -> Moved:
        branch = self.refs.branch("main")
        return Moved("main", branch.incarnation, branch.head, to.id, why, (to,), read_at=99, mint=mint, closes=closes)


def folded(*events: Event) -> Repositories:
    part = Repositories()
    for number, event in enumerate(events, start=1):
        part.apply(event, EventPosition(number, number, "ann"))  # type: ignore[arg-type]
    return part


def again(part: Repositories) -> Repositories:
    """The state as a checkpoint keeps it."""
    loaded = Repositories()
    loaded.load(msgspec.Raw(msgspec.msgpack.encode(part.dump())))
    return loaded


MADE = RepositoryCreated("id1", "logs", "pool", "main", {}, SETTINGS)


def test_settings_are_kept_in_checkpoints_and_by_a_new_name() -> None:
    part = folded(MADE, RepositoryRenamed("id1", "events"))
    for each in (part, again(part)):
        assert each.get("events").pool == SETTINGS
        assert each.find("logs") is None
        each.apply(RepositoryDeleted("id1"), EventPosition(9, 9, "ann"))
        assert each.all() == []


def test_an_event_from_before_there_were_pools_is_read() -> None:
    old = msgspec.msgpack.encode({"id": "a", "name": "b", "kind": "files", "default_branch": "main", "metadata": {}})
    assert msgspec.msgpack.decode(old, type=RepositoryCreated).pool is None


@pytest.mark.parametrize(
    "event, kind",
    [(RepositoryRenamed("id1", "taken"), AlreadyExists), (RepositoryRenamed("id3", "free"), NotFound)],
)
def test_a_name_is_given_once(event: RepositoryRenamed, kind: type[Exception]) -> None:
    part = folded(MADE, RepositoryCreated("id2", "taken", "files", "main"))
    with pytest.raises(kind):
        part.apply(event, EventPosition(3, 3, "ann"))


@pytest.mark.thorough
def test_two_rename_at_once_and_one_is_told_that_the_name_is_gone() -> None:
    async def play() -> None:
        lake = await Lake.create(MemoryStore())
        await lake.create_pool("logs", SETTINGS, actor=ANN)
        done = await asyncio.gather(
            *(lake.rename_repository("logs", to, actor=ANN) for to in ("one", "two")), return_exceptions=True
        )
        assert sorted(type(each).__name__ for each in done) == ["NoneType", "NotFound"]
        [left] = await lake.repositories()
        assert left.name in ("one", "two")
        assert (await lake.open_repository(left.name)).repository.pool == SETTINGS
        with pytest.raises(Invalid):
            await lake.rename_repository(left.name, "No Name", actor=ANN)

    run(play())


@pytest.mark.parametrize(
    "event",
    [
        Staged("main", (entry("a"),)),
        Staged("main", (), ("a",)),
        RunsStaged("main", ()),
        Sealed("main"),
        Stashed("main"),
        WorkspaceOpened("main", "tail"),
        UploadOpened("id", "main", "a"),
        Opened("id", "link"),
        Moved("main", 1, FIRST.id, after(FIRST).id, "import", (after(FIRST),)),
    ],
    ids=lambda event: event.type,
)
def test_nothing_is_staged_on_a_pool(event: Event) -> None:
    story = PoolStory()
    with pytest.raises(Refused, match="a pool holds rows"):
        story.tell(event)
    kept = Refs()
    kept.load(msgspec.Raw(msgspec.msgpack.encode(story.refs.dump())))
    with pytest.raises(Refused, match="a pool holds rows"):
        kept.apply(event, EventPosition(9, 0, "ann"))


def test_commits_that_brought_objects_in_are_remembered() -> None:
    story = PoolStory()
    load, revert = after(FIRST), after(FIRST, message="reverted")
    story.tell(story.move(load, "load"))
    undone = after(load, message="undone")
    story.tell(story.move(undone, "revert"))
    merged = after(undone, FIRST, message="merged")
    story.tell(story.move(merged, "merge"))
    kept = Refs()
    kept.load(msgspec.Raw(msgspec.msgpack.encode(story.refs.dump())))
    for refs in (story.refs, story.refs.fork(), kept):
        brought = [each.message for each in (load, undone, merged, revert) if refs.has_brought(each.id)]
        assert brought == ["undone"]


def test_new_files_are_young_or_held_open() -> None:
    story = PoolStory()
    story.tell(Opened("job", "job", "pool/data/00000000000000000001-"))
    for _ in range(2):
        plan = story.tell(Planned(story.refs.collection.plan, 99, "list"))
        story.tell(PlanEnded(plan, "reported"))
    with pytest.raises(Gone):
        story.tell(story.move(after(FIRST), "load", mint=2))
    with pytest.raises(Gone):
        story.tell(Opened("late", "job", "pool/data/00000000000000000002-"))
    story.tell(story.move(after(FIRST), "load", mint=1, closes=("job",)))
    with pytest.raises(Refused, match="not open"):
        story.tell(story.move(after(after(FIRST)), "load", mint=1, closes=("job",)))
