"""Looks up some files of a source that a caller reports as changed, because the report may be wrong.

keys ──▶ HEAD each ──▶ there: an entry, if the branch has another    not there: a tombstone, if the branch has it"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from lochan.concurrency import map_concurrently
from lochan.errors import LochanError, NotFound
from lochan.formats.entry import RUN_SCHEMA, Entry, Tombstone
from lochan.formats.run import changes_table
from lochan.store.protocol import check_path
from lochan.tree.diff import ADDED, CHANGED, REMOVED
from lochan.tree.tree import Tree
from lochan.versioning.bodies.outside_files import OutsideFolder, entry_of
from lochan.versioning.heads.imports import ImportFolder
from lochan.versioning.heads.subtree import SubtreeChanges
from lochan.versioning.names import check_key

_AT_ONCE = 32


class HintPlan(NamedTuple):
    """A plan as in `imports.py`, for a batch that fits into memory."""

    why: str
    sources: Sequence[ImportFolder]
    found: dict[str, Entry | None]  # by path; None if there is no file
    closes: tuple[str, ...] = ()

    def ranges_for(self, base: Tree) -> None:
        """Returns None, because a few files have to be compared."""

    async def changes(self, base: Tree) -> AsyncIterator[SubtreeChanges]:
        changes, kinds, before = list[Entry | Tombstone](), list[str](), list[int | None]()
        for path in sorted(self.found, key=str.encode):
            there, entry = await base.get(path), self.found[path]
            if entry is None and there is not None:
                changes.append(Tombstone(path))
                kinds.append(REMOVED)
            elif entry is not None and (there is None or (there.size, there.etag) != (entry.size, entry.etag)):
                changes.append(entry)
                kinds.append(ADDED if there is None else CHANGED)
            else:
                continue
            before.append(None if there is None else there.size)
        if changes:
            table = changes_table(changes).cast(RUN_SCHEMA)
            yield SubtreeChanges(table, pa.array(kinds, pa.string()), pa.array(before, pa.int64()))


async def look_up(at: OutsideFolder, source: ImportFolder, keys: Iterable[str], *, keep_removed: bool) -> HintPlan:
    """Looks up the files of these keys. Keys outside the source, and keys that cannot be paths, are left out, because
    nobody imports them."""
    wanted = sorted({key for key in keys if key.startswith(at.prefix) and _is_path(key, at.prefix, source.to)})

    async def head(key: str) -> Entry | None:
        try:
            return entry_of(source.to + key[len(at.prefix) :], at.root, await at.store.head(key))
        except NotFound:
            return None

    entries = await map_concurrently(head, wanted, _AT_ONCE) if wanted else []
    paths = [source.to + key[len(at.prefix) :] for key in wanted]
    found = {path: entry for path, entry in zip(paths, entries, strict=True) if entry is not None or not keep_removed}
    return HintPlan("ingest", [source], found)


def _is_path(key: str, prefix: str, to: str) -> bool:
    try:
        check_path(key)
        check_key(to + key[len(prefix) :])
    except LochanError:
        return False
    return True
