"""The usage log as one table, with the spans that it covers and its gaps.

Times come from the processes' own clocks, and are corrected by the store's. A file cannot have been written before its
last row, so a clock that is behind the stamp of its file is set forward by the difference. A cover by a clock that is
ahead is cut at the time that the store has seen.

A file that cannot be read is a gap: of its day, up to the moment it was written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import LochanError, NotFound
from lochan.formats import usage
from lochan.formats.usage import Cover, Gap, UsageRow
from lochan.store.protocol import Stat, Store

DAY_US = 86_400_000_000
_SECOND = 1_000_000
_SKEW_US = 5 * _SECOND  # stamps are whole seconds on some stores, and a put takes a while
_SILENT_RENEWALS = 3  # so many renewals of a mark may be late before its process counts as silent
_PATIENCE_US = DAY_US  # a silent process counts as reading for so long


class UsageData(NamedTuple):
    rows: pa.Table  # in no order; times are corrected
    covers: tuple[Cover, ...]  # as the files have them, without those that dropped rows
    gaps: tuple[Gap, ...]
    first_day: str  # yyyy-mm-dd: days before it were deleted; empty: none were


class DayFiles(NamedTuple):
    """The files of one day that count, without those that another replaces."""

    rows: list[Stat]
    notes: list[Stat]
    replaced: list[Stat]
    generation: int  # of the file that holds the whole day; 0: there is none


class FileRows(NamedTuple):
    table: pa.Table
    covers: tuple[Cover, ...]


async def read_usage(store: Store, since: int, now: int) -> UsageData:
    """Returns everything from that moment on, in microseconds since 1970. `now` is by the store's clock."""
    tables = [usage.schema().empty_table()]
    covers: list[Cover] = []
    gaps: list[Gap] = []
    for day, stats in sorted((await list_days(store)).items()):
        if not _is_wanted(day, stats, since):
            continue
        files, damaged = await day_files(store, day, stats)
        gaps += damaged
        for stat in (*files.rows, *files.notes):
            try:
                found = await read_file(store, stat)
            except LochanError as error:
                gaps.append(unreadable(day, stat, error))
                continue
            tables.append(found.table)
            covers += found.covers
    lost = [each for each in covers if each.dropped]
    gaps += [Gap(usage.VERSION, each.process, each.since, each.until, "rows were dropped") for each in lost]
    marks = [each async for each in _marks(store, now)]
    first = await aged_until(store)
    return UsageData(
        pa.concat_tables(tables),
        (*(each for each in covers if not each.dropped), *(each for each in marks if isinstance(each, Cover))),
        (*gaps, *(each for each in marks if isinstance(each, Gap)), *[each async for each in _gap_files(store)]),
        first,
    )


def _is_wanted(day: str, stats: Sequence[Stat], since: int) -> bool:
    """Returns whether a day may have rows since then. A row may come a day late, and a process whose clock is behind
    writes its rows under a day that is long past."""
    written = max(round(stat.modified * _SECOND) for stat in stats)
    return max(usage.day_start(day) + 2 * DAY_US, written) >= since


async def read_rows(store: Store) -> pa.Table:
    """Returns all rows that can be read, the oldest first."""
    return (await read_usage(store, 0, 0)).rows.sort_by("time")


async def list_days(store: Store) -> dict[str, list[Stat]]:
    days: dict[str, list[Stat]] = {}
    async for stat in store.list(f"{usage.FOLDER}/"):
        day = stat.path[len(usage.FOLDER) + 1 :].partition("/")[0]
        try:
            usage.day_start(day)
        except ValueError:
            continue  # marks and gaps
        days.setdefault(day, []).append(stat)
    return days


async def day_files(store: Store, day: str, stats: Sequence[Stat]) -> tuple[DayFiles, list[Gap]]:
    """Returns the files of a day that count. The newest file of the whole day names all that it replaces. If it is
    damaged, it is a gap, and the older files that still exist count."""
    gaps: list[Gap] = []
    whole = sorted(each for each in stats if _name(each).startswith(usage.ALL))
    replaced: set[str] = set()
    current: list[Stat] = []
    generation = max((generation_of(each) for each in whole), default=0)
    for each in reversed(whole):
        if _name(each) in replaced:
            continue
        try:
            _, head = usage.decode_rows(await store.get(each.path), each.path)
        except NotFound:
            continue
        except LochanError as error:
            gaps.append(unreadable(day, each, error))
            continue
        replaced.update(head.replaces)
        current.append(each)
    rest = [each for each in stats if not _name(each).startswith(usage.ALL) and _name(each) not in replaced]
    rows = [each for each in rest if each.path.endswith(usage.ROWS)]
    notes = [each for each in rest if each.path.endswith(usage.NOTE)]
    gone = [each for each in stats if _name(each) in replaced]
    return DayFiles([*current, *rows], notes, gone, generation), gaps


def generation_of(stat: Stat) -> int:
    digits = _name(stat).removeprefix(usage.ALL).removesuffix(usage.ROWS)
    return int(digits) if digits.isdecimal() else 0


async def read_file(store: Store, stat: Stat) -> FileRows:
    """Returns the rows of a file. Raises NotFound or Corrupt."""
    data = await store.get(stat.path)
    if stat.path.endswith(usage.NOTE):
        note = usage.decode_note(data, stat.path)
        return FileRows(_correct_times(usage.as_table(note.rows), _last(note.rows), stat), ())
    table, head = usage.decode_rows(data, stat.path)
    if _name(stat).startswith(usage.ALL):
        return FileRows(table, head.covers)
    until = max((each.until for each in head.covers), default=0) or _newest(table)
    return FileRows(_correct_times(table, until, stat), tuple(_clip(each, stat) for each in head.covers))


def unreadable(day: str, stat: Stat, error: Exception) -> Gap:
    until = max(usage.day_start(day) + DAY_US, round(stat.modified * _SECOND))
    why = f"{stat.path} cannot be read" if not isinstance(error, NotFound) else f"{stat.path} is gone"
    return Gap(usage.VERSION, "", usage.day_start(day), until, why)


async def aged_until(store: Store) -> str:
    try:
        return usage.decode_aged(await store.get(usage.AGED)).until
    except NotFound:
        return ""


def _name(stat: Stat) -> str:
    return stat.path.rpartition("/")[2]


def _last(rows: Iterable[UsageRow]) -> int:
    return max((row.time for row in rows), default=0)


def _newest(table: pa.Table) -> int:
    return pc.max(table["time"].cast(pa.int64())).as_py() or 0 if len(table) else 0


def _correct_times(table: pa.Table, until: int, stat: Stat) -> pa.Table:
    """Adds the difference to the times of a process whose clock is behind the store's."""
    behind = round(stat.modified * _SECOND) - until
    if behind <= _SKEW_US or not len(table):
        return table
    times = pc.add(table["time"].cast(pa.int64()), behind).cast(pa.timestamp("us", "UTC"))
    return table.set_column(0, table.schema.field("time"), times)


def _clip(cover: Cover, stat: Stat) -> Cover:
    until = min(cover.until, round(stat.modified * _SECOND) + _SKEW_US)
    return Cover(cover.process, cover.kind, cover.since, max(until, cover.since), cover.dropped)


async def _marks(store: Store, now: int) -> AsyncIterator[Cover | Gap]:
    async for stat in store.list(f"{usage.OPEN}/"):
        written = round(stat.modified * _SECOND)
        try:
            mark = usage.decode_mark(await store.get(stat.path), stat.path)
        except NotFound:
            continue  # it has ended meanwhile
        except LochanError:
            yield Gap(usage.VERSION, "", written - DAY_US, written + _PATIENCE_US, f"{stat.path} cannot be read")
            continue
        silent = now - written > round(mark.every_s * _SILENT_RENEWALS * _SECOND) + 60 * _SECOND
        if not mark.noted:
            until = min(now, written + _PATIENCE_US)
            yield Gap(usage.VERSION, mark.process, mark.since, until, f"process {mark.process} does not note its reads")
            continue
        yield _clip(Cover(mark.process, mark.kind, mark.since, mark.until), stat)
        if silent:
            why = f"process {mark.process} ({mark.kind}) has ended without its last rows, or is silent"
            yield Gap(usage.VERSION, mark.process, mark.until, min(now, written + _PATIENCE_US), why)


async def _gap_files(store: Store) -> AsyncIterator[Gap]:
    async for stat in store.list(f"{usage.GAPS}/"):
        written = round(stat.modified * _SECOND)
        try:
            found = usage.decode_gap(await store.get(stat.path), stat.path)
        except LochanError:
            yield Gap(usage.VERSION, "", written - DAY_US, written, f"{stat.path} cannot be read")
            continue
        behind = max(0, written - found.until)  # the span's end is when it was written, by any clock
        yield Gap(usage.VERSION, found.process, found.since, found.until + behind, found.why)
