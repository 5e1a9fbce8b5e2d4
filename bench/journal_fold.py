"""The speed of folding a journal, and the start of a process on a journal of a million events with a checkpoint."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter

from bench.places import IDS, open_journal
from bench.table import middle, seconds, show
from lochan.formats import events
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.events import Event
from lochan.formats.lake_events import RepositoryCreated, RepositoryDeleted
from lochan.formats.record import GENESIS, Actor, Record, RecordEntry
from lochan.formats.segment import Segment
from lochan.journal.slots import GROUP, Checkpoints, ObjectSlots
from lochan.journal.state import Schema, State
from lochan.store.local import LocalStore
from lochan.versioning.repositories import Repositories

_EVENTS = 1_000_000
_PER_RECORD = 64
_LIVE = 10_000
_ROUNDS = 3
_ACTORS = [Actor(f"user-{index}", "lochan-cli/0.1", f"10.0.0.{index}") for index in range(8)]


def main() -> None:
    rows = []
    for title, keyed in (("without keys", False), ("every request with a key", True)):
        history = list(_history(keyed))
        ours = middle([seconds(partial(_fold, history)) for _ in range(_ROUNDS)])
        bare = middle([seconds(partial(_decode, history)) for _ in range(_ROUNDS)])
        rows.append([title, _EVENTS / ours, _EVENTS / bare, ours / bare])
    show(
        f"fold of {_EVENTS:,} events, {_PER_RECORD} to a record, {_LIVE:,} repositories live: median of {_ROUNDS}",
        ["", "events per second", "bare: only decoding", "x bare time"],
        rows,
    )
    _cold_starts(history)


# --- a history ------------------------------------------------------------------------------------------------------
def _history(keyed: bool) -> Iterator[bytes]:
    """Repositories come and go; once there are enough, each new one takes the place of the oldest."""
    previous, number = GENESIS, 0
    wanted = _wishes()
    while batch := list(islice(wanted, _PER_RECORD)):
        number += 1
        entries = tuple(_entry(event, number, index, keyed) for index, event in enumerate(batch))
        sealed = records.encode(Record(number, IDS.put_id(), "bench", _time(number), "_lake", previous, entries))
        previous = sealed.digest
        yield sealed.data


def _wishes() -> Iterator[Event]:
    live: list[str] = []
    for index in range(_EVENTS):
        if len(live) - index % 2 >= _LIVE:
            yield RepositoryDeleted(live.pop(0))
        else:
            live.append(f"{index:027d}")
            yield RepositoryCreated(live[-1], f"repository-{index}", "files", "main", {"owner": "data"})


def _entry(event: Event, number: int, index: int, keyed: bool) -> RecordEntry:
    key = f"{_time(number):016d}-{index:016x}" if keyed else ""
    return RecordEntry(_ACTORS[index % len(_ACTORS)], key, bytes(32) if keyed else b"", (events.change(event),))


def _time(number: int) -> int:
    return 1_700_000_000_000_000 + number * 1_000


def _fold(history: list[bytes]) -> State:
    state = Schema(Repositories).empty("_lake")
    for data in history:
        state.fold(records.decode(data, "a record"))
    return state


def _decode(history: list[bytes]) -> None:
    for data in history:
        records.decode(data, "a record")


# --- a cold start ---------------------------------------------------------------------------------------------------
def _cold_starts(history: list[bytes]) -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        tail = asyncio.run(_write(folder, history))
        bare, whole, inside = [], [], []
        for _ in range(9):
            bare.append(seconds(lambda: _process("import msgspec, asyncio")))
            begun = perf_counter()
            inside.append(float(_process(f"from bench.journal_fold import start; start({folder!r})")))
            whole.append(perf_counter() - begun)
        size = sum(data.stat().st_size for data in Path(folder, "_lake/checkpoints").iterdir())
    rows = [
        ["Python that imports msgspec and asyncio", middle(bare) * 1e3, 1.0],
        ["process until the state is fresh", middle(whole) * 1e3, middle(whole) / middle(bare)],
        ["of it, opening the journal and reading to its tail", middle(inside) * 1e3, middle(inside) / middle(bare)],
    ]
    title = (
        f"cold start, {_EVENTS:,} events, a checkpoint of {_LIVE:,} repositories and their keys ({size / 1e6:.1f} MB)"
        f" and {tail} records after it: median of 9"
    )
    show(title, ["", "ms", "x bare"], rows)


async def _write(folder: str, history: list[bytes]) -> int:
    """As a trimmed lake has it: segments, a checkpoint, and slots after it, more than there ever are between two."""
    store = LocalStore(folder, create=True)
    slots = ObjectSlots(store, "_lake", aged=False)
    packed = (len(history) // GROUP - 1) * GROUP  # records before this number are in segments
    for group in range(packed // GROUP):
        first = max(1, group * GROUP)
        await slots.create_segment(
            group, segments.encode(Segment(group, first, tuple(history[first - 1 : (group + 1) * GROUP - 1])))
        )
    await Checkpoints(store, "_lake").write(_fold(history[: packed - 1]).checkpoint())
    for number in range(packed, len(history) + 1):
        await slots.create(number, history[number - 1])
    return len(history) - packed + 1


def _process(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout or "0"


def start(folder: str) -> None:
    """In a process of its own: prints how long it took to be up to date."""

    async def read() -> None:
        journal = await open_journal(LocalStore(folder))
        state = await journal.fresh()
        assert len(state.of(Repositories).all()) >= _LIVE

    begun = perf_counter()
    asyncio.run(read())
    print(perf_counter() - begun)
