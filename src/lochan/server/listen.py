"""One listener: Granian, with the gateway or the API in its worker processes."""

import signal
from functools import partial
from typing import Any, Final

from lochan.server.settings import Listener

STOP_S = 25  # what a worker has for the requests it is answering when it is told to stop
_HEAD_S = 15.0  # what the head of a request may take, and how long a connection is kept for the next
_BUFFER_BYTES = 512 << 10  # what is read at once of a body; and a request head may have, Granian answers 431 to more

_NO_LOG_OF_ITS_OWN: Final = {"loggers": {"_granian": {"handlers": [], "propagate": True}}}


def listen(listener: Listener) -> None:
    """Until it is told to stop. The first thing a new process does."""
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces, Loops
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C goes to the whole group: the supervisor sees to us
    s3 = listener.name != "api"
    head_s = min(_HEAD_S, listener.s3.idle_s)
    server = Granian(
        "lochan",
        address=listener.host,
        port=listener.port,
        interface=Interfaces.RSGI if s3 else Interfaces.ASGI,
        workers=listener.workers,
        loop=Loops.uvloop,
        http=HTTPModes.http1 if s3 else HTTPModes.auto,
        websockets=False,
        backlog=4096,
        backpressure=1024,
        http1_settings=HTTP1Settings(header_read_timeout=round(head_s * 1_000), max_buffer_size=_BUFFER_BYTES),
        log_level=LogLevels.warning,
        log_dictconfig=_NO_LOG_OF_ITS_OWN,
        ssl_cert=listener.tls.certificate if listener.tls else None,
        ssl_key=listener.tls.key if listener.tls else None,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_S,
    )
    listener.set_up_logging()  # behind Granian's own, which closes what was there; so in each worker too
    server.serve(target_loader=partial(_load, listener), wrap_loader=False)


def _load(listener: Listener) -> Any:
    """In the worker process. Nothing that has threads was imported before the process was made."""
    listener.set_up_logging()
    if listener.name == "api":
        from lochan.server.api.app import api

        return api(listener)
    from lochan.server.gateway.start import gateway_app

    return gateway_app(listener)
