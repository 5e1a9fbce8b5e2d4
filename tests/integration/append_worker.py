"""One of several processes that append to one journal at once. It prints what was acknowledged.

python -m tests.integration.append_worker '{"store": …, "options": …, "journal_url": …, "worker": …, …}'
"""

import asyncio
import json
import os
import sys
from typing import Any

from lochan.clock import SystemClock
from lochan.errors import AlreadyExists
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.lake import Lake
from lochan.store.open import open_store

LANES = 16


async def work(task: dict[str, Any]) -> dict[str, str]:
    lake = await Lake.open(open_store(task["store"], task["options"]), journal_url=task["journal_url"])
    journal = await lake.journal()
    acknowledged: dict[str, str] = {}

    async def lane(number: int) -> None:
        for index in range(number, task["requests"], LANES):
            await _ask(journal, f"worker-{task['worker']}-{index}", acknowledged)
            if index < task["contended"]:
                await _ask(journal, f"contended-{index}", acknowledged)

    await asyncio.gather(*(lane(number) for number in range(LANES)))
    await lake.close()
    return acknowledged


async def _ask(journal: Journal, name: str, acknowledged: dict[str, str]) -> None:
    clock, ids = SystemClock(), Ids()
    made = RepositoryCreated(ids.ksuid(clock.wall()), name, "files", "main")
    key = ids.idempotency_key(clock.wall())
    try:
        acknowledged[name] = await journal.submit(AppendRequest(Actor("ada", "test/1", ""), lambda _: [made], key, b""))
    except AlreadyExists:
        return


if __name__ == "__main__":
    print(json.dumps(asyncio.run(work(json.loads(sys.argv[1])))), flush=True)
    # The threads of the S3 client are still awake, and one that wants the interpreter while it ends aborts the process.
    os._exit(0)
