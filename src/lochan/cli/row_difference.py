"""Rows that differ between two refs, as the command line shows them: how many, then the first of them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.shown import echo_table, printable, show_record

if TYPE_CHECKING:
    from lochan.engines.row_diff.result import Change, RowDiff


def record(found: "RowDiff") -> dict[str, Any]:
    left, right = found.sides.entries
    return {
        "added": found.added,
        "removed": found.removed,
        "changed": found.changed,
        "read": {"left": len(left), "right": len(right), "bytes": found.sides.size_bytes},
        "engine": found.engine,
        "rows": [each.record() for each in found.sample],
    }


def show(found: "RowDiff", form: str) -> None:
    if form == "json":
        show_record(record(found), form)
        return
    changed = f", {found.changed:,} changed" if found.sides.keys else ""
    click.echo(f"{found.added:,} added, {found.removed:,} removed{changed}")
    lines = [line for each in found.sample for line in _lines(each)]
    if lines:
        echo_table(["", "", ""], [[printable(cell) for cell in line] for line in lines], begun=True)
    told = sum(each.times for each in found.sample)
    rest = found.added + found.removed + found.changed - told
    if rest and found.sample:
        click.echo(f"… and {rest:,} more")


def _lines(each: "Change") -> Iterator[tuple[str, str, str]]:
    """A row that changed on two lines, one under the other."""
    times = f"{each.times}×" if each.times > 1 else ""
    if each.before is not None:
        yield each.change if each.after is None else "changed", times, f"- {each.before}"
    if each.after is not None:
        yield each.change if each.before is None else "", times, f"+ {each.after}"
