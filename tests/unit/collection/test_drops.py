"""What is live goes only by a commit that names the rule, and only if nobody has written or read it for so long."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lochan.clock import SystemClock
from lochan.errors import Protected
from lochan.formats.collection_events import DropRule, Expired, RetentionRule, RetentionSet
from lochan.formats.repository_events import Protection, ProtectionSet
from lochan.lake import Lake
from lochan.usage.last_read import ReadPaths, UnknownReads
from lochan.versioning.collection.drops import DAY_US, RULES, DropRequest, Reads, drop, find_drops
from lochan.versioning.collection.retention import expire
from lochan.versioning.collection.store_clock import store_time
from lochan.versioning.heads import moves
from lochan.versioning.heads.commit import CommitRequest, commit
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import ANN, Lakeside, lakeside
from tests.unit.versioning.history import History


def read(*paths: str, prefixes: tuple[str, ...] = ()) -> Reads:
    async def reads(since: int) -> ReadPaths:
        return ReadPaths(pa.array(sorted(paths), pa.string()), prefixes)

    return reads


async def unknown(since: int) -> UnknownReads:
    return UnknownReads(since + 1, "rows were dropped")


async def request(there: Lakeside, reads: Reads | None = None) -> DropRequest:
    now = round(await store_time(there.repository.store, there.repository.repository.id) * 1e6)
    return DropRequest(now, reads or read(), lambda rule, batch: np.ones(len(batch), np.bool_))


async def dropped(there: Lakeside, rules: RetentionSet, branch: str = "main", reads: Reads | None = None) -> Any:
    return await drop(there.repository, branch, rules, await request(there, reads), actor=ANN)


def unwritten(prefix: str = "", days: float = 3, branch: str = "main", **more: Any) -> DropRule:
    return DropRule(more.pop("name", f"old {prefix}"), branch, prefix, unwritten_days=days, **more)


def days(there: Lakeside, count: int) -> None:
    for _ in range(count):
        there.clock.skip_day()


def test_what_nobody_has_written_goes_by_a_commit_that_names_the_rule() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "tmp/a=1 tmp/b=2 raw/c=3")
        days(there, 4)
        await there.history.write("main", "tmp/b=22 tmp/d=4")
        [part] = await dropped(there, RetentionSet(drops=(unwritten("tmp/"),)))
        assert part[:4] == ("main", "old tmp/", 1, 1)
        assert await there.history.read("main") == "raw/c=3 tmp/b=22 tmp/d=4"
        head = (await there.repository.resolve("main")).commit
        assert head.metadata[RULES] == "old tmp/" and "old tmp/" in head.message
        assert head.author == "ann"
        again = await dropped(there, RetentionSet(drops=(unwritten("tmp/"),)))
        assert [part.objects for part in again] == [0]

    run(play())


def test_the_first_rule_that_matches_decides() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "tmp/a=1 tmp/keep/b=2 tmp/soon/c=3")
        days(there, 2)
        rules = RetentionSet(
            drops=(DropRule("spare", "main", "tmp/keep/", never=True), unwritten("tmp/soon/", 1), unwritten("tmp/", 3))
        )
        found = await find_drops(there.repository, "main", rules, await request(there))
        assert [(part.rule, part.examples) for part in found.parts] == [
            ("old tmp/soon/", ("tmp/soon/c",)),
            ("old tmp/", ()),
        ]
        days(there, 2)
        await dropped(there, rules)
        assert await there.history.read("main") == "tmp/keep/b=2"

    run(play())


def test_a_revert_and_a_new_branch_count_as_writes() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "tmp/a=1 tmp/b=1")
        gone = await there.history.write("main", "-tmp/a")
        days(there, 9)
        await moves.revert(there.repository, "main", gone, actor=ANN)
        await there.history.branch("dev", "main")
        days(there, 2)
        rules = RetentionSet(drops=(unwritten(branch="*"),))
        [part] = await dropped(there, rules, "dev")
        assert (part.objects, part.waits) == (0, "the branch is not 3 days old")
        await dropped(there, rules)
        assert await there.history.read("main") == "tmp/a=1", "its bytes are old, but it came back two days ago"
        days(there, 2)
        await dropped(there, rules)
        await dropped(there, rules, "dev")
        assert await there.history.read("main") == await there.history.read("dev") == ""

    run(play())


def test_staged_and_held_paths_stay() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "a=1 b=2 c=3 d=4")
        await there.history.branch("keeper", "main")
        await there.history.write("keeper", "-a -c -d")
        await there.history.stage("keeper", "d=5")
        days(there, 5)
        await there.history.stage("main", "-c")
        [part] = await dropped(there, RetentionSet(drops=(unwritten(),), holds=("keep*",)))
        assert (part.objects, part.held, part.staged) == (1, 2, 1)
        assert await there.history.read("main") == "b=2 d=4", "c is gone for its writer, and for nobody else"
        [part] = await dropped(there, RetentionSet(drops=(unwritten(branch="*"),), holds=("main",)))
        assert part.objects == 0

    run(play())


def test_what_is_staged_while_it_is_dropped_stays() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "a=1 b=2")
        days(there, 5)
        await _meanwhile(there, lambda: there.history.stage("main", "b=3"))
        [part] = await dropped(there, RetentionSet(drops=(unwritten(),)))
        assert (part.objects, part.staged) == (1, 1)
        assert await there.history.read("main") == "b=3"

    run(play())


def test_it_is_computed_anew_on_a_head_that_has_moved() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "a=1 b=2")
        gone = await there.history.write("main", "-b")
        days(there, 5)

        async def others() -> None:
            await moves.revert(there.repository, "main", gone, actor=ANN)  # old bytes, written just now

        await _meanwhile(there, others)
        [part] = await dropped(there, RetentionSet(drops=(unwritten(),)))
        assert part.objects == 1
        assert await there.history.read("main") == "b=2"

    run(play())


async def _meanwhile(there: Lakeside, work: Any) -> None:
    """Once, when the tree without the objects is made, and before it lands."""
    trees = there.repository.trees
    real = trees.apply

    async def apply(*args: Any, **kwargs: Any) -> Any:
        trees.apply = real  # type: ignore[method-assign]
        await work()
        return await real(*args, **kwargs)

    trees.apply = apply  # type: ignore[method-assign]


def test_a_read_and_a_gap_in_the_log_of_reads_count() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "a=1 b=2 in/c=3")
        days(there, 5)
        rules = RetentionSet(drops=(DropRule("idle", "main", unread_days=3),))
        [part] = await dropped(there, rules, reads=unknown)
        assert part.objects == 0 and "rows were dropped" in part.waits
        await dropped(there, rules, reads=read("a", prefixes=("in/",)))
        assert await there.history.read("main") == "a=1 in/c=3"

    run(play())


class Behind(SystemClock):
    """A machine whose clock is a year behind."""

    def __init__(self, inner: SystemClock) -> None:
        self._inner = inner

    def wall(self) -> int:
        return self._inner.wall() - 365 * DAY_US


def test_a_clock_that_is_behind_makes_nothing_old() -> None:
    async def play() -> None:
        there = await lakeside()
        days(there, 10)
        other = await Lake.open(there.lake.store, clock=Behind(there.clock))
        theirs = History(await other.open_repository("demo-repo"))
        id = await theirs.write("main", "a=1")
        entry_time = (await theirs.repository.resolve("main")).commit.date
        assert entry_time < there.clock.wall() - 300 * DAY_US and id
        days(there, 1)
        rules = RetentionSet(drops=(unwritten(),))
        [part] = await dropped(there, rules)
        assert part.objects == 0, "its times say a year, and the store has had it for a day"
        days(there, 3)
        assert (await dropped(there, rules))[0].objects == 1

    run(play())


def test_files_tell_their_age_when_the_history_has_expired() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "a=1 b=2")
        days(there, 10)
        for text in ("b=3", "c=4"):
            await there.history.write("main", text)
            days(there, 5)
        refs, _ = await there.repository.refs()
        head = (await there.repository.resolve("main")).commit_id
        old = tuple(id for id in refs.commit_table if id != head)
        await there.repository.submit(ANN, Expired(old))
        [part] = await dropped(there, RetentionSet(drops=(unwritten(days=12),)))
        assert part.examples == ("a",)

    run(play())


def test_a_protected_branch_is_left_alone() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.write("main", "a=1")
        days(there, 5)
        await there.repository.submit(ANN, ProtectionSet((Protection("main", ("commit",)),)))
        with pytest.raises(Protected):
            await dropped(there, RetentionSet(drops=(unwritten(),)))
        assert await there.history.read("main") == "a=1"

    run(play())


def test_dates_of_commits_may_lie() -> None:
    """A commit that is dated a year ago was made now, and stays as long as one of now."""

    async def play() -> None:
        there = await lakeside()
        await there.repository.submit(ANN, RetentionSet((RetentionRule("*", days=2),), 0))
        for at, past in enumerate((365, -365, 365)):
            await there.history.stage("main", f"a={at}")
            dated = CommitRequest("dated", date=there.clock.wall() - past * DAY_US)
            await commit(there.repository, "main", dated, actor=ANN)
        made = await expire(there.repository, actor=ANN)
        assert made.commits == ()
        days(there, 3)
        assert (await expire(there.repository, actor=ANN)).commits, "in the end they go"
        assert await there.history.read("main") == "a=2"

    run(play())
