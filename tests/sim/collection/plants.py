"""Planted bugs of garbage collection: each removes one rule from the shipped code. A scene must catch every one.

`CATCHES` names the scene and what is lost in it; docs/design/0004-collection.md tells the stories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from lochan.errors import AlreadyExists, Gone, NotFound
from lochan.formats.collection_events import Expired, Opened, PlanBegun
from lochan.formats.entry import Entry
from lochan.formats.range import RangeRef
from lochan.formats.record import Actor
from lochan.journal.rules import JournalRules
from lochan.journal.state import EventPosition
from lochan.staging.inline import Inline
from lochan.staging.layers import Layers
from lochan.tree import patches, trees
from lochan.tree.ranges import Ranges
from lochan.versioning import branches, copy, objects, transfer
from lochan.versioning.bodies import aliases, outside_files
from lochan.versioning.bodies.address import Addresses
from lochan.versioning.collection import marks, roots, sweep
from lochan.versioning.collection import plan as plans
from lochan.versioning.collection.embedded import EmbeddedCollection
from lochan.versioning.collection.engine import SweptFiles
from lochan.versioning.collection.marks import CollectionLook, LiveMarks
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import DeletedRepository
from lochan.versioning.state import refs as refs_module
from lochan.versioning.state.collection import Collection, Stale
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.rules import RefsRules
from tests.sim.files.plants import _alias_of_a_target, _alias_to_an_alias, _any_alias
from tests.sim.plants import Plant
from tests.sim.versioning.plants import _changed, _without
from tests.small_patches import ALWAYS


# --- G1 --------------------------------------------------------------------------------------------------------------
class _NamedByContent(Ranges):
    """A range's file has no mint in its name, and one that is there already is used again."""

    async def name(self, entries: pa.Table, mint: int, known: Any) -> RangeRef:
        return await super().name(entries, 0, known)

    async def write(self, entries: pa.Table, named: Any, known: Any) -> None:
        ref: RangeRef = await named

        async def again() -> RangeRef:
            return ref

        store = self._store
        self._store = _OnceStore(store)  # type: ignore[assignment]
        try:
            await super().write(entries, again(), known)
        finally:
            self._store = store


class _OnceStore:
    def __init__(self, store: Any) -> None:
        self._store = store

    async def put(self, path: str, data: bytes) -> None:
        try:
            await self._store.put_if_absent(path, data)
        except AlreadyExists:
            return


# --- G2 --------------------------------------------------------------------------------------------------------------
def _every_file(self: CollectionLook, files: pa.Table) -> pa.Table:
    return files


def _unseen(self: Any, refs: Refs) -> Sequence[Any]:
    """What came between the first look and the beginning is not marked."""
    return (PlanBegun(self._before.cut),)


# --- G3, G4: repairs that look right and are not ----------------------------------------------------------------------
def _first_while_planned(self: Collection, rules: RefsRules, mints: Any) -> None:
    """Only while a plan is neither swept nor abandoned."""
    if self.running and any(mint < self.cut for mint in mints):
        raise Gone("these bytes were written before the last garbage collection")


def _derived_while_planned(self: Collection, rules: RefsRules, read_at: int, checked: int) -> None:
    if self.running and read_at < self.running:
        raise Stale("garbage was collected meanwhile")


def _open_whenever(self: Collection, rules: RefsRules, event: Opened, at: EventPosition) -> str:
    """Even if the files may be on the list of a plan already."""
    return _open(self, type("Planted", (RefsRules,), {"first_references_are_young": lambda _: False})(), event, at)


_open = Collection.open


def _whoever_closes(self: Collection, ids: tuple[str, ...]) -> None:
    """Jobs that were given up may be closed, and whatever closes a job may name any file."""


def _any_data(self: Collection, rules: RefsRules, mints: Any) -> None:
    return


# --- G7 --------------------------------------------------------------------------------------------------------------
def _derived_since_plans(self: Collection, rules: RefsRules, read_at: int, checked: int) -> None:
    """That aliases were dropped does not count."""
    if self.plan and read_at < self.plan:
        raise Stale("garbage was collected meanwhile")


def _unresolved(spans: pa.Table, table: pa.Table) -> pa.Table:
    return _resolve(spans, table.slice(0, 0))


_resolve = aliases.resolve


# --- G5 --------------------------------------------------------------------------------------------------------------
async def _at_once(*_: Any) -> None:
    """The age of a plan is not looked at before its sweep."""


# --- G6 --------------------------------------------------------------------------------------------------------------
def all_layers_but_deleted(refs: Any) -> Iterator[tuple[tuple[str, ...], Layers]]:
    return ((key, layers) for key, layers in all_layers(refs) if key[0] != "deleted")


all_layers = roots.all_layers


def _expire_anything(refs: Any, event: Expired, at: EventPosition) -> None:
    """Heads and tags too."""
    for key in event.branches:
        refs.deleted_table.drop(key)
    refs.collection.expire(event.commits)


_HANDLERS: dict[Any, Any] = {**refs_module._HANDLERS, Expired: _expire_anything}


# --- G9 --------------------------------------------------------------------------------------------------------------
async def _by_address(
    source: OpenRepository, target: OpenRepository, branch: str, pairs: Any, options: Any, advance: Any
) -> list[Entry]:
    """A copy to another repository names the bytes where they are."""
    return [replace(entry, path=to) for entry, to in pairs]


async def _any_place(*_: Any) -> None:
    """Files of a lake are imported like others."""


# --- bytes that go with the object, as if nobody else could name them -----------------------------------------------
async def _reset_hard(repository: OpenRepository, name: str, *, actor: Actor) -> None:
    """What was staged is dropped with its bytes."""
    refs, _ = await repository.refs()
    staged = [layer for layer in refs.branch(name).layers.layers if isinstance(layer, Inline)]
    await _reset_staged(repository, name, actor=actor)
    for layer in staged:
        await _delete_bytes(repository, (change for change in layer.changes() if isinstance(change, Entry)))


async def _delete_hard(repository: OpenRepository, branch: str, paths: Sequence[str], *, actor: Actor) -> list[str]:
    found = [await objects.find(repository, branch, path) for path in paths]
    gone = await _delete(repository, branch, paths, actor=actor)
    await _delete_bytes(repository, (entry for entry in found if entry is not None))
    return gone


async def _put_hard(repository: OpenRepository, branch: str, path: str, chunks: Any, *, actor: Actor) -> Entry:
    """The bytes that the path had before are deleted."""
    before = await objects.find(repository, branch, path)
    entry: Entry = await _put(repository, branch, path, chunks, actor=actor)
    await _delete_bytes(repository, [before] if before is not None else [])
    return entry


async def _move_locked(
    repository: OpenRepository, branch: str, source: str, target: str, *, actor: Actor
) -> Entry | None:
    """Under a lock that its holder removes in the end, if it lives so long."""
    lock = f"{repository.repository.id}/locks/{source}"
    try:
        await repository.store.put_if_absent(lock, b"")
    except AlreadyExists as error:
        raise NotFound("somebody moves this object") from error
    try:
        return await _move(repository, branch, source, target, actor=actor)
    finally:
        await repository.store.delete(lock)


async def _delete_bytes(repository: OpenRepository, entries: Iterable[Entry]) -> None:
    for entry in entries:
        for block in entry.blocks:
            await repository.store.delete(block.address)


_reset_staged, _delete, _put, _move = branches.reset_staged, objects.delete, objects.put, copy.move


# --- a collector that does nothing ------------------------------------------------------------------------------------
async def _nothing(*_: Any) -> SweptFiles:
    return SweptFiles()


def _none_is_dead(self: LiveMarks, files: pa.Table, *_: Any) -> pa.Table:
    return files.slice(0, 0)


_own_new = Addresses.new


def _in_older_folder(self: Addresses, path: str, mint: int, *, exact: bool = False) -> str:
    """What only tables name goes where the first such file went."""
    old = vars(self).setdefault("_first", mint) if exact else mint
    return _own_new(self, path, old, exact=exact)


PLANTS: dict[str, Plant] = {
    "G1: a range is used again because its file is there": _changed((trees, "Ranges", _NamedByContent)),
    "G1: a patch does not name its base": _changed(
        (patches, "STANDARD", ALWAYS), (marks, "with_bases", lambda ranges: list(ranges))
    ),
    "G2: files that are younger than the cut are listed": _changed(
        (CollectionLook, "candidates", lambda self, files: files)
    ),
    "G2: what came since the marks is not looked at": _changed((plans._Beginning, "decide", _unseen)),
    "G3: a first reference to any file": _without("first_references_are_young"),
    "G3: only until the plan is reported": _changed((Collection, "check_first", _first_while_planned)),
    "G3: a table names a file of an older mint": _changed((Addresses, "new", _in_older_folder)),
    "G3: a job is opened too late": _changed((Collection, "open", _open_whenever)),
    "G3: a job that was given up comes back": _changed(
        (Collection, "check_closes", _whoever_closes), (Collection, "check_data", _any_data)
    ),
    "G4: what was read before a plan lands after it": _without("derived_events_are_fresh"),
    "G4: only until the plan is reported": _changed((Collection, "check_derived", _derived_while_planned)),
    "G5: a plan is swept at once": _changed((sweep, "_check_age", _at_once)),
    "G6: a branch is made from an expired commit": _changed((Refs, "commit", Refs.recorded)),
    "G6: what a deleted branch had staged is no root": _changed((roots, "all_layers", all_layers_but_deleted)),
    "G6: heads and tags expire": _changed((refs_module, "_HANDLERS", _HANDLERS)),
    "G7: anything may be an alias": _changed((Collection, "add_alias", _any_alias)),
    "G7: an alias may lead to an alias": _changed((Collection, "add_alias", _alias_to_an_alias)),
    "G7: what an alias leads to may become one": _changed((Collection, "add_alias", _alias_of_a_target)),
    "G7: copies of what has moved land after its aliases were dropped": _changed(
        (Collection, "check_derived", _derived_since_plans)
    ),
    "G7: a span keeps its own file alive, and not where its alias leads": _changed((marks, "resolve", _unresolved)),
    "G9: two repositories share an address": _changed((transfer, "_write_bodies", _by_address)),
    "G9: a lake's own files are imported": _changed((outside_files, "_refuse_lake", _any_place)),
    "G9: a deleted repository takes writes": _without("closed_repositories_stay_closed"),
    "G6: an expired repository is brought back": _changed((DeletedRepository, "check_kept", lambda self: None)),
    "J5: ghosts are believed": _changed((JournalRules, "consults_segments", lambda self: False)),
    "hard delete: a reset": _changed((branches, "reset_staged", _reset_hard)),
    "hard delete: a delete": _changed((objects, "delete", _delete_hard)),
    "hard delete: an overwrite": _changed((objects, "put", _put_hard)),
    "hard delete: a lock": _changed((copy, "move", _move_locked)),
    "a sweep deletes nothing": _changed((EmbeddedCollection, "delete", _nothing)),
    "a plan lists nothing": _changed((LiveMarks, "dead", _none_is_dead)),
}

# By the planted bug, the scene that it breaks.
CATCHES: dict[str, str] = {
    "G1: a range is used again because its file is there": "commit of what was there before",
    "G1: a patch does not name its base": "a patch of an expired commit's range",
    "G2: files that are younger than the cut are listed": "put",
    "G2: what came since the marks is not looked at": "a copy while another overwrites",
    "G3: a first reference to any file": "put",
    "G3: only until the plan is reported": "put",
    "G3: a table names a file of an older mint": "repack",
    "G3: a job is opened too late": "pool load",
    "G3: a job that was given up comes back": "a dead job that comes back",
    "G4: what was read before a plan lands after it": "copy",
    "G4: only until the plan is reported": "copy",
    "G5: a plan is swept at once": "a reader within the grace",
    "G6: a branch is made from an expired commit": "branch from an old commit",
    "G6: what a deleted branch had staged is no root": "restore of a deleted branch",
    "G6: heads and tags expire": "tag of an old commit",
    "G7: anything may be an alias": "two who alias each other",
    "G7: an alias may lead to an alias": "an alias of an alias",
    "G7: what an alias leads to may become one": "an alias of an alias",
    "G7: copies of what has moved land after its aliases were dropped": "copies of what has moved",
    "G7: a span keeps its own file alive, and not where its alias leads": "dedupe",
    "G9: two repositories share an address": "copies among three repositories",
    "G9: a lake's own files are imported": "import of the lake's own files",
    "G9: a deleted repository takes writes": "delete of a repository beside a writer",
    "G6: an expired repository is brought back": "restore of a deleted repository",
    "J5: ghosts are believed": "a journal with ghosts",
    "hard delete: a reset": "commit and move",
    "hard delete: a delete": "delete and move",
    "hard delete: an overwrite": "write after commit",
    "hard delete: a lock": "stale lock",
    "a sweep deletes nothing": "overwrite",
    "a plan lists nothing": "overwrite",
}
