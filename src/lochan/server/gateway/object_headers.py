"""Handles the headers of an object: those that are stored with it, those of an answer, and those of conditions."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NamedTuple, Protocol

from lochan.api.conditions import NO_CONDITIONS, ConditionFailed, Conditions
from lochan.server.gateway.request import Headers, S3Request
from lochan.server.gateway.wire.body import stored_content_encoding
from lochan.server.gateway.wire.checksums import type_of
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import http_date, parse_etags, parse_http_date, parse_iso_extended

METADATA_BYTES_MAX = 2048
_KEPT = ("cache-control", "content-disposition", "content-encoding", "content-language", "expires")
_META = "x-amz-meta-"
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
# What a client may ask for with an object and would rely on: that it is encrypted, locked or appended to.
_UNKEPT = frozenset(
    (
        *(f"x-amz-server-side-encryption{rest}" for rest in ("", "-aws-kms-key-id", "-bucket-key-enabled", "-context")),
        *(f"x-amz-server-side-encryption-customer-{rest}" for rest in ("algorithm", "key", "key-md5")),
        *(f"x-amz-copy-source-server-side-encryption-customer-{rest}" for rest in ("algorithm", "key", "key-md5")),
        *("x-amz-write-offset-bytes", "x-amz-bucket-object-lock-enabled"),
        *(f"x-amz-object-lock-{rest}" for rest in ("legal-hold", "mode", "retain-until-date")),
    )
)
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
_RANGES = ("accept-ranges", "bytes")
# Types that a browser shows without running anything. A page is run: HTML, SVG, XML and whatever the browser takes for
# one.
_STILL = re.compile(
    "(audio|font|video)/.*|image/(?!svg).*|text/(plain|csv|markdown)|application/(json|pdf|[a-z0-9.+-]*octet-stream)"
)
_NO_SNIFFING = ("x-content-type-options", "nosniff")
_SANDBOX = ("content-security-policy", "sandbox")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # HTTP's term for what the name of a header is made of


class ServedObject(Protocol):
    """The properties of an open object, and its bytes."""

    @property
    def size(self) -> int: ...
    @property
    def etag(self) -> str: ...
    @property
    def mtime_us(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def metadata(self) -> Mapping[str, str]: ...
    @property
    def checksums(self) -> Mapping[str, str]: ...
    @property
    def parts(self) -> tuple[int, ...]: ...

    def check(self, conditions: Conditions) -> None: ...

    def stream(
        self, start: int = 0, stop: int | None = None, *, piece_bytes: Callable[[], int] | None = None
    ) -> AsyncGenerator[bytes, None]: ...

    async def read(self, start: int = 0, stop: int | None = None) -> bytes: ...


class RootFolder(NamedTuple):
    """The root of a branch in the way that clients know folders: an empty object whose name ends with a slash. It is
    not stored."""

    mtime_us: int
    size: int = 0
    etag: str = "d41d8cd98f00b204e9800998ecf8427e"
    content_type: str = "application/x-directory"
    headers: Mapping[str, str] = _NONE
    metadata: Mapping[str, str] = _NONE
    checksums: Mapping[str, str] = _NONE
    parts: tuple[int, ...] = ()

    @property
    def mtime(self) -> int:
        return self.mtime_us

    def check(self, conditions: Conditions) -> None:
        """Checks the conditions. Raises ConditionFailed."""
        conditions.check("", self)

    async def stream(
        self, start: int = 0, stop: int | None = None, *, piece_bytes: Callable[[], int] | None = None
    ) -> AsyncGenerator[bytes, None]:
        yield b""

    async def read(self, start: int = 0, stop: int | None = None) -> bytes:
        return b""


class ObjectHeaders(NamedTuple):
    content_type: str
    headers: dict[str, str]
    metadata: dict[str, str]


def refuse_unsupported(headers: Mapping[str, str]) -> None:
    """Raises NotImplemented if the client asks for what is not supported. That is better than an object without what
    the client asked for."""
    if _UNKEPT.isdisjoint(headers):
        return
    if any(headers[name].lower() not in ("", "false", "off") for name in _UNKEPT & headers.keys()):
        raise unsupported_error()


def unsupported_error() -> S3Error:
    return S3Error("NotImplemented", "A header or query you provided implies functionality that is not implemented.")


def kept_headers(headers: Mapping[str, str]) -> ObjectHeaders:
    """Returns what is kept with an object. Raises MetadataTooLarge, and InvalidArgument for values that no header can
    have."""
    kept = {name: headers[name] for name in _KEPT if name in headers}
    if "aws-chunked" in kept.get("content-encoding", "").lower():
        kept["content-encoding"] = stored_content_encoding(kept["content-encoding"])
        if not kept["content-encoding"]:
            del kept["content-encoding"]
    metadata = {name[len(_META) :]: value for name, value in headers.items() if name.startswith(_META)}
    if metadata:
        size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
        if size > METADATA_BYTES_MAX:
            raise S3Error("MetadataTooLarge", Size=str(size), MaxSizeAllowed=str(METADATA_BYTES_MAX))
    content_type = headers.get("content-type", "")
    if _CONTROL.search("".join((content_type, *kept.values(), *metadata.values()))):
        raise S3Error("InvalidArgument", "Metadata and headers cannot hold control characters.")
    return ObjectHeaders(content_type, kept, metadata)


def object_headers(found: ServedObject, request: S3Request, *, whole: bool = True) -> Headers:
    """Returns the headers without the length, which depends on the span. A checksum is only sent with the whole
    object."""
    overrides = {name: _override(request, given) for given, name in _OVERRIDES.items() if given in request.query}
    headers = stored_headers(found, overrides, checksums=whole and asks_for_checksums(request.headers))
    return headers if "authorization" in request.headers else [*headers, *_link_headers(dict(headers)["content-type"])]


def _link_headers(content_type: str) -> Headers:
    """Returns the headers of an object that a browser may open by a link. It may be served from the address of the web
    page, and a script in the object would have the page's cookie. In a sandbox it has no cookie, and no script runs."""
    kind = content_type.partition(";")[0].strip().lower()
    return [_NO_SNIFFING] if _STILL.fullmatch(kind) else [_NO_SNIFFING, _SANDBOX]


def stored_headers(found: ServedObject, overrides: Mapping[str, str] = _NONE, *, checksums: bool) -> Headers:
    headers: Headers = [
        ("etag", f'"{found.etag}"'),
        ("last-modified", http_date(found.mtime_us // _SECOND)),
        _RANGES,
    ]
    kept_headers = {"content-type": found.content_type or "binary/octet-stream", **found.headers, **overrides}
    headers += kept_headers.items()
    if found.metadata:
        headers += _metadata_headers(found.metadata)
    if checksums:
        headers += checksum_headers(found.checksums)
    return headers


class BriefObject(Protocol):
    """The properties of an object that has no checksums, headers or metadata of its own."""

    @property
    def size(self) -> int: ...
    @property
    def etag(self) -> str: ...
    @property
    def mtime(self) -> int: ...
    @property
    def content_type(self) -> str: ...


def brief_headers(found: BriefObject) -> Headers:
    """Returns the `stored_headers` of such an object, and its length."""
    return [
        ("etag", f'"{found.etag}"'),
        ("last-modified", http_date(found.mtime // _SECOND)),
        _RANGES,
        ("content-type", found.content_type or "binary/octet-stream"),
        ("content-length", str(found.size)),
    ]


def asks_for_checksums(headers: Mapping[str, str]) -> bool:
    mode = headers.get("x-amz-checksum-mode")
    return mode is not None and mode.upper() == "ENABLED"


def checksum_headers(checksums: Mapping[str, str]) -> Headers:
    if not checksums:
        return []
    headers = [(f"x-amz-checksum-{name.lower()}", value) for name, value in checksums.items()]
    return [*headers, ("x-amz-checksum-type", type_of(checksums) or "")]


def _override(request: S3Request, name: str) -> str:
    value = request.query[name]
    if not value.isprintable():
        raise S3Error("InvalidArgument", "The value has characters that a header cannot have.", ArgumentName=name)
    return value


def _metadata_headers(metadata: Mapping[str, str]) -> Headers:
    """Returns the headers of the user's metadata. Other programs may have used names that no header can have. S3 only
    counts those."""
    headers = [(f"x-amz-meta-{name}", _ascii(value)) for name, value in metadata.items() if _TOKEN.fullmatch(name)]
    missing = len(metadata) - len(headers)
    return [*headers, ("x-amz-missing-meta", str(missing))] if missing else headers


def _ascii(value: str) -> str:
    """Returns text that is not ASCII as RFC 2047 encodes it, as S3 does."""
    if value.isascii() and value.isprintable():
        return value
    from email.header import Header

    return Header(value, "utf-8").encode(linesep="", maxlinelen=1 << 30)


# If-Match and its relatives: turns headers into the conditions of verbs, and a condition that failed into S3's words.
# An invalid date is ignored, except for a deletion.


COPY_PREFIX = "x-amz-copy-source-"
MATCH_MODIFIED, MATCH_SIZE = "x-amz-if-match-last-modified-time", "x-amz-if-match-size"

_HEADERS = {
    "match": "If-Match",
    "none_match": "If-None-Match",
    "unmodified_since": "If-Unmodified-Since",
    "modified_since": "If-Modified-Since",
    "modified": MATCH_MODIFIED,
    "size": MATCH_SIZE,
}
_NOT_WANTED = ("none_match", "modified_since")  # if one of these fails for a read, what the client has is as good


def read_conditions(headers: Mapping[str, str], prefix: str = "") -> Conditions:
    """Reads the conditions from headers with names in lower case. With COPY_PREFIX it reads the conditions on the
    source of a copy."""
    found = [headers.get(f"{prefix}{_HEADERS[name].lower()}") for name in (*_TAGS, *_DATES)]
    if not any(each is not None for each in found):
        return NO_CONDITIONS
    match, none_match, unmodified, modified = found
    return Conditions(
        match=parse_etags(match, weakly=False),
        none_match=parse_etags(none_match, weakly=True),
        unmodified_since=None if unmodified is None else parse_http_date(unmodified),
        modified_since=None if modified is None else parse_http_date(modified),
    )


_TAGS = ("match", "none_match")
_DATES = ("unmodified_since", "modified_since")


def write_conditions(headers: Mapping[str, str]) -> Conditions:
    """Reads the conditions of PutObject and similar operations, which have no conditions on dates."""
    match, none_match = headers.get("if-match"), headers.get("if-none-match")
    if match is None and none_match is None:
        return NO_CONDITIONS
    return Conditions(match=parse_etags(match, weakly=False), none_match=parse_etags(none_match, weakly=True))


def delete_conditions(etag: str | None, modified: str | None, size: str | None) -> Conditions:
    """Returns the conditions of a deletion. Raises InvalidArgument for an invalid time or size, because ignoring it
    would delete any object."""
    seconds = None if not modified else parse_http_date(modified) or parse_iso_extended(modified)
    if modified and seconds is None:
        raise S3Error("InvalidArgument", "This is no time.", ArgumentName=MATCH_MODIFIED, ArgumentValue=modified[:64])
    if size and not (size.isascii() and size.isdecimal() and len(size) < 20):
        raise S3Error("InvalidArgument", "This is no size.", ArgumentName=MATCH_SIZE, ArgumentValue=size[:64])
    return Conditions(match=parse_etags(etag or None, weakly=False), modified=seconds, size=int(size) if size else None)


def failed_condition(error: ConditionFailed) -> S3Error:
    """Returns PreconditionFailed, or NoSuchKey if the object must exist and does not."""
    if error.etag is None:
        return S3Error("NoSuchKey")
    name = _HEADERS[error.condition]
    return S3Error("PreconditionFailed", Condition=COPY_PREFIX + name.lower() if error.of_source else name)


def failed_read(error: ConditionFailed) -> S3Error:
    """Returns the same error for GET and HEAD, or NotModified if the client has the object already."""
    if error.condition in _NOT_WANTED:
        return S3Error("NotModified").with_header("etag", f'"{error.etag}"')
    return failed_condition(error)
