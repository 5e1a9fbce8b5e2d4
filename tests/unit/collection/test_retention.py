"""Retention rules: which commits expire, and which never do."""

import msgspec
import pytest

from lochan.errors import Invalid, NotFound
from lochan.formats.collection_events import DropRule, RetentionRule, RetentionSet
from lochan.versioning import branches, links, stash, uploads
from lochan.versioning.collection.retention import Expirable, expirable, expire
from lochan.versioning.collection.rule_checks import check_for
from lochan.versioning.heads import moves
from lochan.versioning.heads.commit import CommitRequest
from lochan.versioning.state.refs import Refs
from lochan.versioning.workspaces import write as workspace_write
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import ANN, Lakeside, lakeside, once


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


def test_a_merge_that_commits_first_does_so_beside_expired_commits() -> None:
    async def play() -> None:
        there = await with_rules(RetentionRule("*", commits=1))
        await daily(there, "main", "a=1", "a=2")
        await there.history.branch("dev")
        await daily(there, "dev", "x=1", "x=2", "x=3")
        await expire(there.repository, actor=ANN)
        await there.history.stage("main", "b=1")
        await moves.merge(there.repository, "dev", "main", actor=ANN, commit_first=CommitRequest("staged"))
        assert await there.history.read("main") == "a=2 b=1 x=3"

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
        ((RetentionRule("a", days=1), RetentionRule("a", commits=1)), "two rules are about"),
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


def test_uploads_that_nobody_continues_are_aborted() -> None:
    async def play() -> None:
        there = await lakeside()
        idle = await uploads.open_upload(there.repository, "main", "a", actor=ANN)
        busy = await uploads.open_upload(there.repository, "main", "b", actor=ANN)
        days(there, 4)
        await uploads.put_part(there.repository, busy, 1, once(b"x"), actor=ANN)
        assert (await expire(there.repository, actor=ANN)).uploads == (), "no rule says so"
        await there.repository.submit(ANN, RetentionSet(upload_days=3))
        assert (await expire(there.repository, actor=ANN)).uploads == (idle,)
        refs, _ = await there.repository.refs()
        assert [each.id for each in refs.uploads.all()] == [busy]

    run(play())


def test_workspaces_that_nobody_touches_are_dropped() -> None:
    async def play() -> None:
        there = await lakeside()
        idle, staged, filed = [
            await workspace_write.open_workspace(there.repository, "main", actor=ANN) for _ in range(3)
        ]
        days(there, 4)
        await workspace_write.put(there.repository, staged.id, "a", once(b"1"), actor=ANN)
        folder = f"{there.repository.repository.id}/workspaces/{filed.id}"
        await there.repository.store.put(f"{folder}/b", b"2")
        await there.repository.submit(ANN, RetentionSet(workspace_days=3))
        assert (await expire(there.repository, actor=ANN)).workspaces == (idle.id,)
        refs, _ = await there.repository.refs()
        assert {each.id for each in refs.workspaces.all()} == {staged.id, filed.id}

    run(play())


def test_old_stashes_are_dropped() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.history.stage("main", "a=1")
        old = await stash.push(there.repository, "main", actor=ANN)
        days(there, 4)
        await there.history.stage("main", "a=2")
        young = await stash.push(there.repository, "main", actor=ANN)
        await there.repository.submit(ANN, RetentionSet(stash_days=3))
        assert (await expire(there.repository, actor=ANN)).stashes == (old,)
        refs, _ = await there.repository.refs()
        assert [each.id for each in refs.stashes.all()] == [young]

    run(play())


def test_files_that_nothing_names_may_have_to_wait_for_longer() -> None:
    async def play() -> None:
        there = await lakeside()
        await there.repository.submit(ANN, RetentionSet(block_days=5))
        await there.history.stage("main", "a=1")
        await there.history.stage("main", "a=2")
        assert await there.rounds() == 0, "four days"
        assert await there.round() == 1, "six days"

    run(play())


def days(there: Lakeside, count: int) -> None:
    for _ in range(count):
        there.clock.skip_day()


@pytest.mark.parametrize(
    "event, said",
    [
        pytest.param(RetentionSet(drops=(DropRule("a", "main"),)), "exactly one condition", id="no condition"),
        pytest.param(
            RetentionSet(drops=(DropRule("a", "main", unread_days=1, never=True),)), "exactly one", id="two conditions"
        ),
        pytest.param(RetentionSet(drops=(DropRule("a", "main", unread_days=-1),)), "negative", id="negative"),
        pytest.param(RetentionSet(drops=(DropRule("a", "main", "tmp", never=True),)), "prefix", id="no folder"),
        pytest.param(RetentionSet(drops=(DropRule("a", "main", "/", never=True),)), "prefix", id="a leading slash"),
        pytest.param(
            RetentionSet(drops=(DropRule("a", "main", "t/", older_days=1),)), "a path and a span", id="rows at a path"
        ),
        pytest.param(
            RetentionSet(drops=(DropRule("a", "*", unread_days=1), DropRule("b", "dev", "t/", never=True))),
            "'b' is never used",
            id="hidden by a wider rule",
        ),
        pytest.param(
            RetentionSet(drops=(DropRule("a", "main", "t/", unread_days=1), DropRule("a", "dev", never=True))),
            "appears twice",
            id="a name twice",
        ),
        pytest.param(
            RetentionSet(drops=(DropRule("a", "main", unread_days=1),), holds=("main",)), "is held", id="held"
        ),
        pytest.param(RetentionSet(holds=("*", "main")), "has it already", id="held twice"),
        pytest.param(RetentionSet(upload_days=float("nan")), "no number of days", id="not a number"),
        pytest.param(RetentionSet(stash_days=-1), "no number of days", id="a negative age"),
        pytest.param(RetentionSet(readers="some"), "readers", id="unknown readers"),
    ],
)
def test_rules_that_make_no_sense_are_refused(event: RetentionSet, said: str) -> None:
    async def play() -> None:
        there = await lakeside()
        with pytest.raises(Invalid, match=said):
            await there.repository.submit(ANN, event)

    run(play())


def test_rules_must_fit_the_repository() -> None:
    async def play() -> None:
        there = await lakeside()
        refs, _ = await there.repository.refs()
        for event in (RetentionSet(holds=("dev",)), RetentionSet((RetentionRule("dev", days=1),))):
            with pytest.raises(NotFound, match="dev"):
                check_for(refs, event)
        with pytest.raises(Invalid, match="has files"):
            check_for(refs, RetentionSet(drops=(DropRule("a", "main", older_days=1),)))
        with pytest.raises(Invalid, match="no end"):
            check_for(refs, RetentionSet((RetentionRule("*", days=float("inf")),)))
        check_for(refs, RetentionSet((RetentionRule("dev-*", days=1),)))

    run(play())
