"""The conflicts of a merge, a revert or a cherry-pick, listed before the error says how many there are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lochan.cli.object_record import side_record
from lochan.cli.shown import show_records, size

if TYPE_CHECKING:
    from lochan.tree.merge import Conflict, Merged

_DIGITS = 8  # of a checksum, where a person compares three


@contextmanager
def conflicts_shown(form: str) -> Iterator[None]:
    from lochan.versioning.moving import PathConflicts

    try:
        yield
    except PathConflicts as error:
        show_conflicts(error.merged, form)
        raise


def show_conflicts(merged: "Merged", form: str) -> None:
    """The first of them."""
    from lochan.tree.merge import conflicts_of

    records = [_record(each) for each in conflicts_of(merged.first)]
    if form != "json":
        records = [{key: _cell(value) for key, value in each.items()} for each in records]
    show_records(records, form, columns=("path", "base", "ours", "theirs"))


def _record(conflict: "Conflict") -> dict[str, Any]:
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
