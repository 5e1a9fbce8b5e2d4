"""GetObject, HeadObject and GetObjectAttributes: an object, a span of it, or what is known of it."""

from lochan.formats.entry import Entry
from lochan.server.gateway.find_object import current, get_entry, object_address
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.object_headers import entry_headers
from lochan.server.gateway.request import PAGE_MAX, PART_NUMBERS, Response, S3Request, xml
from lochan.server.gateway.wire.checksums import HASHERS, type_of
from lochan.server.gateway.wire.conditions import conditions, if_range_holds
from lochan.server.gateway.wire.dates import http_date
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.ranges import ByteSpan, requested_span
from lochan.server.gateway.wire.xml_uploads import ObjectParts, UploadedPart, attributes

ACTION = "fs:ReadObject"
_WHOLE_BYTES_MAX = 1 << 20  # answered as one piece; more is streamed
_KNOWN = {"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}


async def get_object(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, ACTION, root=True)
    entry = await get_entry(address)
    conditions(request.headers).check_read(current(entry))
    span, extra = wanted(entry, request)
    start, end = span or ByteSpan(0, entry.size)
    headers = entry_headers(entry, request, whole=span is None)
    headers.append(("content-length", str(end - start)))
    headers += extra
    status = 206 if span is not None else 200
    if end - start > _WHOLE_BYTES_MAX:
        read = address.repository.reader.read
        return Response(status, headers, stream=lambda piece_bytes: read(entry, start, end, piece_bytes=piece_bytes))
    if span is None:
        return Response(status, headers, await address.repository.reader.read_all(entry) if entry.size else b"")
    found = [piece async for piece in address.repository.reader.read(entry, start, end)]
    return Response(status, headers, b"".join(found))


def wanted(entry: Entry, request: S3Request) -> tuple[ByteSpan | None, list[tuple[str, str]]]:
    """The span that a range or a part number asks for, and the headers that say so. Raises InvalidRange."""
    if "partNumber" in request.query:
        if "range" in request.headers:
            raise S3Error("InvalidRequest", "Cannot specify both Range header and partNumber query parameter.")
        return part_span(entry, request.query["partNumber"])
    if "range" not in request.headers or not if_range_holds(request.headers.get("if-range"), current(entry)):
        return None, []
    span = requested_span(request.headers["range"], entry.size)
    return span, [] if span is None else [("content-range", span.content_range(entry.size))]


def part_span(entry: Entry, text: str) -> tuple[ByteSpan | None, list[tuple[str, str]]]:
    sizes = entry.parts or (entry.size,)
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text[:6]) <= 10_000:
        raise S3Error("InvalidArgument", PART_NUMBERS, ArgumentName="partNumber", ArgumentValue=text[:64])
    number = int(text)
    if number > len(sizes):
        raise S3Error("InvalidPartNumber", PartNumberRequested=text, ActualPartCount=str(len(sizes)))
    start = sum(sizes[: number - 1])
    span = ByteSpan(start, start + sizes[number - 1])
    headers = [("x-amz-mp-parts-count", str(len(sizes)))] if entry.parts else []
    if span.end > span.start:
        headers.append(("content-range", span.content_range(entry.size)))
    return (span if entry.size else None), headers


async def head_object(gateway: Gateway, request: S3Request) -> Response:
    entry = await get_entry(await object_address(gateway, request, ACTION, root=True))
    conditions(request.headers).check_read(current(entry))
    span, extra = wanted(entry, request)
    start, end = span or ByteSpan(0, entry.size)
    headers = entry_headers(entry, request, whole=span is None)
    headers.append(("content-length", str(end - start)))
    headers += extra
    return Response(206 if span is not None else 200, headers)


async def get_object_attributes(gateway: Gateway, request: S3Request) -> Response:
    entry = await get_entry(await object_address(gateway, request, ACTION))
    conditions(request.headers).check_read(current(entry))
    wanted = {name.strip() for name in request.headers.get("x-amz-object-attributes", "").split(",") if name.strip()}
    if not wanted or not wanted <= _KNOWN:
        raise S3Error("InvalidArgument", "Invalid attribute name specified.", ArgumentName="x-amz-object-attributes")
    sums = {name: value for name, value in entry.checksums.items() if name in HASHERS}
    answer = xml(
        attributes(
            etag=entry.etag if "ETag" in wanted else None,
            checksums=sums if "Checksum" in wanted else None,
            checksum_type=type_of(sums),
            parts=_parts(entry, request) if "ObjectParts" in wanted and entry.parts else None,
            size=entry.size if "ObjectSize" in wanted else None,
            storage="StorageClass" in wanted,
        )
    )
    answer.headers.append(("last-modified", http_date(entry.mtime // 1_000_000)))
    return answer


def _parts(entry: Entry, request: S3Request) -> ObjectParts:
    limit = _header(request, "x-amz-max-parts", PAGE_MAX)
    marker = _header(request, "x-amz-part-number-marker", 0)
    numbered = list(enumerate(entry.parts, 1))[marker : marker + limit]
    parts = [UploadedPart(number, entry.mtime, "", size) for number, size in numbered]
    last = parts[-1].number if parts else marker
    return ObjectParts(len(entry.parts), parts, marker, last, limit, last < len(entry.parts))


def _header(request: S3Request, name: str, default: int) -> int:
    text = request.headers.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise S3Error("InvalidArgument", ArgumentName=name, ArgumentValue=text[:64])
    return min(int(text), PAGE_MAX) if default else int(text)
