"""Handles GetObject, HeadObject and GetObjectAttributes: returns an object, a span of it, or what is known about it."""

from lochan.server.gateway.find_object import object_address, open_object
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.object_headers import ServedObject, object_headers, read_conditions
from lochan.server.gateway.request import PAGE_MAX, PART_NUMBERS, PARTS_MAX, Headers, Response, S3Request, xml
from lochan.server.gateway.wire.checksums import type_of
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import ByteSpan, http_date, if_range_holds, requested_span
from lochan.server.gateway.wire.xml_uploads import ObjectParts, UploadedPart, attributes

_WHOLE_BYTES_MAX = 1 << 20  # answered in one piece; more is streamed
_SECOND = 1_000_000
_KNOWN = {"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}


async def get_object(gateway: Gateway, request: S3Request) -> Response:
    found, (start, end), status, headers = await _requested_bytes(gateway, request)
    if end - start > _WHOLE_BYTES_MAX:
        return Response(status, headers, stream=lambda size: found.stream(start, end, piece_bytes=size))
    return Response(status, headers, await found.read(start, end))


async def head_object(gateway: Gateway, request: S3Request) -> Response:
    _, _, status, headers = await _requested_bytes(gateway, request)
    return Response(status, headers)


async def _requested_bytes(gateway: Gateway, request: S3Request) -> tuple[ServedObject, ByteSpan, int, Headers]:
    """Returns the object, the requested bytes of it, and the status and headers of the answer."""
    address = await object_address(gateway, request, request.action, root=True)
    found = await open_object(address, read_conditions(request.headers))
    part, extra = _span(found, request)
    span = part or ByteSpan(0, found.size)
    headers = object_headers(found, request, whole=part is None)
    headers.append(("content-length", str(span.end - span.start)))
    headers += extra
    return found, span, 200 if part is None else 206, headers


def _span(found: ServedObject, request: S3Request) -> tuple[ByteSpan | None, Headers]:
    """Returns the span that a range or a part number asks for, and the headers that say so. Raises InvalidRange."""
    if "partNumber" in request.query:
        if "range" in request.headers:
            raise S3Error("InvalidRequest", "Cannot specify both Range header and partNumber query parameter.")
        return _part_span(found, request.query["partNumber"])
    given = request.headers.get("if-range")
    if "range" not in request.headers or not if_range_holds(given, found.etag, found.mtime_us // _SECOND):
        return None, []
    span = requested_span(request.headers["range"], found.size)
    return span, [] if span is None else [("content-range", span.content_range(found.size))]


def _part_span(found: ServedObject, text: str) -> tuple[ByteSpan | None, Headers]:
    sizes = found.parts or (found.size,)
    if not text.isdecimal() or not text.isascii() or not 1 <= int(text[:6]) <= PARTS_MAX:
        raise S3Error("InvalidArgument", PART_NUMBERS, ArgumentName="partNumber", ArgumentValue=text[:64])
    number = int(text)
    if number > len(sizes):
        raise S3Error("InvalidPartNumber", PartNumberRequested=text, ActualPartCount=str(len(sizes)))
    start = sum(sizes[: number - 1])
    span = ByteSpan(start, start + sizes[number - 1])
    headers = [("x-amz-mp-parts-count", str(len(sizes)))] if found.parts else []
    if span.end > span.start:
        headers.append(("content-range", span.content_range(found.size)))
    return (span if found.size else None), headers


async def get_object_attributes(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, request.action)
    found = await open_object(address, read_conditions(request.headers))
    given = request.headers.get("x-amz-object-attributes", "").split(",")
    names = {name.strip() for name in given if name.strip()}
    if not names or not names <= _KNOWN:
        raise S3Error("InvalidArgument", "Invalid attribute name specified.", ArgumentName="x-amz-object-attributes")
    sums = found.checksums
    answer = xml(
        attributes(
            etag=found.etag if "ETag" in names else None,
            checksums=sums if "Checksum" in names else None,
            checksum_type=type_of(sums),
            parts=_parts(found, request) if "ObjectParts" in names and found.parts else None,
            size=found.size if "ObjectSize" in names else None,
            storage="StorageClass" in names,
        )
    )
    answer.headers.append(("last-modified", http_date(found.mtime_us // _SECOND)))
    return answer


def _parts(found: ServedObject, request: S3Request) -> ObjectParts:
    limit = _header(request, "x-amz-max-parts", PAGE_MAX)
    marker = _header(request, "x-amz-part-number-marker", 0)
    numbered = list(enumerate(found.parts, 1))[marker : marker + limit]
    parts = [UploadedPart(number, found.mtime_us, "", size) for number, size in numbered]
    last = parts[-1].number if parts else marker
    return ObjectParts(len(found.parts), parts, marker, last, limit, last < len(found.parts))


def _header(request: S3Request, name: str, default: int) -> int:
    text = request.headers.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise S3Error("InvalidArgument", ArgumentName=name, ArgumentValue=text[:64])
    return min(int(text), PAGE_MAX) if default else int(text)
