"""Objects as readers see them, and what their headers say."""

import re
from collections.abc import Mapping

from lochan.formats.entry import Entry
from lochan.pools.objects import users_metadata
from lochan.server.gateway.places import Place
from lochan.server.gateway.request import Headers, Request
from lochan.server.gateway.wire.checksums import HASHERS, type_of
from lochan.server.gateway.wire.conditions import Current
from lochan.server.gateway.wire.dates import http_date
from lochan.server.gateway.wire.errors import S3Error

_OVERRIDES = {
    "response-content-type": "content-type",
    "response-content-language": "content-language",
    "response-expires": "expires",
    "response-cache-control": "cache-control",
    "response-content-disposition": "content-disposition",
    "response-content-encoding": "content-encoding",
}
_NONE: Mapping[str, str] = {}
_SECOND = 1_000_000
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # HTTP's word for what a header's name is made of


async def look_up(place: Place) -> Entry:
    """Raises NoSuchKey."""
    found = await find(place)
    if found is None:
        raise S3Error("NoSuchKey", Key=place.path)
    return found


async def find(place: Place) -> Entry | None:
    if place.resolved is None:
        return None
    if not place.path:
        return _root(place)
    return await (await place.repository.view(place.resolved)).get(place.path)


def _root(place: Place) -> Entry:
    """As clients know folders: an empty object with a slash at its end."""
    empty = "d41d8cd98f00b204e9800998ecf8427e"
    return Entry("", (), 0, empty, empty, place.repository.repository.created, "application/x-directory")


def current(entry: Entry) -> Current:
    return Current(entry.etag, entry.mtime // _SECOND, entry.size)


def entry_headers(entry: Entry, request: Request, *, whole: bool = True) -> Headers:
    """Without the length, which is of the span that is sent; a checksum is only of the whole."""
    overrides = {name: _override(request, given) for given, name in _OVERRIDES.items() if given in request.query}
    return stored_headers(entry, overrides, checksums=whole and asks_for_checksums(request.headers))


def stored_headers(entry: Entry, overrides: Mapping[str, str] = _NONE, *, checksums: bool) -> Headers:
    headers: Headers = [
        ("etag", f'"{entry.etag}"'),
        ("last-modified", http_date(entry.mtime // _SECOND)),
        ("accept-ranges", "bytes"),
    ]
    told = {"content-type": entry.content_type or "binary/octet-stream", **entry.headers, **overrides}
    headers += told.items()
    if entry.metadata:
        headers += _metadata_headers(entry)
    if checksums:
        headers += checksum_headers(entry)
    return headers


def asks_for_checksums(headers: Mapping[str, str]) -> bool:
    return headers.get("x-amz-checksum-mode", "").upper() == "ENABLED"


def checksum_headers(entry: Entry) -> Headers:
    """S3's own; an entry may know of others."""
    found = {name: value for name, value in entry.checksums.items() if name in HASHERS}
    if not found:
        return []
    headers = [(f"x-amz-checksum-{name.lower()}", value) for name, value in found.items()]
    return [*headers, ("x-amz-checksum-type", type_of(found) or "")]


def _override(request: Request, name: str) -> str:
    value = request.query[name]
    if not value.isprintable():
        raise S3Error("InvalidArgument", "Header value has characters that no header can have.", ArgumentName=name)
    return value


def _metadata_headers(entry: Entry) -> Headers:
    """Other programs may have given names that no header can have; S3 only says how many those are."""
    metadata = users_metadata(entry)
    headers = [(f"x-amz-meta-{name}", _ascii(value)) for name, value in metadata.items() if _TOKEN.fullmatch(name)]
    missing = len(metadata) - len(headers)
    return [*headers, ("x-amz-missing-meta", str(missing))] if missing else headers


def _ascii(value: str) -> str:
    """What is no plain ASCII goes out as RFC 2047 says, as S3 does it."""
    if value.isascii() and value.isprintable():
        return value
    from email.header import Header

    return Header(value, "utf-8").encode(linesep="", maxlinelen=1 << 30)
