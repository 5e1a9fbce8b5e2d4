"""Retention rules: which commits expire, and which never do."""

import msgspec
import pytest

from lochan.errors import Invalid
from lochan.formats.collection_events import RetentionRule, RetentionSet
from lochan.versioning import branches, links
from lochan.versioning.collection.retention import Expirable, expirable, expire
from lochan.versioning.heads import moves
from lochan.versioning.state.refs import Refs
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import ANN, Lakeside, lakeside


async def with_rules(*rules: RetentionRule, undo_days: float = 0) -> Lakeside:
    there = await lakeside()
    await there.repository.submit(ANN, RetentionSet(rules, undo_days))
    return there


async def daily(there: Lakeside, branch: str, *changes: str) -> list[str]:
    """A commit a day."""
    made = []
    for each in changes:
        there.clock.skip_day()
        made.append(await there.history.write(branch, each))
    return made


async def found(there: Lakeside) -> Expirable:
    refs, _ = await there.repository.refs()
    return expirable(refs, there.clock.wall())


async def expired(there: Lakeside, commits: list[str]) -> str:
    """Which of these expire, as their places: `01`."""
    gone = (await found(there)).commits
    return "".join(str(at) for at, id in enumerate(commits) if id in gone)


def test_a_branch_without_a_rule_keeps_its_history() -> None:
    async def play() -> None:
        there = await with_rules()
        made = await daily(there, "main", "a=1", "a=2", "a=3")
        assert await expired(there, made) == ""

    run(play())


def test_age_keeps_what_the_branch_showed() -> None:
    async def play() -> None:
        there = await with_rules(RetentionRule("*", days=1.5))
        made = await daily(there, "main", "a=1", "a=2", "a=3", "a=4", "a=5")
        assert await expired(there, made) == "01", "the last two, and what was there before them"

    run(play())


def test_a_number_of_commits() -> None:
    async def play() -> None:
        there = await with_rules(RetentionRule("*", commits=2))
        made = await daily(there, "main", "a=1", "a=2", "a=3", "a=4")
        assert await expired(there, made) == "01"

    run(play())


def test_tags_and_other_branches_keep_what_a_rule_drops() -> None:
    async def play() -> None:
        there = await with_rules(RetentionRule("kept", forever=True), RetentionRule("*", commits=1))
        made = await daily(there, "main", "a=1", "a=2", "a=3", "a=4", "a=5")
        await branches.create_tag(there.repository, "v1", made[3], actor=ANN)
        assert await expired(there, made) == "012"
        await there.history.branch("kept", made[1])
        assert await expired(there, made) == "2"

    run(play())


def test_where_two_branches_met_is_kept_and_they_merge_over_expired_commits() -> None:
    async def play() -> None:
        there = await with_rules(RetentionRule("*", commits=1))
        made = await daily(there, "main", "a=1", "a=2 b=1")
        await there.history.branch("dev")
        own = await daily(there, "dev", "x=1", "x=2", "x=3")
        made += await daily(there, "main", "c=1", "c=2")
        assert await expired(there, [*made, *own]) == "0245"
        await expire(there.repository, actor=ANN)
        assert await there.rounds() > 0
        await there.history.merge("dev", "main")
        assert await there.history.read("main") == "a=2 b=1 c=2 x=3"
        assert (await there.repository.resolve("main~3")).commit_id == made[1]
        assert (await moves.revert(there.repository, "main", "main", actor=ANN, parent=1)) is not None

    run(play())


def test_a_criss_cross() -> None:
    """`c` merged what `o` forked from later, so the base of an old tag and `o` lies deeper."""

    async def play() -> None:
        there = await with_rules(RetentionRule("*", commits=1))
        base, tagged = await daily(there, "main", "a=1", "a=2")
        await there.history.branch("other", base)
        [forked] = await daily(there, "other", "o=1")
        await daily(there, "main", "a=3")
        await there.history.merge("other", "main")
        await daily(there, "other", "o=2", "o=3")
        await branches.create_tag(there.repository, "old", tagged, actor=ANN)
        gone = (await found(there)).commits
        assert base not in gone and forked not in gone
        await expire(there.repository, actor=ANN)
        await there.history.branch("again", "old")
        await there.history.merge("other", "again")
        assert await there.history.read("again") == "a=2 o=3"

    run(play())


def test_what_was_reset_or_deleted_can_be_undone_for_some_days() -> None:
    async def play() -> None:
        there = await with_rules(undo_days=2)
        made = await daily(there, "main", "a=1", "a=2")
        await branches.hard_reset(there.repository, "main", made[0], actor=ANN)
        await there.history.branch("gone", made[1])
        await branches.delete_branch(there.repository, "gone", "main", actor=ANN)
        there.clock.skip_day()
        assert await found(there) == Expirable()
        there.clock.skip_day()
        there.clock.skip_day()
        later = await found(there)
        assert [name for name, _ in later.branches] == ["gone"]
        assert later.commits == (made[1],)
        await expire(there.repository, actor=ANN)
        assert await found(there) == Expirable()

    run(play())


def test_expired_tokens_are_given_up() -> None:
    async def play() -> None:
        there = await lakeside()
        token = await links.physical_address(there.repository, "main", "linked", actor=ANN)
        await there.repository.store.put(token.address, b"never linked")
        there.clock.skip_day()
        await expire(there.repository, actor=ANN)
        assert await there.rounds() == 1

    run(play())


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ((RetentionRule("a", days=1), RetentionRule("a", commits=1)), "appears twice"),
        ((RetentionRule("*", days=1), RetentionRule("main", days=9)), "is never used"),
        ((RetentionRule("main"),), "keeps nothing"),
        ((RetentionRule("main", days=1, forever=True),), "keeps everything, and has limits"),
        ((RetentionRule("main", days=-1),), "a negative number"),
    ],
)
def test_rules_that_contradict_are_refused(rules: tuple[RetentionRule, ...], message: str) -> None:
    async def play() -> None:
        with pytest.raises(Invalid, match=message):
            await with_rules(*rules)

    run(play())


def test_rules_survive_a_checkpoint() -> None:
    async def play() -> None:
        there = await with_rules(RetentionRule("*", days=3), undo_days=7)
        await there.history.stage("main", "a=1")
        await there.plan()
        refs, _ = await there.repository.refs()
        again = Refs()
        again.load(msgspec.Raw(msgspec.msgpack.encode(refs.dump())))
        assert again.collection.retention == refs.collection.retention == RetentionSet((RetentionRule("*", days=3),), 7)
        assert again.collection.list_of(again.collection.plan) == refs.collection.list_of(refs.collection.plan) != ""

    run(play())
