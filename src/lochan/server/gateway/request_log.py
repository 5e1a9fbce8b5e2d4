"""Logs every answered request: in counters, in a line of the access log and in a row of the usage log.

A request leaves one record, and the records of a tenth of a second go to all three together. Doing all of this for each
request took a tenth of the time of a HEAD.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from lochan.access.requester import address_of
from lochan.api.session import ServerSession, Session
from lochan.clock import Clock
from lochan.ids import Ids
from lochan.server.gateway.request import S3Request
from lochan.server.logs import AccessLine, AccessLog
from lochan.server.metrics import Metrics
from lochan.server.phases import PhaseTimes
from lochan.server.settings import Listener
from lochan.usage.log import UsageLog, UsageRow

_COPY = "x-amz-copy-source"
_FLUSH_S = 0.1
_DENIED = 403
DEFAULT_FLUSH_S = 60.0


class RequestRecord(AccessLine, frozen=True, gc=False):
    """A line of the access log, with what the usage log also needs."""

    repository: str
    ref: str
    inside: str
    size: int  # the size of the body that came or went
    copied: tuple[str, str, str] | None = None  # the other end of a copy: repository, ref and path
    access_key: str = ""  # the id of the access key

    def usage_rows(self) -> tuple[UsageRow, ...]:
        who = self.status, "s3", address_of(self.source)
        at = self.repository, self.ref, self.inside
        row = UsageRow(self.time, self.user, self.operation, *at, self.size, *who, access_key=self.access_key)
        if self.copied is None:
            return (row,)
        copied = self.time, self.user, "CopySource", *self.copied
        return row, UsageRow(*copied, 0, *who, access_key=self.access_key)


class RequestLog:
    def __init__(self, listener: Listener, clock: Clock) -> None:
        self._listener = listener
        self._clock = clock
        self._metrics = Metrics()
        self._session: ServerSession | None = None
        self._usage: UsageLog | None = None
        self._access: AccessLog | None = None
        self._phases: PhaseTimes | None = None
        self._records: list[RequestRecord] = []
        self._flushing: asyncio.TimerHandle | None = None

    async def start(self, session: ServerSession, ids: Ids) -> Callable[[], Awaitable[None]]:
        """Starts the logs in the worker's loop, before the first request. Returns a function that writes the last
        records and closes the logs."""
        self._session = session
        self._usage = usage_log(self._listener, session, self._clock, ids, self._metrics.usage_dropped)
        await self._usage.open()
        self._usage.start()
        if self._listener.access_log:
            self._access = AccessLog(self._listener.access_log)
            self._access.start()
        return self._close

    def watch(self, phases: PhaseTimes) -> None:
        """Takes the phases that say where the time of the requests logged here goes."""
        self._phases = phases

    def add(self, request: S3Request, operation: str, status: int, sent: int) -> None:
        copied = None
        if _COPY in request.headers:
            bucket, _, key = unquote(request.headers[_COPY].partition("?")[0]).removeprefix("/").partition("/")
            copied = (bucket, *self._ref_and_path(bucket, key))
        size = _received_bytes(request) if request.method in ("PUT", "POST") else sent
        ref, inside = self._ref_and_path(request.bucket, request.key)
        record = RequestRecord(
            self._clock.wall(), request.source, request.user, operation, request.method, request.path, status, sent,
            self._clock.boot() - request.arrived, request.id, request.bucket, ref, inside, size, copied,
            request.access_key,
        )  # fmt: skip
        self._append(record)

    def add_fast(
        self,
        operation: str,
        method: str,
        path: str,
        bucket: str,
        ref: str,
        inside: str,
        sent: int,
        arrived: float,
        source: str,
        user: str,
        id: str,
        received: int = 0,
        access_key: str = "",
        /,
    ) -> None:
        """Does the same as `add` for an object that the fast path read or wrote. If it was written, `received` is its
        size."""
        record = RequestRecord(
            self._clock.wall(), source, user, operation, method, path, 200, sent,
            self._clock.boot() - arrived, id, bucket, ref, inside, sent + received,
            None, access_key,
        )  # fmt: skip
        self._append(record)

    def _append(self, record: RequestRecord) -> None:
        self._records.append(record)
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(_FLUSH_S, self._flush)

    def _flush(self) -> None:
        """Writes all records of a moment, one log after the other."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        records, self._records = self._records, []
        seconds: dict[str, float] = defaultdict(float)
        for each in records:
            self._metrics.answered(each.operation, each.status, each.seconds, each.sent)
            seconds[each.operation] += each.seconds
        if self._phases is not None:
            self._metrics.spent(seconds, self._phases.take())
        if self._access is not None:
            self._access.add_all(records)
        if self._usage is not None:
            signed = [each for each in records if each.user]  # a request that nobody signed has used nothing
            self._usage.add_all([row for each in signed for row in each.usage_rows()])
            for each in records:
                if not each.user and each.status == _DENIED:  # nobody was let in
                    self._usage.add_stranger(each.usage_rows()[0])

    def _ref_and_path(self, bucket: str, key: str) -> tuple[str, str]:
        """Returns the ref and the path."""
        if not self._listener.s3.flat:
            ref, _, path = key.partition("/")
            return ref, path
        found = self._session.lake.known_repository(bucket) if self._session is not None else None
        return found.default_branch if found is not None and key else "", key

    async def _close(self) -> None:
        self._flush()
        self._metrics.flush()
        if self._access is not None:
            await self._access.close()
        if self._usage is not None:
            await self._usage.close()


def usage_log(listener: Listener, session: Session, clock: Clock, ids: Ids, dropped: Callable[[int], None]) -> UsageLog:
    """Creates the usage log of one process of a server. If usage is not recorded, the log says so."""
    process, every_s = ids.put_id().hex()[:12], listener.usage_s
    return UsageLog(
        session.lake.store,
        clock,
        process,
        flush_s=every_s or DEFAULT_FLUSH_S,
        dropped=dropped,
        noted=every_s is not None,
    )


def _received_bytes(request: S3Request) -> int:
    text = request.headers.get("x-amz-decoded-content-length") or request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
