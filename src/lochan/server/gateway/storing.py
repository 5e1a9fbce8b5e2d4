"""What of a request is kept with an object, and its body on the way in."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import NamedTuple, Protocol

from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.checksums import Checksum, content_md5, declared_checksum
from lochan.server.gateway.wire.chunked import ChunkedBody
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.plain import PlainBody

OBJECT_BYTES_MAX = 5 << 30  # of one put; more comes in parts
METADATA_BYTES_MAX = 2048
_KEPT = ("cache-control", "content-disposition", "content-encoding", "content-language", "expires")
_META = "x-amz-meta-"
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


# What a client may ask for with an object and would rely on: that it is encrypted, locked, appended to.
_UNKEPT = frozenset(
    (
        *(f"x-amz-server-side-encryption{rest}" for rest in ("", "-aws-kms-key-id", "-bucket-key-enabled", "-context")),
        *(f"x-amz-server-side-encryption-customer-{rest}" for rest in ("algorithm", "key", "key-md5")),
        *(f"x-amz-copy-source-server-side-encryption-customer-{rest}" for rest in ("algorithm", "key", "key-md5")),
        *("x-amz-write-offset-bytes", "x-amz-bucket-object-lock-enabled"),
        *(f"x-amz-object-lock-{rest}" for rest in ("legal-hold", "mode", "retain-until-date")),
    )
)


class Told(NamedTuple):
    content_type: str
    headers: dict[str, str]
    metadata: dict[str, str]


def refuse_unkept(headers: Mapping[str, str]) -> None:
    """Raises NotImplemented: better than to store an object and not what was asked for with it."""
    if _UNKEPT.isdisjoint(headers):
        return
    if any(headers[name].lower() not in ("", "false", "off") for name in _UNKEPT & headers.keys()):
        raise not_here()


def not_here() -> S3Error:
    return S3Error("NotImplemented", "A header or query you provided implies functionality that is not implemented.")


def told(headers: Mapping[str, str]) -> Told:
    """Raises MetadataTooLarge, and InvalidArgument for what no header could say: the fields of a form can hold it."""
    kept = {name: headers[name] for name in _KEPT if name in headers}
    if "content-encoding" in kept:
        codings = kept["content-encoding"].split(",")
        left = ",".join(coding for coding in codings if coding.strip().lower() != "aws-chunked").strip()
        kept["content-encoding"] = left
        if not left:
            del kept["content-encoding"]
    metadata = {name[len(_META) :]: value for name, value in headers.items() if name.startswith(_META)}
    if metadata:
        size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
        if size > METADATA_BYTES_MAX:
            raise S3Error("MetadataTooLarge", Size=str(size), MaxSizeAllowed=str(METADATA_BYTES_MAX))
    content_type = headers.get("content-type", "")
    if _CONTROL.search("".join((content_type, *kept.values(), *metadata.values()))):
        raise S3Error("InvalidArgument", "Metadata and headers cannot hold control characters.")
    return Told(content_type, kept, metadata)


class Body(Protocol):
    """Bytes on their way in, with what was declared of them."""

    length: int  # at most
    expected_md5: str | None
    checksums: dict[str, str | None]  # to be computed on the way, and compared where a value was given

    async def whole(self) -> bytes: ...

    def pieces(self) -> AsyncIterator[bytes]: ...

    def hand_over(self) -> Callable[[bytes], None] | None: ...

    def check_trailer(self, found: Mapping[str, str]) -> None: ...


class Incoming:
    """The body of a request: how long it is, what was declared of it, and its bytes, proven at their end."""

    def __init__(self, request: Request, bytes_max: int = OBJECT_BYTES_MAX, *, is_object: bool = True) -> None:
        """A document that is not itself the `object` may come with the object's checksum in its headers."""
        self._request = request
        identity = request.identity
        assert identity is not None, "every request is authenticated first"
        self.md5 = content_md5(request.headers)
        self.checksum = declared_checksum(request.headers) if is_object else None
        self.expected_md5 = None if self.md5 is None else self.md5.hex()
        self.checksums = {} if self.checksum is None else {self.checksum.algorithm: self.checksum.value}
        chunked = identity.payload.is_chunked
        self.length = declared_length(request.headers, "x-amz-decoded-content-length" if chunked else "content-length")
        if self.length > bytes_max:
            raise S3Error("EntityTooLarge", ProposedSize=str(self.length), MaxSizeAllowed=str(bytes_max))
        self._body: ChunkedBody | PlainBody
        if chunked:
            trailer = request.headers.get("x-amz-trailer", "").strip().lower()
            self._body = ChunkedBody(identity.payload, self.length, identity.seed, trailer)
        else:
            self._body = PlainBody(identity, self.length)
        on_wire = request.headers.get("content-length", "")
        self._is_short = on_wire.isdecimal() and len(on_wire) < 9 and "transfer-encoding" not in request.headers
        self._has_bytes = on_wire != "0" or "transfer-encoding" in request.headers

    async def whole(self) -> bytes:
        """A small body, in memory. One that may turn out larger than it says is looked at as it comes."""
        if not self._is_short:
            return b"".join([piece async for piece in self.pieces()])
        data = await self._request.whole_body() if self._has_bytes else b""
        payload = b"".join(self._body.feed(bytes(data)))
        self._finish()
        return payload

    def hand_over(self) -> Callable[[bytes], None] | None:
        """Of a body that is hashed on its way to the store, beside the event loop: what its SHA-256 is to be shown to,
        and raises where it is not what was signed. It is not hashed here as well then."""
        return self._body.hand_over() if isinstance(self._body, PlainBody) else None

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises at the end for a body that is not what was signed or promised: it must not become visible then."""
        if self._has_bytes:
            async for data in self._request.body():
                for piece in self._body.feed(data):
                    yield piece
        self._finish()

    def _finish(self) -> None:
        trailers = self._body.finish()
        if self.checksum is not None and self.checksum.in_trailer:
            self.checksum = Checksum(self.checksum.algorithm, trailers.get(self.checksum.header), in_trailer=True)

    def check_trailer(self, found: Mapping[str, str]) -> None:
        """What a trailer told can only be compared when all has come. Raises BadDigest."""
        if self.checksum is not None and self.checksum.in_trailer:
            self.checksum.check(found[self.checksum.algorithm])


def declared_length(headers: Mapping[str, str], name: str = "content-length") -> int:
    """Raises MissingContentLength, InvalidArgument."""
    text = headers.get(name)
    if text is None:
        raise S3Error("MissingContentLength")
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise S3Error("InvalidArgument", f"{name} is no length", ArgumentName=name, ArgumentValue=text[:64])
    return int(text)
