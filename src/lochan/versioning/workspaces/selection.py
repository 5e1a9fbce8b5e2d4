"""Selects by patterns which changes of a workspace to commit and which to revert, and shows what a commit would change,
compared with the commit that the workspace was opened on."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid
from lochan.formats.record import Actor
from lochan.formats.run import column
from lochan.formats.workspace_events import WorkspaceAdded, WorkspaceReverted, WorkspaceStaged
from lochan.journal.keys import CarriedOut, without_key
from lochan.tree.diff import ADDED, REMOVED
from lochan.versioning.idempotency import nothing, once
from lochan.versioning.names import regex
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.diff import staged_table
from lochan.versioning.state.workspaces import file_stamp
from lochan.versioning.workspaces.write import check_hidden, find

EVERYTHING = ("**",)
_HIDDEN_AT_ONCE = 500  # files in one event


@once(nothing)
async def add(repository: OpenRepository, workspace: str, patterns: Sequence[str], *, actor: Actor) -> None:
    """Selects all changes that match the patterns for the commit, now or when they are written later."""
    check(patterns)
    await repository.submit(actor, WorkspaceAdded(workspace, tuple(patterns)))


async def _not_counted(repository: OpenRepository, before: CarriedOut) -> int | None:
    return None


@once(_not_counted)
async def revert(
    repository: OpenRepository, workspace: str, patterns: Sequence[str] = EVERYTHING, *, actor: Actor
) -> int | None:
    """Takes back the changes of all matching paths: hides their files and drops their staged changes. Returns the
    number of paths, or None if it was done before under the same key. Files that do not fit into one event are hidden
    by several; the last one drops the staged changes and decides the request."""
    check(patterns)
    refs, _ = await repository.refs()
    found = refs.workspaces.get(workspace)
    folder = repository.shown_folder(found)
    stamps = {stat.path[len(folder.root) :]: file_stamp(stat) async for stats in folder.stats() for stat in stats}
    files = fitting(pa.array(list(stamps), pa.string()), patterns).to_pylist()
    staged = column(await (await repository.view_of(refs.commit(found.fork), found.layers)).changes(), "path")
    check_hidden(found, len(files))
    hides = [{path: stamps[path] for path in batch} for batch in _batches(files)]
    for batch in hides[:-1]:
        await repository.submit(without_key(actor), WorkspaceStaged(workspace, hides=batch))
    last = hides[-1] if hides else {}
    await repository.submit(actor, WorkspaceReverted(workspace, tuple(patterns), last))
    return len({*files, *fitting(staged, patterns).to_pylist()})


def _batches(paths: Sequence[str]) -> list[Sequence[str]]:
    return [paths[start : start + _HIDDEN_AT_ONCE] for start in range(0, len(paths), _HIDDEN_AT_ONCE)]


def fitting(paths: pa.StringArray, patterns: Sequence[str]) -> pa.StringArray:
    return paths.filter(fits(paths, patterns))


def fits(paths: pa.StringArray | pa.ChunkedArray, patterns: Sequence[str]) -> pa.BooleanArray:
    """Returns which paths match. Without patterns, none does."""
    if not patterns:
        return pa.repeat(pa.scalar(False), len(paths))
    return pc.match_substring_regex(paths, regex(patterns))


def check(patterns: Sequence[str]) -> None:
    """Raises Invalid if there is no pattern, or for one that RE2 cannot match, or Python, which matched them in older
    versions."""
    if not patterns or not all(patterns):
        raise Invalid("no pattern was given", hint="such as 'data/*.parquet', or '**' for everything")
    for pattern in patterns:
        try:
            re.compile(regex([pattern]))
            fits(pa.array([""]), [pattern])
        except (re.error, pa.ArrowInvalid, UnicodeEncodeError) as error:
            raise Invalid(f"{pattern!r} is not a pattern: {error}", hint="*, ?, ** and [a-z] are known") from None


class SelectedChange(NamedTuple):
    """A change that a workspace makes, compared with the commit it was opened on."""

    path: str
    kind: str  # added, changed, removed
    before: int | None  # the size, or None if the path does not exist
    after: int | None
    selected: bool  # whether a pattern that was added matches it


async def diff(repository: OpenRepository, workspace: str, prefix: str = "") -> list[SelectedChange]:
    """Returns the changes in path order. Files are not read: a file at an existing path counts as changed, though the
    commit may find that it is the same."""
    table = await diff_columns(repository, workspace, prefix)
    return [SelectedChange(*row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


async def diff_columns(repository: OpenRepository, workspace: str, prefix: str = "") -> pa.Table:
    """Returns the changes as a table, like `diff`."""
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
    return pa.table(columns, names=list(SelectedChange._fields))
