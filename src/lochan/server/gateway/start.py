"""The gateway of one worker process: the lake opened, the operations ready, everything that is answered noted."""

import asyncio
import gc

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.server.arrow import arrow_without_pandas
from lochan.server.connection_guard import ConnectionGuard
from lochan.server.gateway.app import App
from lochan.server.gateway.gateway import Gateway
from lochan.server.notes import Notes
from lochan.server.settings import Listener
from lochan.server.trimming import keep_trimming
from lochan.store.capabilities import WriterProcess, capability
from lochan.store.protocol import Store

_COLLECT = (10_000, 20, 100)  # some 2 MB of new objects at the most before the first look


def gateway_app(listener: Listener) -> App:
    clock = SystemClock()
    ids = Ids()
    notes = Notes(listener, clock)

    async def open() -> Gateway:
        arrow_without_pandas()
        lake = await listener.open_lake()
        _write_beside(lake.store)
        guard = ConnectionGuard(listener.limits, clock, listener.port, listener.s3.idle_s)
        gateway = Gateway(lake, listener.s3, clock, ids, listener.limits, guard)
        closing = notes.start(lake, ids)
        chores = [asyncio.create_task(chore) for chore in (keep_trimming(clock), guard.keep())]

        async def close() -> None:
            for chore in chores:
                chore.cancel()
            await closing()

        gateway.closing = close
        _rarely_collect()
        return gateway

    return App(open, notes.seen, notes.plain)


def _write_beside(store: Store) -> None:
    """On a disk. It ends with this process."""
    writer = capability(store, WriterProcess)
    if writer is not None:
        writer.write_beside()


def _rarely_collect() -> None:
    """Most of what a request leaves behind is in no cycle, and lies in lists for a while (logs, what is staged): to
    look through it at every few requests took a seventh of the time. What has been loaded by now stays for good."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)
