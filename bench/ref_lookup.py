"""The time of a fresh read: one that sees every write acknowledged before it, from any process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import perf_counter

import obstore

from bench.places import Place, create, open_counted, open_journal, places
from bench.table import percentile, show
from lochan.clock import SystemClock
from lochan.versioning.repositories import Repositories

_LOOK_UPS = 2_000
_WRITERS = 16
_PACE_S = 0.001  # between two look-ups, as requests come to a server; a burst would share its probes


def main() -> None:
    with places() as all_places:
        for place in all_places:
            rows = asyncio.run(_measure(place))
            head = ["", "p50 ms", "p90 ms", "p99 ms", "x bare p50", "store requests each"]
            show(f"fresh read of a ref on {place.name}, {_LOOK_UPS:,} look-ups", head, rows)


async def _measure(place: Place) -> list[list[object]]:
    url = place.below()
    store, counts = open_counted(url, place.options)
    writer = await open_journal(store)
    await asyncio.gather(*(writer.submit(create(f"wanted-{index}")) for index in range(1_000)))
    await writer.close()
    reader = await open_journal(store)

    async def look_up() -> None:
        (await reader.fresh()).of(Repositories).get("wanted-500")

    await look_up()
    rows: list[list[object]] = []
    for title, writers in (("idle", 0), (f"{_WRITERS} writers in another process", _WRITERS)):
        others = _others(url, place, writers)
        bare = await _times(_bare(place, url))
        rows.append(_row(f"bare: head of an absent object, {title}", bare, bare, ""))
        await look_up()
        asked = counts.total.requests
        times = await _times(look_up)
        rows.append(_row(f"fresh read, {title}", times, bare, (counts.total.requests - asked) / _LOOK_UPS))
        for other in others:
            other.terminate()
            other.wait()
    return rows


def _row(title: str, times: list[float], bare: list[float], requests: object) -> list[object]:
    at = [percentile(times, percent) * 1e3 for percent in (50, 90, 99)]
    return [title, *at, percentile(times, 50) / percentile(bare, 50), requests]


async def _times(work: Callable[[], Awaitable[None]]) -> list[float]:
    times = []
    for _ in range(_LOOK_UPS):
        begun = perf_counter()
        await work()
        times.append(perf_counter() - begun)
        await SystemClock().sleep(_PACE_S)
    return times


def _bare(place: Place, url: str) -> Callable[[], Awaitable[None]]:
    if place.local:
        store: obstore.store.ObjectStore = obstore.store.LocalStore(url)
    else:
        from lochan.store.clouds import connect

        scheme, _, rest = url.partition("://")
        bucket, _, prefix = rest.partition("/")
        store = connect(scheme, bucket, prefix, place.options)

    async def head() -> None:
        with suppress(FileNotFoundError):
            await obstore.head_async(store, "_lake/journal/absent")

    return head


# --- the other process ----------------------------------------------------------------------------------------------
def _others(url: str, place: Place, writers: int) -> list[subprocess.Popen[bytes]]:
    if not writers:
        return []
    command = [sys.executable, "-m", "bench.ref_lookup", url, json.dumps(dict(place.options)), str(writers)]
    other = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()  # it is at work
    return [other]


async def _write_always(url: str, options: dict[str, str], writers: int) -> None:
    store, _ = open_counted(url, options)
    journal = await open_journal(store)

    async def client(number: int) -> None:
        for index in range(1_000_000):
            await journal.submit(create(f"other-{number}-{index}"))

    clients = [asyncio.create_task(client(number)) for number in range(writers)]
    await SystemClock().sleep(0.3)
    print("at work", flush=True)
    await asyncio.gather(*clients)


if __name__ == "__main__":
    asyncio.run(_write_always(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])))
