"""The search for the commit that broke something, one step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lochan.api.results import BisectStep, Commit

if TYPE_CHECKING:
    from lochan.versioning.open_repository import OpenRepository


async def bisect_step(repository: OpenRepository, good: Sequence[str], bad: str, skipped: Sequence[str]) -> BisectStep:
    from lochan.versioning.revisions.bisect import BisectMarks, rounds, step

    refs, _ = await repository.refs()
    ids = {name: (await repository.resolve(name)).commit_id for name in dict.fromkeys((*good, bad, *skipped))}
    marks = BisectMarks(ids[bad], frozenset(ids[name] for name in good), frozenset(ids[name] for name in skipped))
    now = step(refs.commit, marks)
    return BisectStep(
        test=Commit.of(now.test, refs.commit(now.test)) if now.test else None,
        rounds=rounds(len(now.candidates)) if now.test else 0,
        candidates=tuple(now.candidates),
        found=() if now.test else tuple(Commit.of(id, refs.commit(id)) for id in now.candidates),
    )
