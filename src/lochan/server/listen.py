"""One listener: Granian, with the gateway or the API in its worker processes."""

import signal
from functools import partial
from typing import Any, Final

from lochan.server.settings import Listener

STOP_S = 25  # what a worker has for the requests it is answering when it is told to stop
_BUFFER_BYTES = 512 << 10  # what is read at once of a body; and a request head may have, Granian answers 431 to more
_H2_HEAD_BYTES = 64 << 10  # 16 MB unless told
_H2_STREAMS = 100
_FILES_BESIDE = 512  # what a process has open beside its connections

_NO_LOG_OF_ITS_OWN: Final = {"loggers": {"_granian": {"handlers": [], "propagate": True}}}


def listen(listener: Listener) -> None:
    """Until it is told to stop. The first thing a new process does."""
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces, Loops, SSLProtocols
    from granian.http import HTTP1Settings, HTTP2Settings
    from granian.log import LogLevels

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C goes to the whole group: the supervisor sees to us
    s3 = listener.name != "api"
    # What the head of a request may take, and how long a connection is kept for the next.
    head_s = min(listener.limits.authentication_s, listener.s3.idle_s)
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
        backpressure=_room_for(listener.limits.connections),  # who may stay is for `connection_guard.py` to say
        http1_settings=HTTP1Settings(header_read_timeout=round(head_s * 1_000), max_buffer_size=_BUFFER_BYTES),
        http2_settings=HTTP2Settings(max_headers_size=_H2_HEAD_BYTES, max_concurrent_streams=_H2_STREAMS),
        log_level=LogLevels.warning,
        log_dictconfig=_NO_LOG_OF_ITS_OWN,
        ssl_cert=listener.tls.certificate if listener.tls else None,
        ssl_key=listener.tls.key if listener.tls else None,
        ssl_protocol_min=SSLProtocols.tls12,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_S,
    )
    listener.set_up_logging()  # behind Granian's own, which closes what was there; so in each worker too
    server.serve(target_loader=partial(_load, listener), wrap_loader=False)


def _room_for(connections: int) -> int:
    """As many, or as the system lets a process have files open."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    allowed = wanted if soft == resource.RLIM_INFINITY else soft
    return max(1, min(connections, allowed - min(_FILES_BESIDE, allowed // 2)))


def _load(listener: Listener) -> Any:
    """In the worker process. Nothing that has threads was imported before the process was made."""
    listener.set_up_logging()
    if listener.name == "api":
        from lochan.server.api.app import api

        return api(listener)
    from lochan.server.gateway.app import gateway_app

    return gateway_app(listener)
