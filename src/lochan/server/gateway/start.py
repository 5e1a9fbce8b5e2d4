"""The gateway of one worker process: the lake opened, the operations ready, everything that is answered noted."""

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.server.gateway.app import App
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import Request
from lochan.server.metrics import Metrics
from lochan.server.settings import Listener


def gateway_app(listener: Listener) -> App:
    clock = SystemClock()
    metrics = Metrics()

    async def open() -> Gateway:
        return Gateway(await listener.open_lake(), listener.s3, clock, Ids())

    def seen(request: Request, operation: str, status: int, sent: int) -> None:
        metrics.answered(operation, status, clock.boot() - request.arrived, sent)

    return App(open, seen)
