"""Records requests besides the usage log (`lochan.usage`): as lines of the access log and of the audit log.

The access log has a line for every answered request, from the logger `lochan.access`. The program that started the
process decides where its lines go. Query strings are left out, because the signature of a link is a secret for as long
as the link is valid.

    2026-11-15T13:30:14.123456Z 127.0.0.1:41822 ada PutObject PUT "/demo/main/a.csv" 200 4 0.0021 9F3A6C2100000007
    {"time": "2026-11-15T13:30:14.123456Z", "level": "INFO", "logger": "lochan.access", "source": …}

The audit log says which user called which verb on what, from the logger `lochan.audit`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from lochan.access.rights import Denied
from lochan.usage.row_buffer import RowBuffer

if TYPE_CHECKING:
    from lochan.api.wrappers.records import AuditLine, Caller

_LINES_EVERY_S, _LINES_FULL, _LINES_WAITING_MAX = 1.0, 1_000, 20_000
_encoder = msgspec.json.Encoder()
_requests, _audit = (logging.getLogger(f"lochan.{name}") for name in ("access", "audit"))


class AccessLine(msgspec.Struct, frozen=True, gc=False):
    """A line of the access log. It contains only texts and numbers, and so is in no cycle."""

    time: int  # when the request was answered, in microseconds since 1970
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
    """The access log. `format` is text or json."""

    def __init__(self, format: str) -> None:
        self._line = json_text if format == "json" else text
        self._gathered = RowBuffer(
            self._write, every_s=_LINES_EVERY_S, full=_LINES_FULL, waiting_max=_LINES_WAITING_MAX
        )
        self.add = self._gathered.add
        self.add_all = self._gathered.add_all
        self.start = self._gathered.start
        self.close = self._gathered.close

    async def _write(self, lines: Sequence[AccessLine]) -> None:
        """Writes one record for all lines, on a thread, because the reader of a pipe may be slow. The text is made
        here, because two threads that take turns at the interpreter lose more than one thread has to do."""
        if _requests.isEnabledFor(logging.INFO):
            await asyncio.to_thread(_requests.info, "%s", "\n".join([self._line(line) for line in lines]))


def text(line: AccessLine) -> str:
    """Returns a line as text. It is one expression, because there are thousands in a second."""
    seconds, micros = divmod(line.time, 1_000_000)
    path = line.path
    quoted = f'"{path}"' if path.isprintable() and '"' not in path and "\\" not in path else _escape(path)
    return (
        f"{_second(seconds)}.{micros:06}Z {line.source} {line.user or '-'} {line.operation} {line.method} {quoted} "
        f"{line.status} {line.sent} {line.seconds:.4f} {line.request_id}"
    )


def json_text(line: AccessLine) -> str:
    """Returns a line as JSON, with the same first fields as every other line of the log."""
    head = {"time": _moment(line.time), "level": "INFO", "logger": _requests.name}
    fields = {name: getattr(line, name) for name in AccessLine.__struct_fields__}  # a RequestRecord has more
    return _encoder.encode({**head, **fields, "time": head["time"]}).decode()


def _moment(time: int) -> str:
    seconds, micros = divmod(time, 1_000_000)
    return f"{_second(seconds)}.{micros:06}Z"


@lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    """Returns a second as text. It is cached, because thousands of requests share one."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _escape(path: str) -> str:
    """Returns a path on one line, whatever characters a key has."""
    escaped = path.encode("unicode_escape").decode()
    return '"' + escaped.replace('"', '\\"') + '"'


def logs_every_call() -> bool:
    """Returns whether the audit log also contains calls that were allowed."""
    return _audit.isEnabledFor(logging.DEBUG)


def log_call(caller: Caller, line: AuditLine) -> None:
    """Logs a call. A denied call is logged at a level that every log has. Others are only logged if that is
    configured."""
    level = logging.INFO if isinstance(line.error, Denied) else logging.DEBUG
    outcome = "done" if line.error is None else "denied" if isinstance(line.error, Denied) else "failed"
    _audit.log(level, "%s from %s: %s %s: %s", caller.user, caller.source, line.verb, line.about, outcome)
