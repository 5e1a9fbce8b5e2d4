"""The process that is killed while it collects garbage."""

import asyncio
import sys
from contextlib import suppress

import msgspec

from lochan import failpoints
from lochan.errors import AlreadyExists, Refused
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning import objects
from lochan.versioning.collection.dedupe import dedupe
from lochan.versioning.collection.plan import CollectionLimits, plan
from lochan.versioning.collection.sweep import sweep
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from tests.kill.child import Order, Trap
from tests.kill.import_child import ANN
from tests.unit.versioning.history import once

AT_ONCE = CollectionLimits(grace_s=-1e9, confirmed=True)
LIVE = {"a": "2", "b": "1", "c": "2"}


async def work(order: Order) -> None:
    lake = await opened(order.folder)
    repository = await lake.open_repository("demo-repo")
    await dedupe(repository, actor=ANN)
    for _ in range(3):  # the line, the list, and what a life before has left
        await collect(lake, repository)
    await lake.close()


async def collect(lake: Lake, repository: OpenRepository) -> None:
    with suppress(Refused):  # a life before has planned
        await plan(repository, lake.id, AT_ONCE, actor=ANN)
    await sweep(repository, lake.id, AT_ONCE, actor=ANN)


async def opened(folder: str) -> Lake:
    """With an object that was overwritten before it was committed, and two of the same bytes."""
    store = open_store(folder, create=True)
    try:
        lake = await Lake.create(store)
    except AlreadyExists:
        return await Lake.open(store)
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    for path, text in (("a", "1"), ("a", "2"), ("b", "1"), ("c", "2")):
        await objects.put(repository, "main", path, once(text.encode()), actor=ANN)
    await commit(repository, "main", CommitRequest("c"), actor=ANN)
    await repository.close()
    return lake


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Order)
    trap = Trap(given)
    failpoints.arm(trap)
    asyncio.run(work(given))
    print(msgspec.json.encode(dict(trap.passed)).decode())
