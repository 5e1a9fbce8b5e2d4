"""A line for every answered request, by the logger `lochan.access`, some together and behind the requests.

    2026-11-15T13:30:14.123456Z 127.0.0.1:41822 ada PutObject PUT "/demo/main/a.csv" 200 4 0.0021 9F3A6C2100000007

Queries are left out: the signature of a link is a secret for as long as the link is good.
"""

import asyncio
import logging
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from lochan.server.gathered import Gathered

_EVERY_S = 1.0
_FULL = 1_000
_WAITING_MAX = 20_000
_log = logging.getLogger("lochan.access")


class Line(NamedTuple):
    time: int  # when it was answered, in microseconds since 1970
    source: str
    user: str
    operation: str
    method: str
    path: str
    status: int
    sent: int
    seconds: float
    request_id: str


class AccessLog:
    def __init__(self) -> None:
        _log.propagate = False  # each line has its own time, and needs no head
        _log.setLevel(logging.INFO)
        if not _log.handlers:
            _log.addHandler(logging.StreamHandler(sys.stdout))
        self._gathered = Gathered(_write, every_s=_EVERY_S, full=_FULL, waiting_max=_WAITING_MAX)
        self.add = self._gathered.add
        self.start = self._gathered.start
        self.close = self._gathered.close


async def _write(lines: Sequence[Line]) -> None:
    """One record for all of them; in a thread, for whoever reads the other end of a pipe may be slow."""
    await asyncio.to_thread(lambda: _log.info("%s", "\n".join([text(line) for line in lines])))


def text(line: Line) -> str:
    time = datetime.fromtimestamp(line.time / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return (
        f"{time} {line.source} {line.user or '-'} {line.operation} {line.method} {_quoted(line.path)} {line.status} "
        f"{line.sent} {line.seconds:.4f} {line.request_id}"
    )


def _quoted(path: str) -> str:
    """In one line, whatever a key holds."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return f'"{path}"'
    escaped = path.encode("unicode_escape").decode()
    return '"' + escaped.replace('"', '\\"') + '"'
