"""The gateway of one worker process: the lake opened, the operations ready, everything that is answered noted."""

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.server.gateway.app import App
from lochan.server.gateway.gateway import Gateway
from lochan.server.notes import Notes
from lochan.server.settings import Listener


def gateway_app(listener: Listener) -> App:
    clock = SystemClock()
    ids = Ids()
    notes = Notes(listener, clock)

    async def open() -> Gateway:
        lake = await listener.open_lake()
        gateway = Gateway(lake, listener.s3, clock, ids)
        gateway.closing = notes.start(lake, ids)
        return gateway

    return App(open, notes.seen)
