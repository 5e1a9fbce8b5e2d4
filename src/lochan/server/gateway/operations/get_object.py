"""GetObject: an object, or a span of it."""

from lochan.formats.entry import Entry
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current, entry_headers, look_up
from lochan.server.gateway.numbers import PART_NUMBERS
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.conditions import conditions, if_range_holds
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.ranges import Span, requested_span

ACTION = "fs:ReadObject"
_WHOLE_BYTES_MAX = 1 << 20  # answered as one piece; more is streamed


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, ACTION, root=True)
    entry = await look_up(place)
    conditions(request.headers).check_read(current(entry))
    span, extra = wanted(entry, request)
    start, end = span or Span(0, entry.size)
    headers = entry_headers(entry, request, whole=span is None)
    headers.append(("content-length", str(end - start)))
    headers += extra
    status = 206 if span is not None else 200
    if end - start > _WHOLE_BYTES_MAX:
        read = place.repository.reader.read
        return Response(status, headers, stream=lambda piece_bytes: read(entry, start, end, piece_bytes=piece_bytes))
    if span is None:
        return Response(status, headers, await place.repository.reader.read_all(entry) if entry.size else b"")
    found = [piece async for piece in place.repository.reader.read(entry, start, end)]
    return Response(status, headers, b"".join(found))


def wanted(entry: Entry, request: Request) -> tuple[Span | None, list[tuple[str, str]]]:
    """The span that a range or a part number asks for, and the headers that say so. Raises InvalidRange."""
    if "partNumber" in request.query:
        if "range" in request.headers:
            raise S3Error("InvalidRequest", "Cannot specify both Range header and partNumber query parameter.")
        return part_span(entry, request.query["partNumber"])
    if "range" not in request.headers or not if_range_holds(request.headers.get("if-range"), current(entry)):
        return None, []
    span = requested_span(request.headers["range"], entry.size)
    return span, [] if span is None else [("content-range", span.content_range(entry.size))]


def part_span(entry: Entry, text: str) -> tuple[Span | None, list[tuple[str, str]]]:
    sizes = entry.parts or (entry.size,)
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text[:6]) <= 10_000:
        raise S3Error("InvalidArgument", PART_NUMBERS, ArgumentName="partNumber", ArgumentValue=text[:64])
    number = int(text)
    if number > len(sizes):
        raise S3Error("InvalidPartNumber", PartNumberRequested=text, ActualPartCount=str(len(sizes)))
    start = sum(sizes[: number - 1])
    span = Span(start, start + sizes[number - 1])
    headers = [("x-amz-mp-parts-count", str(len(sizes)))] if entry.parts else []
    if span.end > span.start:
        headers.append(("content-range", span.content_range(entry.size)))
    return (span if entry.size else None), headers
