"""The process that dies, or is stopped, in the queue of a branch: see `test_dead_queue.py`."""

import asyncio
import sys

import msgspec

from lochan import failpoints
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning.heads.branch_queue import BranchQueue
from lochan.versioning.heads.commit import CommitRequest, commit
from tests.kill.child import Order, Trap

REPOSITORY = "demo-repo"


async def _main(order: Order) -> None:
    lake = await Lake.open(open_store(order.folder))
    repository = await lake.open_repository(REPOSITORY)
    actor = Actor(f"life {order.life}", "kill", "")
    if order.stop:
        print(await commit(repository, "main", CommitRequest(f"of life {order.life}"), actor=actor))
    else:
        await asyncio.gather(*(BranchQueue(repository, "main", actor)._enter() for _ in range(order.passing)))
        await asyncio.Event().wait()
    await repository.close()
    await lake.close()


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Order)
    failpoints.arm(Trap(given))
    asyncio.run(_main(given))
