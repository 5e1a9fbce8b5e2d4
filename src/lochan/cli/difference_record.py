"""A difference as the command line shows it."""

from typing import TYPE_CHECKING, Any

from lochan.cli.object_record import side_record
from lochan.cli.shown import size_cell

if TYPE_CHECKING:
    from lochan.tree.diff import Difference

COLUMNS = ("kind", "left", "right", "path")


def difference_record(difference: "Difference") -> dict[str, Any]:
    return {
        "path": difference.path,
        "kind": difference.kind,
        "left": side_record(difference.left),
        "right": side_record(difference.right),
    }


def side_cell(side: dict[str, Any] | None) -> str:
    return "" if side is None else size_cell(side["size"])


CELLS = {"left": side_cell, "right": side_cell}
