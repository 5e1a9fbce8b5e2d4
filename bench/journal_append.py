"""Appends per second through group commit, against one bare put-if-absent after another on the same store."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter

import obstore

from bench.places import Place, create, open_counted, open_journal, places
from bench.table import middle, show
from lochan.formats import events
from lochan.formats import record as records
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import GENESIS, Actor, Record, RecordEntry

_AT_ONCE = (1, 16, 256)
_ROUNDS = 5
_ROUND_S = 1.5
_WISHES = 120_000  # more than a round takes
_NONE = ("", "", "")
_names = count()


def main() -> None:
    size = len(_record_of_one())
    with places() as all_places:
        for place in all_places:
            _run(place, size)


def _run(place: Place, size: int) -> None:
    bare = _bare_of(place, size)
    rates: dict[str, list[float]] = {name: [] for name in [*bare, *map(_title, _AT_ONCE)]}
    costs: dict[str, tuple[float, float, float]] = {}
    for _ in range(_ROUNDS):  # taken in turn, so that a slow moment of the machine hits them all
        for name, put in bare.items():
            rates[name].append(_rate(put))
        for at_once in _AT_ONCE:
            rate, costs[_title(at_once)] = asyncio.run(_submits(place, at_once))
            rates[_title(at_once)].append(rate)
    base = [middle(rates[name]) for name in bare]
    rows = [
        [name, rate := middle(rates[name]), _span(rates[name]), *(rate / one for one in base), *costs.get(name, _NONE)]
        for name in rates
    ]
    head = [
        "",
        "per second",
        "lowest - highest",
        *(f"x {name}" for name in bare),
        "in a record",
        "store requests each",
        "syncs each",
    ]
    show(f"journal append on {place.name}: median of {_ROUNDS}, {size} bytes a bare object", head, rows)


def _span(rates: list[float]) -> str:
    return f"{min(rates):,.0f} - {max(rates):,.0f}"


def _title(at_once: int) -> str:
    return f"Journal.submit, {at_once} at once"


# --- bare -----------------------------------------------------------------------------------------------------------
def _bare_of(place: Place, size: int) -> dict[str, Callable[[], None]]:
    data = bytes(size)
    if place.local:
        unsynced = obstore.store.LocalStore(place.below(), mkdir=True)
        folder = Path(place.below())
        folder.mkdir()
        return {
            "obstore put (never syncs)": lambda: _put(unsynced, data),
            "synced create": lambda: _synced_create(folder, data),
        }
    from lochan.store.clouds import connect

    scheme, _, rest = place.below().partition("://")
    bucket, _, prefix = rest.partition("/")
    remote = connect(scheme, bucket, prefix, place.options)
    return {"obstore put": lambda: _put(remote, data)}


def _put(store: obstore.store.ObjectStore, data: bytes) -> None:
    obstore.put(store, f"{next(_names):020d}", data, mode="create", use_multipart=False)


def _synced_create(folder: Path, data: bytes) -> None:
    """The least that a durable put-if-absent on a disk takes."""
    name = f"{next(_names):020d}"
    fd, temp = tempfile.mkstemp(dir=folder)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.link(temp, folder / name)
    above = os.open(folder, os.O_RDONLY)
    os.fsync(above)
    os.close(above)
    os.unlink(temp)  # noqa: PTH108


def _rate(put: Callable[[], None]) -> float:
    begun, done = perf_counter(), 0
    while perf_counter() - begun < _ROUND_S:
        put()
        done += 1
    return done / (perf_counter() - begun)


# --- ours -----------------------------------------------------------------------------------------------------------
async def _submits(place: Place, at_once: int) -> tuple[float, tuple[float, float, float]]:
    """Answered requests per second; requests per record, store requests and syncs per request."""
    store, counts = open_counted(place.below(), place.options)
    journal = await open_journal(store)
    await journal.fresh()
    wishes = [create(f"repo-{index}") for index in range(_WISHES)]  # what a client does before it asks is not counted
    done = 0

    async def client() -> None:
        nonlocal done
        while wishes and perf_counter() - begun < _ROUND_S:
            await journal.submit(wishes.pop())
            done += 1

    asked = counts.total.requests
    with _Syncs() as syncs:
        begun = perf_counter()
        await asyncio.gather(*(client() for _ in range(at_once)))
        taken = perf_counter() - begun
    await journal.close()
    number = (await journal.fresh()).number
    return done / taken, (done / number, (counts.total.requests - asked) / done, syncs.count / done)


class _Syncs:
    """Counts calls of fsync."""

    def __enter__(self) -> "_Syncs":
        self.count = 0
        self._real = os.fsync

        def counting(fd: int) -> None:
            self.count += 1
            self._real(fd)

        os.fsync = counting  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync = self._real


def _record_of_one() -> bytes:
    entry = RecordEntry(Actor("ada", "bench/1", "127.0.0.1"), "", b"", (events.change(_EVENT),))
    return records.encode(Record(1, bytes(16), "lochan", 1 << 50, "_lake", GENESIS, (entry,))).data


_EVENT = RepositoryCreated("0" * 27, "repo-123456", "files", "main")
