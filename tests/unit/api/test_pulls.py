"""Pull requests on a lake in a folder: opened, listed, talked about, resolved and merged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.errors import Conflict, Invalid, KeyReused, NotFound, PathsInTheWay, Refused, RulesUnmet
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    async def create() -> None:
        await (await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))).close()

    asyncio.run(create())
    with lochan.connect(str(tmp_path / "lake"), user="ann") as found:
        yield found


@pytest.fixture
def demo(lake: lochan.Lake) -> lochan.Repository:
    repository = lake.create_repository("demo")
    main = repository.branch("main")
    for path in ("a", "ab", "b"):
        main.put(path, b"base")
    main.commit("first")
    return repository


def work(demo: lochan.Repository, name: str, path: str = "new", content: bytes = b"work") -> lochan.PullRequest:
    branch = demo.create_branch(name)
    branch.put(path, content)
    branch.commit(name)
    return demo.create_pull(branch, title=f"from {name}", description=f"why {name}")


def test_lists_are_filtered_and_go_on(demo: lochan.Repository) -> None:
    first, second, third = (work(demo, name, name) for name in ("one", "two", "three"))
    second.close()
    first.merge()
    assert [each.id for each in demo.pulls()] == [third.id]
    assert [each.id for each in demo.pulls("all")] == [third.id, second.id, first.id]
    assert [each.id for each in demo.pulls("ended")] == [second.id, first.id]
    assert [each.id for each in demo.pulls("all", after=third.id)] == [second.id, first.id]
    assert [each.id for each in demo.pulls("all", source="two")] == [second.id]
    assert [each.description for each in demo.pulls("merged", texts=True)] == ["why one"]
    assert [each.description for each in demo.pulls("merged")] == [None]
    assert not list(demo.pulls("all", author="nobody")) and not list(demo.pulls("all", target="one"))
    for status, after in (("odd", ""), ("all", "x"), ("all", "1.x")):
        with pytest.raises(Invalid):
            list(demo.pulls(status, after=after))


def test_a_request_that_is_repeated_with_its_key_is_done_once(demo: lochan.Repository, lake: lochan.Lake) -> None:
    branch = demo.create_branch("dev")
    branch.put("x", b"1")
    branch.commit("x")
    key = lake.new_key()
    pull = demo.create_pull("dev", title="t", key=key)
    assert demo.create_pull("dev", title="t", key=key).id == pull.id
    with pytest.raises(KeyReused):
        demo.create_pull("dev", title="another", key=key)
    key = lake.new_key()
    comment = pull.comment("so", key=key)
    assert pull.comment("so", key=key) == comment and len(list(pull.comments())) == 1
    options = lochan.CommitOptions(key=lake.new_key())
    assert pull.merge(options).id == pull.merge(options).id


@pytest.mark.thorough
def test_texts_are_read_from_segments_too(demo: lochan.Repository, lake: lochan.Lake, tmp_path: Path) -> None:
    pull = work(demo, "dev")
    for number in range(270):
        pull.comment(f"comment {number}")
    lake.run_upkeep(["trim"])
    assert list(tmp_path.glob("lake/*/journal/seg/*")), "the first records are in a segment"
    with lochan.connect(lake.url, user="ann") as again:
        found = again.repository("demo").pull(pull.id)
        assert found.show().description == "why dev"
        assert [each.text for each in found.comments()] == [f"comment {number}" for number in range(270)]


def test_conflicts_are_resolved_one_by_one(demo: lochan.Repository, lake: lochan.Lake) -> None:
    branch = demo.create_branch("dev")
    for name, at in (("ours", demo.branch("main")), ("theirs", branch)):
        for path in ("a", "ab", "b"):
            at.put(path, name.encode())
        at.commit(name)
    pull = demo.create_pull("dev", title="t")
    assert [each.path for each in pull.conflicts()] == ["a", "ab", "b"]
    take = lochan.Resolution
    with pytest.raises(PathsInTheWay) as caught:
        pull.resolve([take(path="a", take="ours")])  # "ab" begins like it, and was not decided
    assert caught.value.paths == ("ab", "b")
    for wrong in ([take(path="a", take="odd")], [take(path="z", take="ours")], [take(path="a", take="ours")] * 2):
        with pytest.raises((Invalid, PathsInTheWay)):
            pull.resolve(wrong)
    assert len(demo.branch("dev").resolve().parents) == 1, "nothing was done yet"
    options = lochan.CommitOptions(key=lake.new_key())
    choices = [take(path="a", take="ours"), take(path="ab", take="base"), take(path="b", take="bytes", content=b"both")]
    made = pull.resolve(choices, options)
    assert pull.resolve(choices, options).id == made.id == demo.branch("dev").resolve().id
    assert not list(pull.conflicts()) and not list(demo.workspaces())
    head = pull.merge().id
    assert [demo.ref(head).read(path) for path in ("a", "ab", "b")] == [b"ours", b"base", b"both"]
    assert [each.path for each in pull.diff()] == ["ab", "b"]
    assert [each.path for each in pull.diff(after="ab")] == ["b"]


def test_ways_to_merge(demo: lochan.Repository) -> None:
    squashed = work(demo, "one", "one").merge(way="squash")
    assert len(squashed.parents) == 1
    pull = work(demo, "two", "two")
    assert pull.merge(way="fast").id == demo.ref("two").resolve().id
    behind = work(demo, "three", "three")
    demo.branch("main").put("moved", b"on")
    with pytest.raises(Refused):
        behind.merge()  # something is staged on the target
    demo.branch("main").commit("moved on")
    with pytest.raises(Refused, match="has commits that 'three' has not"):
        behind.merge(way="fast")
    with pytest.raises(Invalid):
        behind.merge(way="odd")
    demo.branch("three").put("staged", b"x")
    with pytest.raises(Refused):
        behind.merge()
    assert len(behind.merge(leave_staged=True).parents) == 2
    with pytest.raises(Refused, match="is merged"):
        behind.merge()


def test_linear_and_mergers(demo: lochan.Repository) -> None:
    pull = work(demo, "dev")
    demo.protect("main", linear=True, pull=True, checks=["quality"])
    with pytest.raises(RulesUnmet) as caught:
        pull.merge()
    assert len(caught.value.reasons) == 2
    pull.check("quality", "success", "fine", link="https://ci.example.org/1")
    assert [(each.name, each.required) for each in pull.checks()] == [("quality", True)]
    assert pull.show().unmet == ()
    pull.merge(way="squash")
    rules = demo.protections()
    assert demo.set_protections(rules, expected=rules) == rules


def test_checks_are_of_commits_of_the_source(demo: lochan.Repository) -> None:
    pull = work(demo, "dev")
    other = work(demo, "other", "elsewhere")
    for commit in (demo.ref("other").resolve().id, "other", "0" * 64, "main", "x"):
        with pytest.raises(Invalid, match="no commit of pull request"):
            pull.check("quality", "success", commit=commit)
    demo.delete_branch("other")
    with pytest.raises(Invalid):
        other.check("quality", "success")
    with pytest.raises(RulesUnmet):
        other.merge()
    with pytest.raises(NotFound):
        list(other.diff())
    assert other.show().unmet == ("its source 'other' is gone",)


def test_reviews_need_a_server(demo: lochan.Repository) -> None:
    pull = work(demo, "dev")
    with pytest.raises(Refused, match="through a server"):
        pull.review("approve")
    with pytest.raises(Conflict):
        demo.create_pull("dev", title="again")
