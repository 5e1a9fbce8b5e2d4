"""Planted bugs of workspaces' files and of garbage collection: each takes one rule away. All must be caught."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lochan.errors import AlreadyExists, Invalid, Refused, Transient
from lochan.formats.entry import Block, Entry
from lochan.formats.record import Actor
from lochan.formats.workspace_events import WorkspaceReverted, WorkspaceStaged
from lochan.versioning.bodies.body import Cutter, IncomingBody
from lochan.versioning.collection.roots import RootScan
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import Collection
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.rules import RefsRules
from lochan.versioning.state.workspaces import HiddenFiles, WorkspaceState
from lochan.versioning.workspaces import selection, write
from tests.sim.plants import Plant, ShortDay


def _without(*names: str) -> Plant:
    """All rules except these."""
    assert all(hasattr(RefsRules, name) for name in names), names
    planted = type("Planted", (RefsRules,), {name: lambda self: False for name in names})()
    return Plant(ShortDay(), ((Refs, "rules", planted),))


def _changed(*patches: tuple[Any, str, Any]) -> Plant:
    return Plant(ShortDay(), patches)


# --- S8 --------------------------------------------------------------------------------------------------------------
async def _put_over(
    repository: OpenRepository, workspace: WorkspaceState, body: IncomingBody, cutter: Cutter, mint: int
) -> Entry | None:
    """Writes to the workspace's own path, even if there is a file."""
    data = await cutter.take(1 << 20)
    for hasher in body.hashers:
        hasher.update(data)
    address = repository.folder(workspace.id).address(body.path)
    await repository.store.put(address, data)
    block = Block(address, 0, len(data), hashlib.sha256(data).digest())
    return body.entry([block], repository.clock.wall())


async def _delete(repository: OpenRepository, workspace: str, paths: Sequence[str], actor: Actor) -> list[str]:
    """Deletes the file, and then what it hid."""
    refs, _ = await repository.refs()
    found = refs.workspaces.get(workspace)
    folder = repository.folder(workspace)
    files = await folder.stamps(paths)
    below = await repository.view_of(refs.commit(found.fork), found.layers)
    deletes = tuple([path for path in paths if await below.get(path) is not None])
    for path in files:
        await repository.store.delete(folder.address(path))
    if files or deletes:
        await repository.submit(actor, WorkspaceStaged(workspace, deletes=deletes))
    return [path for path in paths if path in files or path in deletes]


async def _revert(repository: OpenRepository, workspace: str, patterns: Sequence[str], *, actor: Actor) -> int:
    refs, _ = await repository.refs()
    refs.workspaces.get(workspace)
    folder = repository.folder(workspace)
    files = await folder.stamps(patterns)
    for path in files:
        await repository.store.delete(folder.address(path))
    await repository.submit(actor, WorkspaceReverted(workspace, tuple(patterns)))
    return len(files)


async def _put_small(repository: OpenRepository, file: str, data: bytes, body: IncomingBody, feed: Any) -> bool:
    """If no answer comes, the body is written again under another name, and so perhaps twice."""
    await feed.add(data)
    await feed.done()
    try:
        await repository.store.put_if_absent(file, data)
    except (AlreadyExists, Invalid, Transient):
        return False
    return True


def _without_workspaces(self: RootScan, refs: Refs) -> Iterator[str]:
    return (held.address for _, held in refs.collection.all_held())


# --- G7 --------------------------------------------------------------------------------------------------------------
def _alias_where(refuses: Callable[[Collection, Any], bool]) -> Callable[[Collection, RefsRules, Any], None]:
    def add_alias(self: Collection, rules: RefsRules, event: Any) -> None:
        if refuses(self, event):
            raise Refused("an alias leads straight to where the bytes are")
        self._aliases.put(event.address, event.target)
        self._targets.put(event.target, event.address)

    return add_alias


_any_alias = _alias_where(lambda self, event: False)
_alias_of_a_target = _alias_where(lambda self, event: event.target in self._aliases)
_alias_to_an_alias = _alias_where(lambda self, event: event.address in self._targets)


PLANTS: dict[str, Plant] = {
    "S8: a put overwrites a file": _changed((write, "_put_file", _put_over)),
    "S8: a slow put overwrites a file": _changed((write, "_put_file", _put_over)),
    "S8: a delete removes a file": _changed((write, "_delete", _delete)),
    "S8: a revert removes files": _changed((selection, "revert", _revert)),
    "S8: what is staged does not hide the file": _changed((HiddenFiles, "hides", lambda self, path, stamp: False)),
    "S8: what is hidden stays so when others write": _changed(
        (HiddenFiles, "hides", lambda self, path, stamp: self.get(path) is not None)
    ),
    "S8: a put without an answer is written elsewhere": _changed((write, "_put_small", _put_small)),
    "S8: files of an open workspace are collected": _changed((RootScan, "_folders", _without_workspaces)),
    "G3: a first reference to any file": _without("first_references_are_young"),
    "G4: what was read before a plan lands after it": _without("derived_events_are_fresh"),
    "G6: a branch is made from an expired commit": _changed((Refs, "commit", Refs.recorded)),
    "G7: anything may be an alias": _changed((Collection, "add_alias", _any_alias)),
    "G7: an alias may lead to an alias": _changed((Collection, "add_alias", _alias_to_an_alias)),
    "G7: what an alias leads to may become one": _changed((Collection, "add_alias", _alias_of_a_target)),
}
