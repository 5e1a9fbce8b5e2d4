"""GetObjectAttributes: those of an object that were asked for."""

from lochan.formats.entry import Entry
from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current, look_up
from lochan.server.gateway.numbers import PAGE_MAX
from lochan.server.gateway.operations.get_object import ACTION
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.checksums import HASHERS, type_of
from lochan.server.gateway.wire.conditions import conditions
from lochan.server.gateway.wire.dates import http_date
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_out import Parts, attributes
from lochan.server.gateway.wire.xml_uploads import UploadedPart

_KNOWN = {"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}


async def handle(gateway: Gateway, request: Request) -> Response:
    entry = await look_up(await object_place(gateway, request, ACTION))
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


def _parts(entry: Entry, request: Request) -> Parts:
    limit = _header(request, "x-amz-max-parts", PAGE_MAX)
    marker = _header(request, "x-amz-part-number-marker", 0)
    numbered = list(enumerate(entry.parts, 1))[marker : marker + limit]
    parts = [UploadedPart(number, entry.mtime, "", size) for number, size in numbered]
    last = parts[-1].number if parts else marker
    return Parts(len(entry.parts), parts, marker, last, limit, last < len(entry.parts))


def _header(request: Request, name: str, default: int) -> int:
    text = request.headers.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise S3Error("InvalidArgument", ArgumentName=name, ArgumentValue=text[:64])
    return min(int(text), PAGE_MAX) if default else int(text)
