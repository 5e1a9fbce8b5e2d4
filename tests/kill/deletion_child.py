"""The process that is killed while it deletes a repository, brings it back, deletes it for good, and collects it."""

import asyncio
import sys
from contextlib import suppress

import msgspec

from lochan import failpoints
from lochan.api.lake import Lake as ApiLake
from lochan.api.session import Session
from lochan.errors import AlreadyExists, Gone, NotFound, Refused
from lochan.formats.collection_events import RetentionSet
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning import objects
from tests.kill.child import Order, Trap
from tests.kill.import_child import ANN
from tests.unit.versioning.history import once

NAMES = ("comes-back", "goes-away")


async def work(order: Order) -> None:
    lake = await opened(order.folder)
    with suppress(NotFound):  # a life before has deleted it
        await lake.delete_repository("comes-back", actor=ANN)
    with suppress(AlreadyExists):  # or brought it back
        await lake.restore_repository("comes-back", actor=ANN)
    with suppress(NotFound):
        await lake.delete_repository("goes-away", actor=ANN)
    gone = ApiLake(Session(lake, ANN)).deleted
    await gone.plan()
    with suppress(Refused, Gone):  # nothing is left to be swept
        await gone.sweep(grace_hours=0, confirmed=True)
    await lake.close()


async def opened(folder: str) -> Lake:
    store = open_store(folder, create=True)
    try:
        lake = await Lake.create(store)
    except AlreadyExists:
        return await Lake.open(store)
    for name in NAMES:
        await lake.create_repository(name, actor=ANN)
        repository = await lake.open_repository(name)
        await objects.put(repository, "main", "a", once(b"1"), actor=ANN)
        if name == "goes-away":
            await repository.submit(ANN, RetentionSet(undo_days=0))
        await repository.close()
    return lake


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Order)
    trap = Trap(given)
    failpoints.arm(trap)
    asyncio.run(work(given))
    print(msgspec.json.encode(dict(trap.passed)).decode())
