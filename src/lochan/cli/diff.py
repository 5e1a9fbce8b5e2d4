"""`lochan diff`: what differs between two refs, or what is staged on a branch."""

from collections.abc import AsyncIterator
from typing import Any

import click

from lochan.cli.difference_record import CELLS, COLUMNS, difference_record
from lochan.cli.opened import Opened, work_on
from lochan.cli.shown import format_option, show_record, size_cell
from lochan.cli.uri import Uri, branch_uri, ref_uri
from lochan.errors import Invalid

Records = AsyncIterator[dict[str, Any]]


@click.command("diff")
@click.argument("left", metavar="REPO[@LEFT]")
@click.argument("right", metavar="[REPO@RIGHT]", required=False)
@click.option("--three-dot", is_flag=True, help="Only what the right has changed since the two parted.")
@click.option("--prefix", default="", metavar="PREFIX", help="Only paths that begin so.")
@click.option("--summary", is_flag=True, help="Only how many, and how many bytes.")
@format_option
def command(left: str, right: str | None, three_dot: bool, prefix: str, summary: bool, form: str) -> None:
    """Show what differs between two refs, both as they are committed; or, of one branch, what is staged on it."""
    if right is None and three_dot:
        raise click.UsageError("--three-dot wants two refs.")
    one = branch_uri(left) if right is None else ref_uri(left)
    other = None if right is None else _same_repository(one, ref_uri(right))

    async def work(opened: Opened) -> None:
        if summary:
            counts = await (_count(opened, other, prefix, three_dot) if other else _count_staged(opened, prefix))
            show_record(counts, form)
            return
        from lochan.cli.stream import show_stream

        if other is None:
            columns, cells = ("kind", "size", "path"), {"size": size_cell}
            await show_stream(_staged(opened, prefix), form, columns=columns, cells=cells)
        else:
            await show_stream(_differences(opened, other, prefix, three_dot), form, columns=COLUMNS, cells=CELLS)

    work_on(one, work)


def _same_repository(one: Uri, other: Uri) -> Uri:
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="compare refs of one repository")
    return other


async def _staged(opened: Opened, prefix: str) -> Records:
    from lochan.versioning.differing import staged

    for each in await staged(opened.repository, opened.ref, prefix=prefix):
        yield each._asdict()


async def _differences(opened: Opened, other: Uri, prefix: str, three_dot: bool) -> Records:
    from lochan.versioning.differing import diff

    right = opened.ref_of(other)
    async for each in diff(opened.repository, opened.ref, right, prefix=prefix, three_dot=three_dot):
        yield difference_record(each)


async def _count(opened: Opened, other: Uri, prefix: str, three_dot: bool) -> dict[str, int]:
    from dataclasses import asdict

    from lochan.versioning.differing import count

    if not three_dot:
        return asdict(await count(opened.repository, opened.ref, opened.ref_of(other), prefix=prefix))
    counts = {"added": 0, "removed": 0, "changed": 0, "bytes_added": 0, "bytes_removed": 0}
    async for each in _differences(opened, other, prefix, three_dot):
        counts[each["kind"]] += 1
        for side, key in (("right", "bytes_added"), ("left", "bytes_removed")):
            counts[key] += each[side]["size"] if each[side] else 0
    return counts


async def _count_staged(opened: Opened, prefix: str) -> dict[str, int]:
    """Without the bytes that go: what is replaced was not looked up."""
    counts = {"added": 0, "removed": 0, "changed": 0, "bytes_added": 0}
    async for each in _staged(opened, prefix):
        counts[each["kind"]] += 1
        counts["bytes_added"] += each["size"]
    return counts
