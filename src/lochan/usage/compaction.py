"""Merges each day of the usage log into one file, and deletes old days.

The file of a day names all files whose rows it holds, so its readers leave those out: a row counts once, whether the
old files still exist or not. Its generation is in its name, and put-if-absent decides between two compactions; the
loser starts again. Old files are deleted only when the new one is written. A file that comes late makes a new
generation."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from lochan.errors import AlreadyExists, LochanError, NotFound
from lochan.failpoints import fp
from lochan.formats import usage
from lochan.formats.usage import AgedLog, Cover, Gap, UsageHead
from lochan.store.protocol import Stat, Store
from lochan.usage.read import DAY_US, aged_until, day_files, list_days, read_file, unreadable

_TRIES = 5


class UsageCompaction(NamedTuple):
    days: int = 0  # that became one file
    files: int = 0  # that were merged
    rows: int = 0
    deleted_days: int = 0  # by their age
    gaps: tuple[Gap, ...] = ()  # files that could not be read; they stay


async def compact_usage(store: Store, now: int, keep_days: float | None = None) -> UsageCompaction:
    """Compacts all days before today. `now` is in microseconds since 1970 by the store's clock. Days that ended more
    than `keep_days` ago are deleted, or none if it is None."""
    today = usage.day_of(now)
    done = UsageCompaction()
    days = await list_days(store)
    first = "" if keep_days is None else usage.day_of(now - round(keep_days * DAY_US))
    old = [day for day in days if day < first and day < today]
    if old:
        await _age(store, first)
        for day in old:
            for stat in days[day]:
                await store.delete(stat.path)
        await _age_gaps(store, usage.day_start(first))
    for day in sorted(set(days) - set(old)):
        if day < today:
            done = _sum(done, await _compact_day(store, day))
    return done._replace(deleted_days=len(old))


async def _age(store: Store, first: str) -> None:
    """Records up to when the log is deleted. This is written before anything is deleted, so that missing rows never
    look like a time without reads."""
    if await aged_until(store) < first:
        await store.put(usage.AGED, usage.encode_json(AgedLog(usage.VERSION, first)))
    fp("usage.aged")


async def _age_gaps(store: Store, before: int) -> None:
    async for stat in store.list(f"{usage.GAPS}/"):
        if round(stat.modified * 1e6) < before:
            await store.delete(stat.path)


async def _compact_day(store: Store, day: str) -> UsageCompaction:
    for _ in range(_TRIES):
        stats = [stat async for stat in store.list(f"{usage.FOLDER}/{day}/")]
        files, gaps = await day_files(store, day, stats)
        await _delete(store, files.replaced)
        inputs = [*files.rows, *files.notes]
        if len(inputs) < 2 and not files.notes:
            return UsageCompaction(gaps=tuple(gaps))
        merged = await _merge_day(store, day, inputs)
        if not merged.inputs:
            return UsageCompaction(gaps=(*gaps, *merged.gaps))
        name = f"{usage.FOLDER}/{day}/{usage.ALL}{files.generation + 1:06d}{usage.ROWS}"
        try:
            await store.put_if_absent(name, usage.encode_table(merged.table, merged.head))
        except AlreadyExists:
            continue  # another process was quicker, or our own answer was lost: try again
        fp("usage.compacted")
        await _delete(store, merged.inputs)
        return UsageCompaction(1, len(merged.inputs), len(merged.table), gaps=(*gaps, *merged.gaps))
    return UsageCompaction()


class _MergedDay(NamedTuple):
    table: pa.Table
    head: UsageHead
    inputs: list[Stat]
    gaps: list[Gap]


async def _merge_day(store: Store, day: str, stats: list[Stat]) -> _MergedDay:
    tables = [usage.schema().empty_table()]
    covers: list[Cover] = []
    names: list[str] = []
    inputs: list[Stat] = []
    gaps: list[Gap] = []
    for stat in stats:
        try:
            found = await read_file(store, stat)
        except NotFound:
            continue
        except LochanError as error:
            gaps.append(unreadable(day, stat, error))
            continue
        tables.append(found.table)
        covers += found.covers
        inputs.append(stat)
        name = stat.path.rpartition("/")[2]
        names.append(name)
        if name.startswith(usage.ALL):  # those that it replaced are not to come back with a late put
            names += usage.decode_rows(await store.get(stat.path), stat.path)[1].replaces
    table = pa.concat_tables(tables).sort_by("time")
    return _MergedDay(table, UsageHead(covers=_join_covers(covers), replaces=tuple(names)), inputs, gaps)


def _join_covers(covers: list[Cover]) -> tuple[Cover, ...]:
    """Joins the spans of one process that follow each other."""
    found: list[Cover] = []
    for each in sorted(covers, key=lambda each: (each.process, each.since)):
        last = found[-1] if found else None
        if last and last.process == each.process and last.until >= each.since and not (last.dropped or each.dropped):
            found[-1] = Cover(last.process, last.kind, last.since, max(last.until, each.until))
        else:
            found.append(each)
    return tuple(found)


async def _delete(store: Store, stats: list[Stat]) -> None:
    for stat in stats:
        await store.delete(stat.path)


def _sum(left: UsageCompaction, right: UsageCompaction) -> UsageCompaction:
    return UsageCompaction(
        left.days + right.days,
        left.files + right.files,
        left.rows + right.rows,
        left.deleted_days + right.deleted_days,
        (*left.gaps, *right.gaps),
    )
