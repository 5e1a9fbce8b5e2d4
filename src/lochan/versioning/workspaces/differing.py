"""What a commit of a workspace would change, against the commit that it was opened on."""

from typing import NamedTuple

from lochan.tree.diff import ADDED, REMOVED
from lochan.versioning.differing import staged_table
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces.opening import find
from lochan.versioning.workspaces.selection import fits


class Change(NamedTuple):
    path: str
    kind: str  # added, changed, removed
    before: int | None  # the size; None: it is not there
    after: int | None
    selected: bool  # by a pattern that was added


async def diff(repository: OpenRepository, workspace: str, prefix: str = "") -> list[Change]:
    """In path order. Files are not read for it: one at a path that is there already counts as changed, though the
    commit may find that it is the same."""
    found = await find(repository, workspace)
    table = await staged_table(repository, found.ref, prefix)
    selected = fits(table["path"], found.added).to_pylist()
    rows = zip(*(table[name].to_pylist() for name in ("path", "kind", "left", "right")), selected, strict=True)
    return [
        Change(path, kind, None if kind == ADDED else before, None if kind == REMOVED else after, chosen)
        for path, kind, before, after, chosen in rows
    ]
