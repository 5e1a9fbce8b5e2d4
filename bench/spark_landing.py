"""What it costs the driver to land a job, as its objects grow: 1, 4 and 16 times as many.

Tasks are played by this process: each makes the entries of 250 objects with the statistics of 60 columns, which are
names and numbers and no files, and sends them as tasks do. Another process lands them, as a driver does. All tasks run
at the same time, so that every run holds paths from the first to the last. "In messages" is what tasks would have sent
if they had no runs.

Budget: the peak of memory grows by less than 128 MiB from the smallest job to the largest, and the time of an entry by
less than half.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from bench.places import ACTOR, IDS
from bench.table import show
from lochan.clock import SystemClock
from lochan.formats.entry import Block, Entry
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.entry_runs import spill_messages
from lochan.jobs.job_commit import land
from lochan.jobs.messages import PoolTarget, TaskMessage, pool_target
from lochan.lake import Lake
from lochan.pools.facts import ColumnFacts, Facts, ShapeFacts, to_metadata
from lochan.pools.objects import object_path
from lochan.pools.shape import Object
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.open import StoreLocation

_SIZES = [int(each) for each in os.environ.get("LOCHAN_BENCH_OBJECTS", "8000,32000,128000").split(",")]
_PER_TASK = 250
_COLUMNS = 60
_KEY = PoolSettings((PoolKey(("k",)),))
_MEMORY_BUDGET_MIB = 128
_TIME_BUDGET = 1.5


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
        found = [_measured(Path(folder) / str(size), size) for size in _SIZES]
    peaks, times = [each["peak_mib"] for each in found], [each["us"] for each in found]
    met = peaks[-1] - peaks[0] < _MEMORY_BUDGET_MIB and times[-1] < _TIME_BUDGET * times[0]
    title = f"landing a job of so many objects (budget: memory and time of an entry stay, {'met' if met else 'missed'})"
    head = [
        "objects",
        "tasks",
        "sent, kB",
        "in messages, kB",
        "before, MiB",
        "peak, MiB",
        "requests",
        "us an entry",
    ]
    names = ("objects", "tasks", "sent_kb", "inline_kb", "before_mib", "peak_mib", "requests", "us")
    show(title, head, [[each[name] for name in names] for each in found])


def _measured(folder: Path, objects: int) -> dict[str, Any]:
    folder.mkdir()
    messages = folder / "messages"
    sent, inline = asyncio.run(_written(folder / "lake", objects))
    messages.write_bytes(msgspec.msgpack.encode(sent))
    command = [sys.executable, "-m", "bench.spark_landing", str(folder / "lake"), str(messages)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    tasks = -(-objects // _PER_TASK)
    known: dict[str, Any] = {
        "objects": objects,
        "tasks": tasks,
        "inline_kb": inline / 1e3,
        "sent_kb": messages.stat().st_size / 1e3,
    }
    return {**known, **json.loads(ran.stdout)}


# --- as tasks --------------------------------------------------------------------------------------------------------
async def _written(folder: Path, objects: int) -> tuple[list[TaskMessage], int]:
    """What they send, and the bytes that they would have sent without runs."""
    lake = await Lake.create(LocalStore(str(folder), create=True))
    await lake.create_pool("logs", _KEY, actor=ACTOR)
    repository = await lake.open_repository("logs")
    target = await pool_target(repository, StoreLocation(str(folder)), "main")
    lots = [range(first, min(first + _PER_TASK, objects)) for first in range(0, objects, _PER_TASK)]
    sent = await asyncio.to_thread(lambda: [message for lot in lots for message in _task(target, lot)])
    await repository.close()
    await lake.close()
    return sent, len(msgspec.msgpack.encode(_message(target, 0))) * objects


def _task(target: PoolTarget, numbers: range) -> Iterator[TaskMessage]:
    return spill_messages(target, (_message(target, number) for number in numbers))


def _message(target: PoolTarget, number: int) -> TaskMessage:
    return TaskMessage((_entry(target, number),), 1_000, 1 << 20)


def _entry(target: PoolTarget, number: int) -> Entry:
    id = IDS.ksuid(SystemClock().wall())
    digest = sha256(str(number).encode()).digest()
    texts = (sha256(f"{number} {each}".encode()).hexdigest() for each in range(_COLUMNS))
    columns = tuple(
        ColumnFacts((f"column{each}",), "string", 1_000, text[:32], text[32:]) for each, text in enumerate(texts)
    )
    keys = number.to_bytes(8, "big"), (number + 1).to_bytes(8, "big")
    facts = Facts(1_000, 0, *keys, (ShapeFacts(1, Object(()), 1_000),), columns)
    block = Block(f"{target.repository_id}/data/{target.mint}-bench/{id}", 0, 1 << 20, digest)
    return Entry(
        object_path(id), (block,), 1 << 20, digest.hex()[:32], digest.hex()[:32], 0, metadata=to_metadata(facts)
    )


# --- as the driver ---------------------------------------------------------------------------------------------------
async def _land(folder: str, sent: list[TaskMessage]) -> dict[str, Any]:
    counts = RequestCounts()
    lake = await Lake.open(CountingStore(LocalStore(folder), counts))
    repository = await lake.open_repository("logs")
    before, requests, begun = _peak_mib(), counts.total.requests, perf_counter()
    landed = await land(repository, "main", sent, actor=ACTOR)
    seconds, requests, peak = perf_counter() - begun, counts.total.requests - requests, _peak_mib()
    tree = await repository.tree((await repository.resolve("main")).commit)
    assert tree.count == landed.objects == sum(message.objects for message in sent)
    await repository.close()
    await lake.close()
    return {"before_mib": before, "peak_mib": peak, "requests": requests, "us": seconds / landed.objects * 1e6}


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sent = msgspec.msgpack.decode(Path(sys.argv[2]).read_bytes(), type=list[TaskMessage])
        print(json.dumps(asyncio.run(_land(sys.argv[1], sent))))
    else:
        main()
