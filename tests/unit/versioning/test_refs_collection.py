"""What the fold refuses to protect garbage collection, on events alone."""

import msgspec
import pytest

from lochan.errors import AlreadyExists, Gone, Invalid, NotFound, Refused
from lochan.formats.collection_events import (
    Abandoned,
    Aliased,
    AliasTablesSet,
    Expired,
    Opened,
    PlanBegun,
    PlanEnded,
    Planned,
)
from lochan.formats.entry import Block, Entry
from lochan.formats.repository_events import (
    BranchCreated,
    BranchDeleted,
    BranchRestored,
    Committed,
    RunsStaged,
    Sealed,
    Staged,
    TagCreated,
)
from lochan.formats.run import RunRef
from lochan.versioning.state.collection import Stale, mint_of
from lochan.versioning.state.refs import Refs
from tests.unit.versioning.folded_events import FIRST, Story, after, entry


def minted(path: str, mint: int) -> Entry:
    return Entry(path, (Block(f"repo/data/{mint:020d}-writer/id", 0, 1, b""),), 1, "", "", 0)


def run(mint: int) -> RunRef:
    return RunRef(f"run-{mint}", f"runs/{mint}", 1, 1, 0, 10, "a", "a", mint)


def plan(story: Story) -> int:
    """A plan that has marked everything, ended at once."""
    number = story.tell(Planned(story.refs.collection.plan, story.number, "a list"))
    story.tell(PlanEnded(number, "reported"))
    return number


def collected_twice() -> Story:
    """The first plan only draws the line; the second has it as its cut."""
    story = Story()
    for _ in range(5):
        story.tell(Staged("main", (entry("filler"),)))
    plan(story)
    plan(story)
    return story


def test_a_first_reference_to_an_old_file_is_refused() -> None:
    story = collected_twice()
    cut = story.refs.collection.cut
    story.refuses(Staged("main", (minted("a", cut - 1),)), Gone)
    story.refuses(RunsStaged("main", (run(cut - 1),), mint=cut), Gone)
    story.refuses(RunsStaged("main", (run(cut),), mint=cut - 1), Gone)
    story.tell(Staged("main", (minted("a", cut),)))
    story.tell(RunsStaged("main", (run(cut),), mint=cut))


def test_what_is_held_open_may_be_old_and_is_used_once() -> None:
    story = Story()
    story.tell(Opened("token", "link", "repo/data/1-writer/id"))
    story.refuses(Opened("token", "link"), AlreadyExists)
    plan(story)
    plan(story)
    old = minted("a", 1)
    story.refuses(Staged("main", (old,)), Gone)
    story.tell(Staged("main", (old,), closes=("token",)))
    story.refuses(Staged("main", (minted("b", 1),), closes=("token",)), Refused)


def test_what_was_given_up_is_closed() -> None:
    story = Story()
    story.tell(Opened("token", "link"))
    story.tell(Abandoned(("token",)))
    story.refuses(Staged("main", (entry("a"),), closes=("token",)), Refused)
    story.refuses(Abandoned(("token",)), Refused)


def test_what_was_derived_before_a_plan_is_refused_unless_checked_against_it() -> None:
    story = Story()
    story.tell(Staged("main", (entry("a"),)))
    seal = story.tell(Sealed("main"))
    read_at = story.number
    number = plan(story)
    commit = after(FIRST)
    story.refuses(Committed("main", seal, commit, read_at=read_at), Stale)
    story.refuses(Committed("main", seal, commit, read_at=read_at, checked=number - 1), Stale)
    story.refuses(story.move(after(FIRST), read_at=read_at), Stale)
    story.refuses(Staged("main", (minted("copy", 1),), read_at=read_at), Stale)
    story.tell(Staged("main", (minted("copy", 1),), read_at=number))
    story.tell(Committed("main", seal, commit, read_at=read_at, checked=number))


def test_one_plan_at_a_time_and_each_is_exact() -> None:
    story = Story()
    story.refuses(Planned(7, story.number, "list"), Invalid)
    story.refuses(Planned(0, 0, "list"), Stale)
    number = story.tell(Planned(0, story.number, "list"))
    story.refuses(Planned(number, story.number, "list"), Refused)
    story.refuses(PlanEnded(number + 1, "reported"), NotFound)
    story.refuses(PlanEnded(number, "forgotten"), Invalid)
    story.tell(PlanEnded(number, "abandoned"))
    story.tell(Planned(number, story.number, "list"))


def test_from_its_beginning_on_a_plan_is_safe_from_whatever_comes() -> None:
    story = collected_twice()
    cut = story.refs.collection.plan
    old = story.number
    story.tell(Opened("before", "link", f"repo/data/{cut - 1:020d}-writer/held"))
    begun = story.tell(PlanBegun(cut))
    assert (story.refs.collection.cut, story.refs.collection.plan, story.refs.collection.begun) == (cut, cut, begun)
    story.refuses(Staged("main", (minted("a", cut - 1),)), Gone)
    story.refuses(Staged("main", (minted("a", cut - 1),), read_at=old), Stale)
    story.refuses(Staged("main", (minted("a", cut - 1),), read_at=old, checked=cut), Stale)
    story.refuses(Opened("token", "link", f"repo/data/{cut - 1:020d}-writer/id"), Stale)
    story.tell(Opened("token", "link", f"repo/data/{cut:020d}-writer/id"))
    read_at = story.tell(Staged("main", (minted("b", cut),)))
    story.refuses(Planned(cut, begun + 1, "list", begun), Invalid)
    story.refuses(Planned(cut, begun - 1, "list", begun - 1), Refused)
    number = story.tell(Planned(cut, begun, "list", begun))
    story.tell(Staged("main", (minted("copy", cut - 1),), read_at=read_at))
    story.refuses(Staged("main", (minted("copy", cut - 1),), read_at=begun - 1), Stale)
    story.tell(Staged("main", (minted("copy", cut - 1),), read_at=begun - 1, checked=number))
    story.tell(Staged("main", (minted("held", cut - 1),), closes=("before",)))


def test_who_began_last_lands() -> None:
    story = Story()
    first = story.tell(PlanBegun(0))
    second = story.tell(PlanBegun(0))
    story.refuses(Planned(0, first, "list", first), Refused)
    number = story.tell(Planned(0, second, "list", second))
    story.refuses(PlanBegun(number), Refused)
    story.tell(PlanEnded(number, "abandoned"))
    story.refuses(PlanBegun(0), Invalid)
    story.tell(PlanBegun(number))


def test_an_alias_leads_straight_to_the_bytes() -> None:
    story = Story()
    now = story.number
    story.tell(Aliased("a", "b", now))
    assert story.refs.collection.alias("a") == "b"
    assert story.refs.collection.alias("b") == "b"
    story.refuses(Aliased("a", "c", now), Refused)  # a leads elsewhere already
    story.refuses(Aliased("c", "a", now), Refused)  # its target is an alias
    story.refuses(Aliased("b", "c", now), Refused)  # b is somebody's target
    story.refuses(Aliased("d", "d", now), Invalid)
    plan(story)
    story.refuses(Aliased("d", "e", now), Stale)


def test_alias_tables_are_set_only_on_top_of_those_that_were_read() -> None:
    story = Story()
    now = story.number
    story.tell(AliasTablesSet(("aliases/1",), (), now))
    assert story.refs.collection.alias_tables == ("aliases/1",)
    story.refuses(AliasTablesSet(("aliases/2",), (), now), Stale)  # its maker has not read aliases/1
    story.refuses(Aliased("a", "b", now), Refused)  # the fold cannot look into the tables
    story.tell(AliasTablesSet(("aliases/1", "aliases/2"), ("aliases/1",), now))
    plan(story)
    both = ("aliases/1", "aliases/2")
    story.refuses(AliasTablesSet((), both, now), Stale)  # G4


def test_what_was_derived_before_aliases_were_dropped_is_refused() -> None:
    story = Story()
    now = story.number
    story.tell(AliasTablesSet(("aliases/1",), (), now))
    read_at = story.number
    story.refuses(AliasTablesSet((), ("aliases/1",), read_at, marked=read_at - 1), Stale)
    copied = Entry("q", (Block("repo/data/1-w/x", 0, 1, b""),), 1, "", "", 0)
    story.tell(Staged("main", (copied,), read_at=read_at))
    story.tell(AliasTablesSet((), ("aliases/1",), story.number, marked=story.number))
    story.refuses(Staged("main", (copied,), read_at=read_at), Stale)
    story.tell(Staged("main", (copied,), read_at=story.number))


def test_heads_and_tags_never_expire_and_what_expired_is_named_no_more() -> None:
    story = Story()
    second = after(FIRST)
    third = after(second, message="third")
    story.tell(story.move(second))
    story.tell(story.move(third))
    story.refuses(Expired((third.id,)), Refused)
    story.refuses(Expired(("no-such-commit",)), NotFound)
    story.tell(TagCreated("v1", second.id))
    story.refuses(Expired((second.id,)), Refused)
    story.tell(Expired((FIRST.id,)))
    with pytest.raises(Gone, match="expired"):
        story.refs.commit(FIRST.id)
    story.refuses(BranchCreated("dev", FIRST.id), Gone)
    story.refuses(TagCreated("v0", FIRST.id), Gone)


def test_a_deleted_branch_is_kept_until_its_window_expires() -> None:
    story = Story()
    made = story.tell(BranchCreated("dev", FIRST.id))
    story.tell(story.move(after(FIRST)))
    story.tell(BranchDeleted("dev", made))
    story.refuses(Expired((FIRST.id,)), Refused)
    story.refuses(Expired(branches=(("dev", 99),)), NotFound)
    story.tell(Expired((FIRST.id,), (("dev", made),)))
    story.refuses(BranchRestored("dev", made), NotFound)


def test_what_collection_knows_outlives_a_checkpoint() -> None:
    story = collected_twice()
    story.tell(Opened("token", "link", "address", "main", "path", 7))
    story.tell(Aliased("a", "b", story.number))
    story.tell(story.move(after(FIRST), read_at=story.number))
    story.tell(Expired((FIRST.id,)))
    dumped = msgspec.msgpack.encode(story.refs.dump())
    again = Refs()
    again.load(msgspec.Raw(dumped))
    assert msgspec.msgpack.encode(again.dump()) == dumped
    assert again.collection.cut == story.refs.collection.cut > 0
    assert again.collection.held("token") == story.refs.collection.held("token")


def test_the_number_in_an_address() -> None:
    assert mint_of("repo/data/00000000000000000012-writer/id") == 12
    assert mint_of("repo/workspaces/17-9f3a6c21/a/b") == 17
    assert mint_of("s3://bucket/key") > 1 << 60
    with pytest.raises(Invalid):
        mint_of("repo/data/none/id")
