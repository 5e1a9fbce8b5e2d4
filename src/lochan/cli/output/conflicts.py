"""The conflicts of a merge, or of what else is merged, listed before the error says how many there are."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from lochan.cli.output.objects import side_record
from lochan.cli.output.records import show_records, size
from lochan.errors import PathsInTheWay

if TYPE_CHECKING:
    from lochan.tree.merge import Conflict, Merged
    from lochan.versioning.moving import PathConflicts
    from lochan.versioning.workspaces.committing import BothChanged


_COLUMNS = ("path", "base", "ours", "theirs")
_DIGITS = 8  # of a checksum, where a person compares three


@asynccontextmanager
async def listing_conflicts(form: str, of: "type[BothChanged] | None" = None) -> AsyncIterator[None]:
    """`of` is the error that tells of them; unless told otherwise, that of a merge, a revert or a cherry-pick."""
    from lochan.versioning.moving import PathConflicts

    expected: type[PathConflicts | BothChanged] = of or PathConflicts
    try:
        yield
    except expected as error:
        if error.count <= error.merged.first.num_rows:
            _show_first(error.merged, form)
        else:  # too many to be held at once
            from lochan.cli.output.record_stream import show_stream

            await show_stream(_every(error), form, columns=_COLUMNS, cells=dict.fromkeys(_COLUMNS[1:], _cell))
        raise


async def _every(error: "PathConflicts | BothChanged") -> AsyncIterator[dict[str, Any]]:
    from lochan.tree.merge import conflicts_of

    async for table in error.every():
        for each in conflicts_of(table):
            yield _conflict_record(each)


def _show_first(merged: "Merged", form: str) -> None:
    from lochan.tree.merge import conflicts_of

    records = [_conflict_record(each) for each in conflicts_of(merged.first)]
    if form != "json":
        records = [{key: _cell(value) for key, value in each.items()} for each in records]
    show_records(records, form, columns=_COLUMNS)


def _conflict_record(conflict: "Conflict") -> dict[str, Any]:
    return {
        "path": conflict.path,
        "base": side_record(conflict.base),
        "ours": side_record(conflict.ours),
        "theirs": side_record(conflict.theirs),
    }


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else f"{size(value['size'])} {value['checksum'][:_DIGITS]}"


@contextmanager
def listing_paths_in_the_way(form: str) -> Iterator[None]:
    try:
        yield
    except PathsInTheWay as error:
        show_records([{"path": path} for path in error.paths], form, columns=("path",))
        raise
