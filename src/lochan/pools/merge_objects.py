"""Which objects a pool holds after two histories of it were joined (rule S7). Plain sets: nothing is read here.

An object never changes, and its rows move on: a compaction, a delete by predicate or an upsert takes some objects and
puts others in their place. So objects that such steps connect, on either side, stand for the same rows, and are settled
together, as a *family*:

    x ──▶ y        both sides replaced x: y and z hold its rows, each with changes of its own. To keep both would double
     ╲──▶ z        them, to keep one would lose what the other changed: the rows must be computed

For each family there are the objects of it that each side holds, and held before. Where one side's were held by the
other at some time, the other has gone on from there, and is right.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

Objects = frozenset[str]  # paths
NONE: Objects = frozenset()


class Step(NamedTuple):
    """What one commit did."""

    removed: Objects
    added: Objects
    akin: tuple[Objects, ...] = ()  # objects that it added, each with those of another history that its rows came from


class Side(NamedTuple):
    """One history since the two parted."""

    now: Objects  # of the objects in question, those that it holds
    before: Sequence[Objects] = ()  # and held, oldest first; without `now`, and without what both parted from
    dropped: Objects = NONE  # what it held, and no longer held in the end: that never comes back by itself


class Rows(NamedTuple):
    """A family to be settled by rows: those of `ours`, with what `theirs` changed since `base`."""

    base: Objects
    ours: Objects
    theirs: Objects


class SettledObjects(NamedTuple):
    removed: Objects  # from ours
    added: Objects  # to ours, out of theirs
    rows: tuple[Rows, ...]  # families whose rows must be computed; their objects are not among the others


def settle(base: Objects, ours: Side, theirs: Side, steps: Iterable[Step]) -> SettledObjects:
    """Ours, with what theirs changed since base. `steps` are what either side did, in any order."""
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


def families(steps: Iterable[Step], wanted: Objects) -> Iterator[Objects]:
    """Those that one of `wanted` is in. What was only ever loaded, or deleted, is a family of its own."""
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
    for each in sorted({*parent, *wanted}):
        members.setdefault(root(each), set()).add(each)
    for found in {root(each): None for each in sorted(wanted)}:
        yield frozenset(members[found])


def _decide(family: Objects, base: Objects, ours: Side, theirs: Side) -> Objects | Rows:
    """What is held in the end, or what it is to be computed from."""
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
