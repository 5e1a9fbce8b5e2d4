"""Decides which objects a pool holds after two of its histories are merged (rule S7). Works on sets, and reads nothing.

An object never changes, but its rows move on: a compaction, a delete by predicate or an upsert replaces some objects by
others. Objects that such steps connect, on either side, hold the same rows, and are settled together, as a *family*:

    x ──▶ y        both sides replaced x: y and z hold its rows, each with its own changes. Keeping both would double
     ╲──▶ z        them, keeping one would lose the changes of the other: the rows must be computed

Each side holds some objects of a family, and held others before. If one side held at some time what the other holds
now, it has moved on from there, and its objects count.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

Objects = frozenset[str]  # paths
NONE: Objects = frozenset()


class Step(NamedTuple):
    """The changes of one commit."""

    removed: Objects
    added: Objects
    akin: tuple[Objects, ...] = ()  # added objects, each with those of another history that its rows came from


class Side(NamedTuple):
    """One history since the merge base."""

    now: Objects  # the objects in question that it holds
    before: Sequence[Objects] = ()  # the objects that it held before, oldest first; without `now` and the merge base
    dropped: Objects = NONE  # the objects that it held and no longer holds; they never come back by themselves


class Rows(NamedTuple):
    """A family whose rows must be computed: those of `ours`, with the changes of `theirs` since `base`."""

    base: Objects
    ours: Objects
    theirs: Objects


class SettledObjects(NamedTuple):
    removed: Objects  # objects that are removed from ours
    added: Objects  # objects that are added to ours, out of theirs
    rows: tuple[Rows, ...]  # families whose rows must be computed; the other fields do not contain their objects


def settle(base: Objects, ours: Side, theirs: Side, steps: Iterable[Step]) -> SettledObjects:
    """Settles ours with the changes of theirs since base. `steps` are those of both sides, in any order."""
    removed: set[str] = set()
    added: set[str] = set()
    rows: list[Rows] = []
    for family in families(steps, base ^ theirs.now):
        decided = _decide(family, base, ours, theirs)
        if isinstance(decided, Rows):
            rows.append(decided)
        else:
            removed |= (ours.now & family) - decided
            added |= decided - ours.now
    return SettledObjects(frozenset(removed), frozenset(added), tuple(rows))


def families(steps: Iterable[Step], objects: Objects) -> Iterator[Objects]:
    """Yields the families of `objects`. An object that was only loaded or deleted is a family by itself."""
    parent: dict[str, str] = {}

    def root(of: str) -> str:
        while (above := parent.setdefault(of, of)) != of:
            parent[of] = parent[above]
            of = above
        return of

    for step in steps:
        replaced = (step.removed | step.added,) if step.removed and step.added else ()
        for related in (*replaced, *step.akin):
            first, *others = map(root, related)
            for other in others:
                parent[root(other)] = root(first)
    members: dict[str, set[str]] = {}
    for each in sorted({*parent, *objects}):
        members.setdefault(root(each), set()).add(each)
    for found in {root(each): None for each in sorted(objects)}:
        yield frozenset(members[found])


def _decide(family: Objects, base: Objects, ours: Side, theirs: Side) -> Objects | Rows:
    """Returns the objects of the result, or those that the rows are computed from."""
    here, there, before = ours.now & family, theirs.now & family, base & family
    if here == there or there == before:
        return here
    ours_before = [state & family for state in ours.before]
    theirs_before = [state & family for state in theirs.before]
    back = ours.dropped & there
    if here == before and not back:
        return there
    if back and there in ours_before:
        return here
    if here in theirs_before and not back:
        return there
    common = [state for state in (before, *ours_before) if state in (before, *theirs_before)]
    return Rows(common[-1], here, there)
