"""Blame against a known history: the commit that last changed each object, through merges, reverts and re-uploads."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.errors import NotFound, NothingToDo
from lochan.formats.commit import Commit
from lochan.tree.merge import SOURCE, Strategy
from lochan.versioning.branches import reset_staged
from lochan.versioning.heads.moves import cherry_pick, merge, revert
from lochan.versioning.revisions.log import blame, blame_under
from tests.run import run
from tests.unit.versioning.history import ANN, History, history


async def blamed(repo: History, ref: str = "main", prefix: str = "") -> dict[str, str]:
    page = await blame_under(repo.repository, ref, prefix)
    assert page.next is None
    for each in page.entries:
        assert await blame(repo.repository, ref, each.path) == each
    return {each.path: each.commit.message for each in page.entries}


def test_the_last_change_counts() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=1 b=1 c=1", "first")
        await repo.write("main", "a=2", "second")
        await repo.write("main", "-c d=1", "third")
        assert await blamed(repo) == {"a": "second", "b": "first", "d": "third"}
        assert await blamed(repo, "main~1") == {"a": "second", "b": "first", "c": "first"}

    run(play())


def test_the_same_content_again_is_no_change() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=1", "first")
        await repo.write("main", "a=1 b=1", "second")
        assert await blamed(repo) == {"a": "first", "b": "second"}
        await repo.write("main", "-a", "gone")
        await repo.write("main", "a=1", "back")
        assert await blamed(repo) == {"a": "back", "b": "second"}

    run(play())


def test_through_a_merge_to_where_it_was_made() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=0 b=0 c=0", "base")
        await repo.branch("dev")
        await repo.write("dev", "a=1", "on dev")
        await repo.write("main", "b=1", "on main")
        await repo.merge("dev", "main")
        assert await blamed(repo) == {"a": "on dev", "b": "on main", "c": "base"}

    run(play())


def test_what_a_merge_decided_is_the_merge_s_only_where_it_is_like_neither() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=0", "base")
        await repo.branch("dev")
        await repo.write("dev", "a=1", "same on dev")
        await repo.write("main", "a=1 b=1", "same on main")
        await repo.merge("dev", "main")
        assert await blamed(repo) == {"a": "same on main", "b": "same on main"}

    run(play())


def test_a_revert_and_a_cherry_pick_are_changes() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=1 b=1", "first")
        await repo.branch("dev")
        await repo.write("main", "a=2", "second")
        await revert(repo.repository, "main", "main", actor=ANN)
        assert (await blamed(repo))["a"].startswith("Revert")
        picked = await cherry_pick(repo.repository, "dev", "main~1", actor=ANN)
        assert (await blame(repo.repository, "dev", "a")).commit_id == picked

    run(play())


def test_pages_and_prefixes() -> None:
    async def play() -> None:
        repo = await history()
        for number in range(5):
            await repo.write("main", f"p/{number}=1 q/{number}=1", f"c{number}")
        await repo.write("main", "p/0=2", "later")
        assert await blamed(repo, prefix="p/") == {"p/0": "later", **{f"p/{n}": f"c{n}" for n in range(1, 5)}}
        found: list[tuple[str, str]] = []
        after: str | None = ""
        while after is not None:
            page = await blame_under(repo.repository, "main", "", after, limit=3)
            assert len(page.entries) in (3, 1)
            found += [(each.path, each.commit.message) for each in page.entries]
            after = page.next
        assert dict(found) == await blamed(repo)
        assert len(found) == 10
        assert (await blame_under(repo.repository, "main", "nothing/")).entries == []

    run(play())


def test_what_is_staged_has_no_commit_yet() -> None:
    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=1", "first")
        await repo.stage("main", "a=2 b=1")
        assert await blamed(repo) == {"a": "first"}
        with pytest.raises(NotFound, match="'b' is committed at main"):
            await blame(repo.repository, "main", "b")

    run(play())


def test_the_walk_ends_when_all_is_explained() -> None:
    async def play() -> None:
        repo = await history()
        for number in range(30):
            await repo.write("main", f"old/{number}=1")
        await repo.write("main", "new/a=1", "new")
        opened: list[str] = []
        tree = repo.repository.tree
        repo.repository.tree = lambda commit: (opened.append(commit.message), tree(commit))[1]  # type: ignore[func-returns-value, method-assign]
        assert [each.commit.message for each in (await blame_under(repo.repository, "main", "new/")).entries] == ["new"]
        assert len(set(opened)) == 2, "the commit and its parent"

    run(play())


@pytest.mark.thorough
@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("abcd"), st.integers(0, 2)), max_size=14))
def test_as_defined(steps: list[tuple[str, str, int]]) -> None:
    """On random histories of three branches: a step with 0 merges, the others write."""

    async def content(repo: History, commit: Commit, path: str) -> str | None:
        entry = await (await repo.repository.tree(commit)).get(path)
        return entry.checksum if entry else None

    async def defined(repo: History, id: str, path: str) -> str:
        refs, _ = await repo.repository.refs()
        commit = refs.commit(id)
        for parent in commit.parents:
            if await content(repo, refs.commit(parent), path) == await content(repo, commit, path):
                return await defined(repo, parent, path)
        return id

    async def play() -> None:
        repo = await history()
        await repo.write("main", "a=0 b=0 c=0 d=0")
        for name in "xyz":
            await repo.branch(name)
        for branch, path, number in steps:
            source = "xyz"["abcd".index(path) % 3]
            try:
                if number:
                    await repo.write(branch, f"{path}={number}")
                elif source != branch:
                    await merge(repo.repository, source, branch, actor=ANN, strategy=Strategy(SOURCE))
            except NothingToDo:
                if number:
                    await reset_staged(repo.repository, branch, actor=ANN)
        for branch in "xyz":
            head = (await repo.repository.resolve(branch)).commit_id
            page = await blame_under(repo.repository, branch, "")
            assert [each.path for each in page.entries] == ["a", "b", "c", "d"]
            for each in page.entries:
                assert each.commit_id == await defined(repo, head, each.path)

    run(play())
