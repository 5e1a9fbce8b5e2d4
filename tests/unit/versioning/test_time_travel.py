"""`main@{time}`: where a branch was, through everything that moves one, and after a checkpoint."""

import pytest

from lochan.errors import Gone, Invalid, NotFound
from lochan.formats.collection_events import Expired
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning import branches
from lochan.versioning.heads.rebase import rebase
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions import diff
from lochan.versioning.revisions.log import history as log_of
from tests.run import run
from tests.unit.versioning.history import ANN, History

HOUR = 3_600_000_000
NOON = 1_793_534_400_000_000  # 2026-11-01T12:00Z


class HandClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = NOON

    def wall(self) -> int:
        return self.now

    def boot(self) -> float:
        return self.now / 1e6

    async def sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1e6)


class TimedHistory(History):
    def __init__(self, repository: OpenRepository, clock: HandClock, store: MemoryStore) -> None:
        super().__init__(repository)
        self.clock = clock
        self.store = store

    async def later(self) -> None:
        """An hour; and all that is known comes from a checkpoint."""
        self.clock.now += HOUR
        await self.repository.journal.checkpoint()
        lake = await Lake.open(self.store, clock=self.clock)
        self.repository = await lake.open_repository("demo-repo")


async def timed_history() -> TimedHistory:
    clock, store = HandClock(), MemoryStore()
    lake = await Lake.create(store, clock=clock)
    await lake.create_repository("demo-repo", actor=ANN)
    return TimedHistory(await lake.open_repository("demo-repo"), clock, store)


def test_where_a_branch_was() -> None:
    async def play() -> None:
        story = await timed_history()
        for number in range(3):
            await story.later()
            await story.write("main", f"a={number}")
        assert await story.read("main@{2026-11-01T13:00Z}") == "a=0"
        assert await story.read("main@{2026-11-01T14:59:59Z}") == "a=1"
        assert await story.read("main@{2026-11-01T15:00Z}") == "a=2"
        assert await story.read("main@{2026-11-01T15:00Z}~2") == "a=0"
        assert await story.read("main@{2026-11-01T12:30Z}") == ""
        assert await story.read("main@{2100-01-01}") == "a=2", "a moment to come is now"
        await story.later()
        assert await story.read("main@{2 hours ago}") == "a=1"
        assert await story.read("main@{90 minutes ago}^") == "a=0"
        assert await story.read("main@{now}") == "a=2"

    run(play())


def test_what_is_staged_is_not_seen_there() -> None:
    async def play() -> None:
        story = await timed_history()
        await story.write("main", "a=1")
        await story.stage("main", "b=1")
        assert await story.read("main@{now}") == "a=1"
        with pytest.raises(Invalid, match="not kept"):
            await story.repository.resolve("main@{now}$")

    run(play())


def test_before_after_and_never() -> None:
    async def play() -> None:
        story = await timed_history()
        await story.later()
        await story.branch("dev")
        await story.later()
        await branches.delete_branch(story.repository, "dev", "main", actor=ANN)
        await story.later()
        resolve = story.repository.resolve
        with pytest.raises(NotFound, match=r"was created later, at 2026-11-01T13:00:00\.000000Z"):
            await resolve("dev@{2026-11-01T12:30Z}")
        assert (await resolve("dev@{2026-11-01T13:30Z}")).commit_id == (await resolve("main")).commit_id
        with pytest.raises(NotFound, match="had been deleted by then"):
            await resolve("dev@{2026-11-01T14:00Z}")
        with pytest.raises(NotFound, match="never was a branch 'other'"):
            await resolve("other@{now}")
        await branches.create_tag(story.repository, "v1", "main", actor=ANN)
        with pytest.raises(Invalid, match="'v1' is a tag"):
            await resolve("v1@{now}")
        await branches.restore_branch(story.repository, "dev", actor=ANN)
        assert await story.read("dev@{now}") == ""
        with pytest.raises(NotFound, match="had been deleted"):
            await resolve("dev@{1 hours ago}")

    run(play())


def test_everything_that_moves_a_branch_is_in_its_history() -> None:
    async def play() -> None:
        story = await timed_history()
        await story.write("main", "a=1")
        await story.branch("dev")
        expected: list[str] = []

        async def moved() -> None:
            expected.append((await story.repository.resolve("dev")).commit_id)
            await story.later()

        await moved()
        await story.write("dev", "b=1")
        await moved()
        await branches.hard_reset(story.repository, "dev", "dev~1", actor=ANN)
        await moved()
        await story.write("dev", "c=1")
        await moved()
        await story.write("main", "m=1")
        await story.merge("main", "dev")
        await moved()
        await story.write("main", "m=2")
        await rebase(story.repository, "dev", "main", actor=ANN)
        await moved()
        await branches.rename_branch(story.repository, "dev", "other", "main", actor=ANN)
        for hour, id in enumerate(expected):
            moment = f"2026-11-01T{12 + hour}:30Z"
            assert (await story.repository.resolve(f"dev@{{{moment}}}")).commit_id == id
        with pytest.raises(NotFound, match="had been deleted"):
            await story.repository.resolve("dev@{now}")
        assert (await story.repository.resolve("other@{now}")).commit_id == expected[-1]

    run(play())


def test_a_clock_that_is_behind() -> None:
    async def play() -> None:
        story = await timed_history()
        await story.write("main", "a=1")
        story.clock.now -= 5 * HOUR
        await story.write("main", "a=2")
        story.clock.now += 5 * HOUR
        assert await story.read("main@{now}") == "a=2"
        with pytest.raises(NotFound, match="created later"):
            await story.repository.resolve("main@{1 hours ago}")

    run(play())


def test_it_is_a_ref_like_any_other() -> None:
    async def play() -> None:
        story = await timed_history()
        await story.write("main", "a=1 b=1")
        await story.later()
        await story.write("main", "a=2")
        await branches.create_branch(story.repository, "old", "main@{30 minutes ago}", actor=ANN)
        assert await story.read("old") == "a=1 b=1"
        found = [each.path async for each in diff.diff(story.repository, "main@{30 minutes ago}", "main")]
        assert found == ["a"]
        await branches.hard_reset(story.repository, "main", "main@{1 hours ago}", actor=ANN)
        assert await story.read("main") == "a=1 b=1"

    run(play())


def test_an_expired_commit_is_listed_and_cannot_be_read() -> None:
    async def play() -> None:
        story = await timed_history()
        await story.later()
        old = await story.write("main", "a=1", "old")
        await story.later()
        await story.write("main", "a=2", "new")
        await story.repository.submit(ANN, Expired((old,)))
        with pytest.raises(Gone, match="expired"):
            await story.repository.resolve("main@{30 minutes ago}")
        assert await story.read("main@{now}") == "a=2"
        messages = [commit.message async for _, commit in log_of(story.repository, "main")]
        assert messages == ["new", "old", "Repository created"]

    run(play())
