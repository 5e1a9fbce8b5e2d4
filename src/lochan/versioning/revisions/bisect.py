"""Finds the commit that broke something, in as few tests as the history allows.

Every ancestor of the bad commit that is no ancestor of a good one is a candidate. The next one to test should have
about half of the candidates among its ancestors: whatever the result is, about half of them are settled. On a line of
commits that is the middle one; where lines were merged, ancestors must be counted."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from lochan.errors import Invalid
from lochan.versioning.revisions.graph import LookUp, is_ancestor, merge_bases

_NEAR = 1_024  # with at least so many candidates, a thousandth off the half is close enough


class BisectMarks(NamedTuple):
    """The test results so far, by commit id."""

    bad: str
    good: frozenset[str]
    skipped: frozenset[str] = frozenset()


class BisectRound(NamedTuple):
    test: str  # the commit to test next, or empty if none is left
    candidates: tuple[str, ...]  # commits that may be the first bad one, newest first; a single one is it
    left: int  # the number of candidates that this test leaves at most


def step(look_up: LookUp, marks: BisectMarks) -> BisectRound:
    """Plans the next test. Raises Invalid if the marks contradict each other."""
    look_up = cache(look_up)  # every candidate is read several times
    base = _untested_base(look_up, marks)
    candidates = _candidates(look_up, marks)
    if base:
        return BisectRound(base, tuple(candidates), len(candidates))
    total = len(candidates)
    weights = _weights(look_up, candidates, marks)
    best = max(weights, key=lambda id: min(weights[id], total - weights[id]), default="")
    return BisectRound(best, tuple(candidates), max(weights[best], total - weights[best]) if best else total)


def rounds(candidates: int) -> int:
    """Returns about how many more tests are needed."""
    return (max(candidates, 1) - 1).bit_length()


def _untested_base(look_up: LookUp, marks: BisectMarks) -> str:
    """Returns a commit to test first, or an empty text. A good commit that is no ancestor of the bad one proves
    nothing, unless the commit where they parted is good too."""
    for good in sorted(marks.good):
        if is_ancestor(look_up, marks.bad, good):
            raise Invalid(
                f"commit {marks.bad[:12]} is bad, but its descendant {good[:12]} is good",
                hint="it was fixed in between; have you swapped good and bad?",
            )
        if is_ancestor(look_up, good, marks.bad):
            continue
        bases = merge_bases(look_up, marks.bad, good)
        if not bases:
            raise Invalid(f"commits {marks.bad[:12]} and {good[:12]} have no history in common")
        for base in bases:
            settled = base in marks.skipped or any(is_ancestor(look_up, base, each) for each in marks.good - {good})
            if not settled and base not in marks.good:
                return base
    return ""


def _candidates(look_up: LookUp, marks: BisectMarks) -> list[str]:
    """Returns the candidates, newest first: children come before their parents."""
    fine = _reachable(look_up, marks.good, lambda parent: True)
    found = _reachable(look_up, [marks.bad], lambda parent: parent not in fine)
    return sorted(found, key=lambda id: (-look_up(id).generation, id))


def _weights(look_up: LookUp, candidates: list[str], marks: BisectMarks) -> dict[str, int]:
    """Returns, for each candidate that can be tested, how many candidates are its ancestors, itself included. Stops
    early at one that halves them."""
    among = set(candidates)
    total = len(candidates)
    counted: dict[str, int] = {}
    weights: dict[str, int] = {}
    for id in reversed(candidates):  # parents come first
        parents = [parent for parent in dict.fromkeys(look_up(id).parents) if parent in among]
        if len(parents) < 2:
            counted[id] = 1 + (counted[parents[0]] if parents else 0)
        else:  # otherwise ancestors that its parents share would count twice
            counted[id] = len(_reachable(look_up, [id], among.__contains__))
        if id != marks.bad and id not in marks.skipped:
            weights[id] = counted[id]
            off = abs(2 * counted[id] - total)
            if off <= 1 or (total >= _NEAR and off * 1_000 <= total):
                return {id: counted[id]}
    return weights


def _reachable(look_up: LookUp, starts: Iterable[str], follow: Callable[[str], bool]) -> set[str]:
    found = set(starts)
    queue = list(found)
    while queue:
        for parent in look_up(queue.pop()).parents:
            if parent not in found and follow(parent):
                found.add(parent)
                queue.append(parent)
    return found
