"""Planted bugs of versioning: each removes one rule from the shipped code. The simulator must catch every one.

Most are a decision of `lochan.versioning.state.rules`; what is no decision there is a method with a line changed.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from lochan.errors import ConcurrentCommit, NotFound
from lochan.formats.metarange import TreeRef
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved
from lochan.staging import compaction
from lochan.staging import covering_tree as over
from lochan.staging.inline import Inline
from lochan.staging.layers import Inputs, Layer, Layers, Seal
from lochan.tree.merge import SOURCE, Strategy, merge
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.land import PathTest
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.rules import RefsRules
from lochan.versioning.workspaces import write
from tests.sim.plants import Plant, ShortDay


def _without(*names: str, more: tuple[tuple[Any, str, Any], ...] = ()) -> Plant:
    """All rules except these."""
    assert all(hasattr(RefsRules, name) for name in names), names
    planted = type("Planted", (RefsRules,), {name: lambda self: False for name in names})()
    return Plant(ShortDay(), ((Refs, "rules", planted), *more))


def _changed(*patches: tuple[Any, str, Any]) -> Plant:
    return Plant(ShortDay(), patches)


# --- S2 --------------------------------------------------------------------------------------------------------------
def _all_as_one(self: Layers) -> list[tuple[Layer, ...]]:
    return [self.layers]


def _found(layers: Layers, inputs: Inputs) -> list[int]:
    runs, spans = set(inputs.runs), dict(inputs.spans)
    return [
        at
        for at, item in enumerate(layers.items)
        if not isinstance(item, Seal) and (getattr(item, "id", None) in runs or getattr(item, "first", None) in spans)
    ]


def _span_with_seals(self: Layers, inputs: Inputs) -> tuple[int, int]:
    found = _found(self, inputs)
    if len(found) != len(inputs.runs) + len(inputs.spans):
        raise NotFound("inputs are gone")
    return found[0], found[-1] + 1


def _seals_below(self: Layers, inputs: Inputs, outputs: Any) -> Layers:
    start, stop, seals, grown = _across(self, inputs)
    return Layers((*self.items[:start], *seals, *outputs, *grown, *self.items[stop:]), self.next)


def _seals_above(self: Layers, inputs: Inputs, outputs: Any) -> Layers:
    start, stop, seals, grown = _across(self, inputs)
    return Layers((*self.items[:start], *outputs, *grown, *seals, *self.items[stop:]), self.next)


def _across(layers: Layers, inputs: Inputs) -> tuple[int, int, tuple[Seal, ...], tuple[Layer, ...]]:
    """The place of the inputs, the seals between them, and what came to the newest of them meanwhile."""
    start, stop = _span_with_seals(layers, inputs)
    newest = layers.items[stop - 1]
    grown = newest.beyond(dict(inputs.spans)[newest.first]) if isinstance(newest, Inline) else None
    seals = tuple(item for item in layers.items[start:stop] if isinstance(item, Seal))
    return start, stop, seals, (grown,) if grown is not None else ()


def _any_input(self: Layers, inputs: Inputs, outputs: Any) -> Layers:
    """Whatever is left of the inputs is replaced."""
    found = _found(self, inputs)
    rest = tuple(item for at, item in enumerate(self.items) if at not in found)
    at = found[0] if found else len(rest)
    return Layers((*rest[:at], *outputs, *rest[at:]), self.next)


def _on_top(self: Layers, inputs: Inputs, outputs: Any) -> Layers:
    """The output goes above what was staged since, not in its inputs' place."""
    return Layers((*_replace(self, inputs, ()).items, *outputs), self.next)


_replace = Layers.replace


async def _for_any_head(layers: Layers, base: Any, trees: Any) -> Any:
    known = layers.over
    return None if known is None else await trees.open(TreeRef(known.tree, known.file))


# --- S3 --------------------------------------------------------------------------------------------------------------
def _compact_over_nothing(chosen: Any, layers: Any, runs: Any, head_has: Any = None) -> Any:
    async def nothing(paths: Any) -> Any:
        return np.zeros(len(paths), np.bool_)

    return _compact(chosen, layers, runs, nothing)


_compact = compaction.compact


# --- S4 --------------------------------------------------------------------------------------------------------------
def _drop_all(self: Layers, seal: int, runs: Any = (), changes: Any = ()) -> Layers:
    return Layers(tuple(runs), self.next)


def _drop_nothing(self: Layers, seal: int, runs: Any = (), changes: Any = ()) -> Layers:
    return self.unsealed()


# --- S5 --------------------------------------------------------------------------------------------------------------
async def _look_away(self: PathTest, view: Any, layers: Layers) -> None:
    self._looked = layers


# --- S6 --------------------------------------------------------------------------------------------------------------
async def _land_again(repository: OpenRepository, branch: str, prepare: Any, *, actor: Actor, **_: Any) -> Any:
    """After a lost race the difference is put on top of the new head, as it was computed for the old one."""
    prepared = await prepare("")
    while True:
        try:
            return await repository.submit(actor, prepared.event)
        except ConcurrentCommit:
            refs, mint = await repository.refs()
            event: Moved = prepared.event
            before, made = refs.commit(event.source), event.commits[-1]
            found = refs.branch(branch)
            head = refs.commit(found.head)
            base, ours = [await repository.tree(each) for each in (before, head)]
            theirs = await repository.trees.open(TreeRef(made.tree, made.tree_file))
            merged = await merge(repository.trees, base, ours, theirs, mint=mint, strategy=Strategy(SOURCE))
            assert merged.tree is not None
            parents = (found.head, *made.parents[1:])
            new = msgspec.structs.replace(
                made,
                parents=parents,
                tree=merged.tree.ref.id,
                tree_file=merged.tree.ref.file,
                generation=1 + max(refs.commit(parent).generation for parent in parents),
            )
            moved = msgspec.structs.replace(event, source=found.head, target=new.id, commits=(new,))
            prepared = prepared._replace(event=moved)


# --- S8 --------------------------------------------------------------------------------------------------------------
async def _in_any_case(*_: Any) -> None:
    """A file is put without checking whether a commit has looked at the folder meanwhile."""


PLANTS: dict[str, Plant] = {
    "S1: a commit needs no seal": _without("committed_needs_its_seal"),
    "S1: head moves leave the seals": _without("head_moves_remove_seals"),
    "S2: compaction of a branch made again": _without("compaction_needs_its_inputs"),
    "S2: compaction with some of its inputs gone": _changed((Layers, "replace", _any_input)),
    "S2: compaction lifts what lies below a seal": _changed(
        (Layers, "segments", _all_as_one), (Layers, "_span_of", _span_with_seals), (Layers, "replace", _seals_below)
    ),
    "S2: compaction sinks what lies above a seal": _changed(
        (Layers, "segments", _all_as_one), (Layers, "_span_of", _span_with_seals), (Layers, "replace", _seals_above)
    ),
    "S2: the output does not stand in its inputs' place": _changed((Layers, "replace", _on_top)),
    "S2: a tree over deletes outlives its head": _changed((over, "open_tree", _for_any_head)),
    "S3: lower layers are not looked at": _changed((Layers, "lower", lambda self, inputs: ())),
    "S3: the head is not looked at": _changed((compaction, "compact", _compact_over_nothing)),
    "S4: leftovers come to lie on top": _without("leftovers_lie_below_later_writes"),
    "S4: later writes go with the rest": _changed((Layers, "drop_below", _drop_all)),
    "S4: what is committed stays staged": _changed((Layers, "drop_below", _drop_nothing)),
    "S5: staged paths are not looked at": _without("moves_spare_staged_paths", more=((PathTest, "look", _look_away),)),
    "S5: staged paths are not looked at again": _without("moves_spare_staged_paths"),
    "S5: a merge lands on uncommitted changes": _without("merges_need_a_clean_branch"),
    "S6: a move lands on any head": _without("moves_need_their_head"),
    "S6: a move lands on a branch made again": _without("moves_need_their_incarnation"),
    "S6: a difference is applied again": _changed((head_moves, "land", _land_again)),
    "S8: a workspace's last write is not waited for": _without("workspace_commits_need_its_last_event"),
    "S8: a file is put while a commit looks": _changed((write, "_check_in_time", _in_any_case)),
    "S8: a commit leaves the workspace open": _without("workspace_commits_close_it"),
    "S8: a workspace lands on a branch made again": _without("workspace_commits_need_the_incarnation"),
    "S8: a workspace is compared with the head": _without("workspaces_merge_against_their_fork"),
    "S9: a stash leaves the staging": _without("stashes_take_the_staging_along"),
    "S9: a pop lands on uncommitted changes": _without("pops_need_a_clean_branch"),
    "S9: a pop lands on any head": _without("pops_need_their_head"),
}

# In a random life these need so much to come together that only their scenes are asked to show them.
RARE = frozenset(
    {
        "S2: a tree over deletes outlives its head",
        "S6: a move lands on a branch made again",
        "S8: a workspace's last write is not waited for",
        "S8: a file is put while a commit looks",
        "S8: a workspace lands on a branch made again",
        "S9: a pop lands on any head",
    }
)

# Nothing is lost without it; it is seen where a commit has to land under a steady stream.
STARVING: dict[str, Plant] = {"S1: nobody keeps turns": _without("turns_are_kept")}

# What nothing that was explored can tell from the rule itself; the reason stands beside it.
HARMLESS: dict[str, Plant] = {
    # Whatever would bring such a path to the head is refused while its tombstone is staged (S5).
    "S3: the head may have moved": _without("dropped_tombstones_need_the_head"),
}
