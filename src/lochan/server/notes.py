"""What is noted of every answered request: counters, a line in the access log, a row in the log of use."""

from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from lochan.clock import Clock
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.server.access_log import AccessLog, Line
from lochan.server.gateway.request import Request
from lochan.server.metrics import Metrics
from lochan.server.settings import Listener
from lochan.server.usage import Usage, Used

_COPY = "x-amz-copy-source"


class Notes:
    def __init__(self, listener: Listener, clock: Clock) -> None:
        self._listener = listener
        self._clock = clock
        self._metrics = Metrics()
        self._lake: Lake | None = None
        self._usage: Usage | None = None
        self._access: AccessLog | None = None

    def start(self, lake: Lake, ids: Ids) -> Callable[[], Awaitable[None]]:
        """In the worker's loop. What is returned writes the last of it."""
        self._lake = lake
        if self._listener.usage_s is not None:
            process = ids.put_id().hex()[:12]
            flush_s, dropped = self._listener.usage_s, self._metrics.usage_dropped
            self._usage = Usage(lake.store, self._clock, process, flush_s=flush_s, dropped=dropped)
            self._usage.start()
        if self._listener.access_log:
            self._access = AccessLog(self._listener.access_log)
            self._access.start()
        return self._close

    def seen(self, request: Request, operation: str, status: int, sent: int) -> None:
        seconds = self._clock.boot() - request.arrived
        self._metrics.answered(operation, status, seconds, sent)
        if self._access is None and self._usage is None:
            return
        now = self._clock.wall()
        if self._access is not None:
            line = Line(
                now, request.source, request.user, operation, request.method, request.path, status, sent, seconds,
                request.id,
            )  # fmt: skip
            self._access.add(line)
        if self._usage is not None and request.user:  # what nobody signed has used nothing
            self._note_use(self._usage, request, operation, status, sent, now)

    def plain(
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
        /,
    ) -> None:
        """As `seen`, of an object that was read, or written: `received` is how long it is then."""
        seconds = self._clock.boot() - arrived
        self._metrics.answered(operation, 200, seconds, sent)
        now = self._clock.wall()
        if self._access is not None:
            self._access.add(Line(now, source, user, operation, method, path, 200, sent, seconds, id))
        if self._usage is not None:
            self._usage.add(Used(now, user, operation, bucket, ref, inside, sent + received, 200))

    def _note_use(self, usage: Usage, request: Request, operation: str, status: int, sent: int, now: int) -> None:
        size = _received(request) if request.method in ("PUT", "POST") else sent
        ref, path = self._divided(request.bucket, request.key)
        usage.add(Used(now, request.user, operation, request.bucket, ref, path, size, status))
        if _COPY in request.headers:
            bucket, _, key = unquote(request.headers[_COPY].partition("?")[0]).removeprefix("/").partition("/")
            ref, path = self._divided(bucket, key)
            usage.add(Used(now, request.user, "CopySource", bucket, ref, path, 0, status))

    def _divided(self, bucket: str, key: str) -> tuple[str, str]:
        """The ref and the path."""
        if not self._listener.s3.flat:
            ref, _, path = key.partition("/")
            return ref, path
        found = self._lake.known_repository(bucket) if self._lake is not None else None
        return found.default_branch if found is not None and key else "", key

    async def _close(self) -> None:
        self._metrics.flush()
        if self._access is not None:
            await self._access.close()
        if self._usage is not None:
            await self._usage.close()


def _received(request: Request) -> int:
    text = request.headers.get("x-amz-decoded-content-length") or request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
