"""The speed of rebuilding: events of a journal that are checked, chained and folded in a second, record by record, in
one process, and as `lochan rebuild` does it, with other processes beside it; at 1, 4 and 16 times the size. The last
column is what the processors could do if nothing else used them: processor time of all processes, the start of each
included, spread over the processors, or that of the fold if it is more. Budget: 200,000 on two processors.

The journal is that of a server that was written to: 64 puts to a record, a run for every 10,000 of them, a commit for
every 100,000.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter
from typing import NamedTuple

from bench.places import IDS
from bench.table import show
from lochan.formats import events
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.commit import Commit
from lochan.formats.entry import Block, Entry
from lochan.formats.events import Event
from lochan.formats.metarange import EMPTY
from lochan.formats.record import GENESIS, Actor, Record, RecordEntry
from lochan.formats.repository_events import Committed, Compacted, RepositoryOpened, Sealed, Staged
from lochan.formats.run import RunRef
from lochan.formats.segment import Segment
from lochan.journal.slots import GROUP
from lochan.recovery.digests import DigestSource, in_this_process
from lochan.recovery.journal_walk import list_journal, segment_path
from lochan.recovery.rebuild import FoldedJournal, fold_journal, fold_once
from lochan.store.local import LocalStore
from lochan.versioning.state.refs import Refs

_EVENTS = int(os.environ.get("LOCHAN_BENCH_EVENTS", "200000"))
_TIMES = (1, 4, 16)
_BUDGET = 200_000  # a second
_PER_RECORD = 64
_RUN, _COMMIT = 10_000, 100_000  # puts
_ID = "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X"
_ACTOR = Actor("ann", "lochan-server/0.1", "10.0.0.1")


def main() -> None:
    rows: list[list[object]] = []
    seconds: list[float] = []
    processors = os.cpu_count() or 1
    for times in _TIMES:
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            store = LocalStore(folder, create=True)
            count = asyncio.run(_write(store, _EVENTS * times))
            bare = _took(partial(asyncio.run, _decode(store)))
            slow = _took(partial(asyncio.run, _folded(store, None)))
            alone = _took(partial(asyncio.run, _folded(store, in_this_process())))
            rebuild = _took(partial(asyncio.run, fold_journal(store, _ID, (Refs,))))
            rates = [count / each.wall for each in (bare, slow, alone, rebuild)]
            used = [each / count * 1e6 for each in (rebuild.own, rebuild.others)]
            at_best = 1e6 / max(used[0], sum(used) / processors)
            rows.append([f"{count:,} events", *rates, *used, count / alone.own, at_best, _kept(at_best)])
            seconds.append(rebuild.own + rebuild.others)
    head = [
        "",
        "bare: decoding, per second",
        "record by record",
        "one process",
        "rebuild",
        "own µs",
        "others' µs",
        "one process, of its time",
        "rebuild, if alone",
        "in budget",
    ]
    show(f"rebuild of a journal, {_PER_RECORD} puts to a record, {processors} processors", head, rows)
    print(f"  {_TIMES[-1]} times the events take {seconds[-1] / seconds[0]:.1f} times the processor time")


def _kept(rate: float) -> str:
    return "yes" if rate >= _BUDGET else "no"


class _Took(NamedTuple):
    wall: float
    own: float  # processor time of this process
    others: float  # of those that it started


def _took(work: Callable[[], object]) -> _Took:
    began, own, others = perf_counter(), _used(RUSAGE_SELF), _used(RUSAGE_CHILDREN)
    work()
    return _Took(perf_counter() - began, _used(RUSAGE_SELF) - own, _used(RUSAGE_CHILDREN) - others)


def _used(who: int) -> float:
    usage = getrusage(who)
    return usage.ru_utime + usage.ru_stime


async def _folded(store: LocalStore, digest: DigestSource | None) -> FoldedJournal:
    return await fold_once(store, _ID, (Refs,), await list_journal(store, _ID), digest)


async def _decode(store: LocalStore) -> None:
    for group in (await list_journal(store, _ID)).segments:
        for data in segments.decode(await store.get(segment_path(_ID, group)), "a segment").records:
            records.decode(data, "a record")


# --- a journal --------------------------------------------------------------------------------------------------------
async def _write(store: LocalStore, count: int) -> int:
    """Whole segments of it. Returns the number of events."""
    group: list[bytes] = []
    written = pending = 0
    for number, (data, events_in_it) in enumerate(_history(count), start=1):
        group.append(data)
        pending += events_in_it
        if (number + 1) % GROUP == 0:
            packed = Segment(number // GROUP, number - len(group) + 1, tuple(group))
            await store.put(segment_path(_ID, packed.group), segments.encode(packed))
            written, pending, group = written + pending, 0, []
    return written


def _history(count: int) -> Iterator[tuple[bytes, int]]:
    previous = GENESIS
    for number, batch in enumerate(_batches(count), start=1):
        entries = tuple(RecordEntry(_ACTOR, "", b"", (events.change(event),)) for event in batch)
        time = 1_700_000_000_000_000 + number * 1_000
        sealed = records.encode(Record(number, IDS.put_id(), "bench", time, _ID, previous, entries))
        previous = sealed.digest
        yield sealed.data, len(batch)


def _batches(count: int) -> Iterator[list[Event]]:
    commit = Commit((), "ann", "ann", "first", 1, {}, EMPTY.id, "", 0)
    yield [RepositoryOpened("files", "main", commit)]
    number, position, first = 1, 0, 1
    while position < count:
        yield [_put(position + at) for at in range(_PER_RECORD)]
        number, position = number + 1, position + _PER_RECORD
        if position // _RUN != (position - _PER_RECORD) // _RUN:
            run = RunRef(f"{position:027d}", f"runs/{position:027d}-{number}.parquet", 1, 1, 0, 1, "a", "z", number)
            yield [Compacted("main", 1, ((first, position),), (), (run,), read_at=number)]
            number, first = number + 1, position + 1
        if position // _COMMIT != (position - _PER_RECORD) // _COMMIT:
            yield [Sealed("main")]
            tree = f"{position:064x}"
            file = f"metaranges/{tree}-{number}-{0:016x}.parquet"
            commit = Commit((commit.id,), "ann", "ann", "more", 1, {}, tree, file, commit.generation + 1)
            yield [Committed("main", number + 1, commit, read_at=number)]
            number, first = number + 2, position + 1


def _put(at: int) -> Event:
    block = Block(f"{_ID}/data/{1:020d}-{_ID}/{at:027d}", 0, 1_000, bytes(32))
    path = f"data/part-{at * 7_919 % 1_000_003:09d}.parquet"
    entry = Entry(path=path, blocks=(block,), size=1_000, checksum="0" * 32, etag="0" * 32, mtime=1_700_000_000_000_000)
    return Staged("main", (entry,))
