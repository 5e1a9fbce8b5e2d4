"""Random histories of a pool, merged in every way: no row is duplicated or lost, and none comes back by itself.

Rows are words that are loaded once, so a row that is there twice, or missing, shows at once.
"""

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.errors import Conflict, Invalid
from lochan.versioning.revisions.graph import log, merge_bases, only_left
from tests.run import run
from tests.unit.pools.place import Pool, pool

pytestmark = pytest.mark.thorough

BRANCHES = ("main", "dev", "side")
Rows = frozenset[str]
CHANGES = ("load", "load", "compact", "rewrite", "rewrite", "delete")
JOINS = ("merge", "merge", "squash", "pick", "revert", "rebase")

acts = st.lists(
    st.tuples(
        st.sampled_from(CHANGES + JOINS), st.sampled_from(BRANCHES), st.sampled_from(BRANCHES), st.integers(0, 99)
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=2_000 if os.environ.get("FULL") else 25, deadline=None)
@given(acts)
def test_rows_are_neither_doubled_nor_lost(story: list[tuple[str, str, str, int]]) -> None:
    async def play() -> None:
        pool_history = PoolHistory(await pool())
        await pool_history.begin()
        for act in story:
            await pool_history.play(*act)

    run(play())


class PoolHistory:
    def __init__(self, logs: Pool) -> None:
        self.logs = logs
        self.loaded = 0

    async def begin(self) -> None:
        await self.logs.load("main", "a1 a2", "b1 b2")
        for branch in BRANCHES[1:]:
            await self.logs.branch(branch)

    async def play(self, verb: str, branch: str, other: str, number: int) -> None:
        if verb in CHANGES:
            await self.change(verb, branch, number)
        elif verb in ("merge", "squash", "rebase"):
            if branch != other:
                await self.join(verb, branch, other)
        else:
            await self.apply(verb, branch, other, number)

    async def change(self, verb: str, branch: str, number: int) -> None:
        before = await self.rows(branch)
        ids = sorted(await self.logs.ids(branch))
        self.loaded += 1
        if verb == "load":
            await self.logs.load(branch, f"r{self.loaded} s{self.loaded}")
            assert await self.rows(branch) == before | {f"r{self.loaded}", f"s{self.loaded}"}
        elif ids and verb == "compact":
            await self.logs.compact(branch, *(ids[number % len(ids) :] if number % 2 else ids))
            assert await self.rows(branch) == before
        elif ids and verb == "rewrite" and before:
            gone = sorted(before)[number % len(before)]
            await self.logs.rewrite(branch, gone, f"u{self.loaded}" if number % 3 == 0 else "")
            assert (await self.rows(branch)) - {f"u{self.loaded}"} == before - {gone}
        elif ids and verb == "delete":
            await self.logs.delete(branch, ids[number % len(ids)])

    async def join(self, verb: str, branch: str, other: str) -> None:
        ours, theirs = [await self.logs.head(each) for each in (branch, other)]
        o, t = await self.rows(ours), await self.rows(theirs)
        ever_o, ever_t = await self.ever(ours), await self.ever(theirs)
        refs, _ = await self.logs.repository.refs()
        bases = merge_bases(refs.commit, ours, theirs)
        sides = [only_left(refs.commit, *pair) for pair in ((ours, theirs), (theirs, ours))]
        try:
            if verb == "rebase":
                await self.logs.rebase(branch, other)
            else:
                await self.logs.merge(other, branch, squash=verb == "squash")
        except (Conflict, Invalid):
            assert await self.logs.head(branch) == ours
            return
        r = await self.rows(branch)
        assert r <= o | t if verb != "rebase" else r <= ever_o | t
        assert o & t <= r, "both have it"
        assert o - ever_t <= r, "they never had it"
        assert t - ever_o <= r, "we never had it"
        if len(bases) == 1 and verb != "rebase":
            base = await self.rows(bases[0])
            kept = [frozenset.intersection(base, *[await self.rows(id) for id in side]) for side in sides]
            assert not r & (kept[0] - t), "they removed it, and we did nothing"
            assert not r & (kept[1] - o), "we removed it, and they did nothing"

    async def apply(self, verb: str, branch: str, other: str, number: int) -> None:
        refs, _ = await self.logs.repository.refs()
        source = branch if verb == "revert" else other
        line = [id for id, commit in log(refs.commit, refs.branch(source).head) if commit.parents]
        chosen = line[number % len(line)]
        head = await self.logs.head(branch)
        o, ever = await self.rows(head), await self.ever(head)
        after, before = await self.rows(chosen), await self.rows(refs.commit(chosen).parents[0])
        come, gone = (after - before, before - after) if verb == "pick" else (before - after, after - before)
        since = [await self.rows(id) for id in only_left(refs.commit, head, chosen)]
        try:
            await (self.logs.pick if verb == "pick" else self.logs.revert)(chosen, branch)
        except (Conflict, Invalid):
            assert await self.logs.head(branch) == head
            return
        r = await self.rows(branch)
        assert r <= o | come
        assert o - gone <= r
        assert not r & gone
        held: Rows = ever if verb == "pick" else frozenset().union(*since)
        assert come - held <= r

    async def rows(self, ref: str) -> Rows:
        found = Counter((await self.logs.rows(ref)).split())
        assert not found or max(found.values()) == 1, f"a row is there twice: {found}"
        return frozenset(found)

    async def ever(self, id: str) -> Rows:
        refs, _ = await self.logs.repository.refs()
        found: list[Any] = [await self.rows(each) for each, _ in log(refs.commit, id)]
        return frozenset().union(*found)
