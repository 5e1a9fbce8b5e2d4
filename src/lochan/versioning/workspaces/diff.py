"""What a commit of a workspace would change, against the commit that it was opened on."""

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.tree.diff import ADDED, REMOVED
from lochan.versioning.diff import staged_table
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces.registry import find
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
    table = await diff_columns(repository, workspace, prefix)
    return [Change(*row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


async def diff_columns(repository: OpenRepository, workspace: str, prefix: str = "") -> pa.Table:
    """The same as a table."""
    found = await find(repository, workspace)
    table = await staged_table(repository, found.ref, prefix)
    nothing = pa.scalar(None)
    columns = [
        table["path"],
        table["kind"],
        pc.if_else(pc.not_equal(table["kind"], ADDED), table["left"], nothing),
        pc.if_else(pc.not_equal(table["kind"], REMOVED), table["right"], nothing),
        fits(table["path"], found.added),
    ]
    return pa.table(columns, names=list(Change._fields))
