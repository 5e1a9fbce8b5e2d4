"""Defines a request of an S3 client and its answer, with what every operation needs."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]

from lochan.access.requester import Requester, address_of
from lochan.server.connections import BodyPace
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Identity
from lochan.server.gateway.wire.signed_request import decode_name, join_headers, query_pairs

Headers = list[tuple[str, str]]

# A body in pieces. Before each piece, the given function says how large it should be.
Stream = Callable[[Callable[[], int]], AsyncGenerator[bytes, None]]
XML = ("content-type", "application/xml")
PAGE_MAX = 1_000
PARTS_MAX = 10_000  # of an upload, as S3 numbers them
PART_NUMBERS = "Part number must be an integer between 1 and 10000, inclusive"


class Response(NamedTuple):
    status: int
    headers: Headers
    body: bytes = b""
    stream: Stream | None = None  # used instead of `body`; the headers hold its length


class S3Request:
    """A request. `bucket` and `key` are what the client means. `query` is decoded, with an empty value for a name
    alone."""

    __slots__ = (
        "_names",
        "access_key",
        "action",
        "arrived",
        "body_bytes_per_s",
        "body_ended",
        "body_taken",
        "bucket",
        "bucket_in_host",
        "connection",
        "handled",
        "headers",
        "id",
        "identity",
        "key",
        "limits",
        "method",
        "path",
        "patience_s",
        "protocol",
        "query",
        "raw_headers",
        "raw_query",
        "scheme",
        "signed",
        "source",
        "user",
    )

    def __init__(self, scope: Any, protocol: Any, id: str, arrived: float) -> None:
        self.protocol = protocol
        self.id = id
        self.arrived = arrived  # when the request came, by the boot clock (A1)
        self.method: str = scope.method
        self.path: str = scope.path
        self.connection: str = scope.client
        self.source: str = scope.client  # or the address that a trusted proxy has seen
        self.raw_query: str = scope.query_string
        self.raw_headers: Headers = scope.headers.items()
        self.headers: Mapping[str, str] = join_headers(self.raw_headers)
        self.scheme: str = scope.scheme
        self._names = scope.headers.keys
        self.query: dict[str, str] = {}  # empty until `read_query`
        self.bucket = ""
        self.key = ""
        self.bucket_in_host = False
        self.action = ""  # the action of its row in the table of routes, which its user must be allowed
        self.user = ""
        self.access_key = ""  # the id of the key; for a session, that of the key it was made from
        self.limits: tuple[tuple[str, ...], ...] = ()  # the limits of a session
        self.identity: Identity | None = None
        self.body_taken = False  # whether the body has begun to be read
        self.body_ended = False  # whether the body has been read to its end
        self.signed = self.handled = 0.0  # when it was authenticated and carried out, by the boot clock; 0 if not yet
        self.patience_s = 60.0  # how long the body may stand still
        self.body_bytes_per_s = 1.0  # how fast the body must arrive on average

    @property
    def requester(self) -> Requester:
        return Requester(self.user, self.access_key, self.limits, address_of(self.source))

    def check_headers(self) -> None:
        """Raises InvalidArgument for a header that is not ASCII. The server in front of us gives its name and drops its
        value, and an object must not be stored without what was said about it."""
        dropped = {name.lower() for name in self._names()} - self.headers.keys()
        if dropped:
            raise S3Error(
                "InvalidArgument",
                f"The header {min(dropped)[:256]} has characters outside of ASCII. Encode its value, as RFC 2047 says.",
                ArgumentName=min(dropped)[:256],
            )

    def read_query(self) -> None:
        """Decodes the query. Raises InvalidArgument."""
        if self.raw_query:
            self.query = parse_query(self.raw_query)

    @property
    def has_unread_body(self) -> bool:
        return not self.body_ended and (
            self.headers.get("content-length", "0") != "0" or "transfer-encoding" in self.headers
        )

    async def whole_body(self) -> bytes:
        """Returns the whole body, which must be small. Raises IncompleteBody and RequestTimeout."""
        self.body_taken = True
        data: bytes = await self.patiently(self.protocol())
        self.body_ended = True
        return data

    async def body(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives. Raises IncompleteBody and RequestTimeout."""
        self.body_taken = True
        pieces, pace = aiter(self.protocol), BodyPace(self.patience_s, self.body_bytes_per_s)
        while True:
            try:
                data: bytes = bytes(await pace.wait(anext(pieces)))
            except StopAsyncIteration:
                break
            except TimeoutError:
                raise S3Error("RequestTimeout") from None
            except ProtocolClosed:
                raise S3Error("IncompleteBody") from None
            pace.got(len(data))
            yield data
        self.body_ended = True

    async def patiently(self, step: Awaitable[Any]) -> Any:
        """Waits for a step of the client. A client that hangs up or stops must not hold anything for long. Raises
        IncompleteBody and RequestTimeout."""
        try:
            async with asyncio.timeout(self.patience_s):
                return await step
        except TimeoutError:
            raise S3Error("RequestTimeout") from None
        except ProtocolClosed:
            raise S3Error("IncompleteBody") from None


def parse_query(text: str) -> dict[str, str]:
    """Decodes a query. Raises InvalidArgument for a name that comes twice: the order of its values is not signed, so
    somebody on the way could choose the one that counts."""
    found: dict[str, str] = {}
    for name, value in query_pairs(text):
        name = decode_name(name)
        if name in found:
            raise S3Error("InvalidArgument", "A parameter was given more than once.", ArgumentName=name[:256])
        found[name] = unquote_plus(value)
    return found


def xml(body: bytes, status: int = 200) -> Response:
    return Response(status, [XML, ("content-length", str(len(body)))], body)


def page_size(request: S3Request, name: str) -> int:
    """Returns the size of a page, which is at most a thousand. Raises InvalidArgument."""
    return min(PAGE_MAX, number(request, name, PAGE_MAX, 0, (1 << 31) - 1))


def part_number(request: S3Request) -> int:
    """Returns the number of a part. Raises InvalidArgument."""
    try:
        return number(request, "partNumber", None, 1, PARTS_MAX)
    except S3Error as error:
        raise S3Error("InvalidArgument", PART_NUMBERS, **error.fields) from None


def number(request: S3Request, name: str, default: int | None, low: int, high: int) -> int:
    text = request.query.get(name, "")
    if not text and default is not None:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 10 or not low <= int(text) <= high:
        raise S3Error(
            "InvalidArgument",
            f"Argument {name} must be an integer between {low} and {high}",
            ArgumentName=name,
            ArgumentValue=text[:64],
        )
    return int(text)
