"""What is to be merged, as tasks know it. May be pickled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from lochan.engines.compact import Planned
from lochan.engines.duckdb.objects_at import entries_at
from lochan.formats.entry import Entry
from lochan.jobs.target import Target
from lochan.jobs.tasks import shared_out
from lochan.pools.facts import Facts, ShapeFacts, from_metadata
from lochan.pools.snapshot import Snapshot


class Task(msgspec.Struct, frozen=True, array_like=True):
    """Some objects of a group, or all of them."""

    group: int
    entries: tuple[Entry, ...]

    @property
    def rows(self) -> int:
        return sum(from_metadata(entry.metadata, entry.path).rows for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Group:
    """`forms`: for each form that its objects have, the facts that make it. So whoever has one object knows the layout
    of all."""

    entries: tuple[Entry, ...]
    forms: tuple[Facts, ...]
    rows: int
    pieces: int  # objects that it is to become
    bounds: tuple[bytes, ...] = ()  # between its parts, as sort keys
    first: int = 0  # the number of its first part among those of all groups

    @property
    def alone(self) -> bool:
        """Whether one task does it. Rows that are text are not cut up: they have no columns to tell their keys."""
        return self.pieces == 1 or any(form.body for form in self.forms)


@dataclass(frozen=True, slots=True)
class Merging:
    """The same for all tasks of a compaction; without the groups' entries, which each task has of its own."""

    target: Target
    groups: tuple[Group, ...]


def groups_of(plan: Planned) -> Iterator[Group]:
    snapshot = plan.snapshot
    for group, indices in zip(plan.groups, plan.indices(), strict=True):
        pieces = max(1, round(group.bytes / snapshot.settings.size_bytes))
        yield Group(tuple(entries_at(snapshot, indices)), _forms(snapshot, indices), group.rows, pieces)


def split(groups: Iterable[Group]) -> list[Task]:
    """The tasks of those that are cut up."""
    return [
        Task(number, lot) for number, group in enumerate(groups) if not group.alone for lot in shared_out(group.entries)
    ]


def _forms(snapshot: Snapshot, indices: Sequence[int]) -> tuple[Facts, ...]:
    """Without what differs between objects of one form."""
    found = {form_of(snapshot.facts(index)): None for index in indices}
    return tuple(found)


def form_of(facts: Facts) -> Facts:
    shapes = tuple(ShapeFacts(each.id, each.shape, min(each.rows, 1)) for each in facts.shapes)
    return Facts(
        rows=0,
        keyless=0,
        key_min=b"",
        key_max=b"",
        shapes=shapes,
        body=facts.body,
        keys=facts.keys,
        decimals=facts.decimals,
        times=facts.times,
    )
