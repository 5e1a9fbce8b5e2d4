"""What commits of a pool changed, and which positions a feed of a branch goes through."""

import pytest

from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.entry import Entry
from lochan.pools.changes import ChangeKind, LeftLine, change_of
from lochan.pools.commit_objects import SAME_ROWS, Swap, replace_objects
from lochan.pools.feed import FeedBranch, end_of, span_of, start_of
from lochan.pools.feed_options import EARLIEST, LATEST, WHOLE, FeedOptions
from lochan.versioning.branches import delete_branch
from tests.run import run
from tests.unit.pools.place import ANN, Pool, pool

pytestmark = pytest.mark.thorough

ANY = FeedOptions()


class Reader:
    """Reads on along a branch, as a stream does."""

    def __init__(self, logs: Pool, options: FeedOptions = ANY, branch: str = "main") -> None:
        self.logs, self.options = logs, options
        self.branch = FeedBranch(logs.repository, branch)
        self.at: str | None = None

    async def read(self) -> str:
        """The rows of the next batch."""
        if self.at is None:
            self.at = await start_of(self.branch, self.options, await self.branch.head())
        end = await end_of(self.branch, self.at, self.options)
        rows = await self.rows(self.at, end)
        self.at = end
        return rows

    async def rows(self, start: str, end: str) -> str:
        span = await span_of(self.branch, start, end, self.options)
        added: list[Entry] = [*span.whole, *(entry for each in span.changes for entry in each.added)]
        return " ".join(await self.logs.rows_of(added))


def test_all_rows_first_and_then_new_ones() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a b", "c")
        reader = Reader(logs)
        assert await reader.read() == "a b c"
        assert await reader.read() == ""
        await logs.load("main", "d")
        await logs.load("main", "e")
        before = reader.at
        assert await reader.read() == "d e"
        end = reader.at
        await logs.compact("main")
        assert await reader.read() == "" and reader.at != end, "a compaction has no new rows"
        await logs.load("main", "f")
        assert await reader.read() == "f"
        assert before and end and await reader.rows(before, end) == "d e", "a span is the same for ever"

    run(play())


def test_a_compaction_says_so_of_its_parent_alone() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a")
        await logs.load("main", "b")
        await logs.branch("dev")
        before = await logs.head("dev")
        await logs.compact("dev")
        compacted = await change_of(logs.repository, await logs.head("dev"))
        assert compacted.commit.metadata == {SAME_ROWS: before}
        assert compacted.kind == ChangeKind.NONE and compacted.removed and compacted.added
        await logs.load("main", "c")
        await logs.rebase("dev")
        replayed = await change_of(logs.repository, await logs.head("dev"))
        assert replayed.commit.metadata == {SAME_ROWS: before}, "a rebase keeps it"
        assert replayed.kind == ChangeKind.REWRITE, "but it is about another parent"

    run(play())


def test_a_mark_counts_only_with_as_many_rows() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a b")
        swap = Swap(await logs.objects("main"), [await logs.write("a")])
        await replace_objects(logs.repository, "main", swap, actor=ANN)
        assert (await change_of(logs.repository, await logs.head())).kind == ChangeKind.REWRITE

    run(play())


def test_what_a_merge_brings_is_new_on_the_branch_that_it_goes_to() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a")
        await logs.branch("dev")
        reader = Reader(logs)
        await reader.read()
        await logs.load("dev", "x")
        await logs.load("dev", "y")
        await logs.load("main", "b")
        await logs.merge("dev")
        assert await reader.read() == "b x y"

    run(play())


@pytest.mark.parametrize(
    ("chosen", "rows"),
    [
        (FeedOptions(ignore_deletes=True), "c"),
        (FeedOptions(ignore_changes=True), "c"),
        (FeedOptions(skip_change_commits=True), "c"),
        (ANY, "deleted rows of logs@main"),
    ],
)
def test_deletes(chosen: FeedOptions, rows: str) -> None:
    async def play() -> None:
        logs = await pool()
        [one] = await logs.load("main", "a b")
        reader = Reader(logs, chosen)
        await reader.read()
        await logs.delete("main", one)
        await logs.load("main", "c")
        if chosen == ANY:
            with pytest.raises(Refused, match=rows):
                await reader.read()
        else:
            assert await reader.read() == rows

    run(play())


@pytest.mark.parametrize(
    ("chosen", "rows"),
    [
        (FeedOptions(ignore_changes=True), "a c d"),
        (FeedOptions(skip_change_commits=True), "d"),
        (FeedOptions(ignore_deletes=True), ""),
        (ANY, ""),
    ],
)
def test_rows_that_were_written_anew(chosen: FeedOptions, rows: str) -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a b")
        reader = Reader(logs, chosen)
        await reader.read()
        await logs.rewrite("main", without="b", more="c")
        await logs.load("main", "d")
        if rows:
            assert await reader.read() == rows
        else:
            with pytest.raises(Refused, match="wrote rows of logs@main anew"):
                await reader.read()

    run(play())


def test_a_batch_ends_at_its_limits() -> None:
    async def play() -> None:
        logs = await pool()
        for row in "abcde":
            await logs.load("main", row)
        by_two = Reader(logs, FeedOptions(EARLIEST, commits_max=2))
        assert [await by_two.read() for _ in range(4)] == ["a b", "c d", "e", ""]
        size = (await change_of(logs.repository, await logs.head())).size_bytes
        by_bytes = Reader(logs, FeedOptions(EARLIEST, bytes_max=3 * size))
        assert [await by_bytes.read() for _ in range(3)] == ["a b c", "d e", ""]
        one = Reader(logs, FeedOptions(EARLIEST, bytes_max=1))
        assert await one.read() == "a", "a commit is not cut in two"

    run(play())


def test_where_it_begins() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a")
        await logs.load("main", "b")
        second = await logs.head()
        await logs.load("main", "c")
        branch, head = FeedBranch(logs.repository, "main"), await logs.head()
        assert await start_of(branch, ANY, head) == WHOLE
        assert await start_of(branch, FeedOptions(LATEST), head) == head
        assert await Reader(logs, FeedOptions(EARLIEST)).read() == "a b c"
        assert await Reader(logs, FeedOptions(second)).read() == "b c", "the commit itself is read too"
        assert await Reader(logs, FeedOptions(second[:12])).read() == "b c"
        assert await Reader(logs, FeedOptions(after=second)).read() == "c"
        assert await Reader(logs, FeedOptions(after="main")).read() == ""
        assert await Reader(logs, FeedOptions(timestamp="1971-01-01")).read() == "a b c"
        assert await Reader(logs, FeedOptions(timestamp="now")).read() == ""
        with pytest.raises(Invalid, match="future"):
            await start_of(branch, FeedOptions(timestamp="2999-01-01T00:00Z"), head)
        with pytest.raises(NotFound):
            await start_of(branch, FeedOptions("nothing"), head)
        await logs.branch("dev", second)
        await logs.load("dev", "x")
        with pytest.raises(Invalid, match="is not on the line of logs@main"):
            await start_of(branch, FeedOptions(await logs.head("dev")), head)

    run(play())


def test_a_branch_that_was_moved() -> None:
    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a")
        await logs.branch("dev")
        await logs.load("dev", "b")
        reader = Reader(logs, branch="dev")
        assert await reader.read() == "a b"
        await delete_branch(logs.repository, "dev", "main", actor=ANN)
        await logs.branch("dev")
        await logs.load("dev", "c")
        with pytest.raises(LeftLine, match="logs@dev was moved"):
            await reader.read()
        reader.at = "0" * 64
        with pytest.raises(LeftLine, match="has no commit 000000000000"):
            await reader.read()

    run(play())


def test_a_batch_never_goes_back() -> None:
    """As it would if Spark asked for a limited end of a stream whose position it has not shown."""

    async def play() -> None:
        logs = await pool()
        await logs.load("main", "a")
        before = await logs.head()
        await logs.load("main", "b")
        with pytest.raises(Refused, match="cannot begin at commit") as raised:
            await Reader(logs).rows(await logs.head(), before)
        assert "maxCommitsPerTrigger" in raised.value.hint

    run(play())
