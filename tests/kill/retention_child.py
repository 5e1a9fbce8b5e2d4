"""The process that is killed while it drops what rules say, and compacts the usage log."""

import asyncio
import sys

import msgspec
import numpy as np
import pyarrow as pa

from lochan import failpoints
from lochan.errors import AlreadyExists
from lochan.formats import usage
from lochan.formats.collection_events import DropRule, RetentionSet
from lochan.formats.usage import UsageRow
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.usage.compaction import compact_usage
from lochan.usage.last_read import ReadPaths
from lochan.usage.log import UsageLog
from lochan.versioning import objects
from lochan.versioning.collection.drops import DAY_US, DropRequest, drop
from lochan.versioning.collection.store_clock import store_time
from lochan.versioning.heads.commit import CommitRequest, commit
from tests.kill.child import Order, Trap
from tests.kill.import_child import ANN
from tests.unit.versioning.history import once

RULES = RetentionSet(drops=(DropRule("old-tmp", "main", "tmp/", unwritten_days=1e-9),))
KEPT = ("raw/a", "raw/b")
GONE = ("tmp/a", "tmp/b")
OLD_DAYS, NEW_DAYS, FILES, KEEP_DAYS = (90, 91), (3, 4), 3, 30


async def work(order: Order) -> None:
    lake = await opened(order.folder)
    now = round(await store_time(lake.store, "_lake") * 1e6)
    log = UsageLog(lake.store, lake.clock, Ids().put_id().hex()[:12], flush_s=60)
    await log.open()
    log.add(UsageRow(lake.clock.wall(), "ann", "GetObject", "demo-repo", "main", "today", 1, 200))
    await log.close()
    await compact_usage(lake.store, now, KEEP_DAYS)
    repository = await lake.open_repository("demo-repo")
    request = DropRequest(now, _no_reads, lambda rule, batch: np.ones(len(batch), np.bool_))
    await drop(repository, "main", RULES, request, actor=ANN)
    await repository.close()
    await lake.close()


async def _no_reads(since: int) -> ReadPaths:
    return ReadPaths(pa.array([], pa.string()), ())


async def opened(folder: str) -> Lake:
    """With objects, and with a usage log of some days."""
    store = open_store(folder, create=True)
    try:
        lake = await Lake.create(store)
    except AlreadyExists:
        return await Lake.open(store)
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    for path in (*KEPT, *GONE):
        await objects.put(repository, "main", path, once(path.encode()), actor=ANN)
    await commit(repository, "main", CommitRequest("c"), actor=ANN)
    await repository.close()
    now = round(await store_time(store, "_lake") * 1e6)
    for day in (*OLD_DAYS, *NEW_DAYS):
        for file in range(FILES):
            at = now - day * DAY_US
            row = UsageRow(at, "ann", "GetObject", "demo-repo", "main", f"{day}/{file}", 1, 200)
            await store.put(usage.file_name(at, f"{day}-{file}", usage.ROWS), usage.encode_rows([row]))
    return lake


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Order)
    trap = Trap(given)
    failpoints.arm(trap)
    asyncio.run(work(given))
    print(msgspec.json.encode(dict(trap.passed)).decode())
