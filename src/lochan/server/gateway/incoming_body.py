"""Reads the incoming body of a request, the body of a plain request or the file in a form, and verifies it at its
end."""

from collections.abc import AsyncIterator, Callable, Mapping

from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.body import ChunkedBody, PlainBody, chunked_body, decoded_length
from lochan.server.gateway.wire.checksums import Checksum, content_md5, declared_checksum
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.form import FIELDS_BYTES_MAX, FormReader
from lochan.server.gateway.wire.post_policy import ANY_LENGTH, PostForm, post_form

OBJECT_BYTES_MAX = 5 << 30  # of one put; larger objects come in parts


class RequestBody:
    """The body of a request: its length, what was declared about it, and its bytes, which are verified at the end."""

    def __init__(self, request: S3Request, bytes_max: int = OBJECT_BYTES_MAX, *, is_object: bool = True) -> None:
        """Prepares to read the body. A document that is not itself the object (`is_object` is False) may come with the
        object's checksum in its headers."""
        self._request = request
        identity = request.identity
        assert identity is not None, "every request is authenticated first"
        self.md5 = content_md5(request.headers)
        self.checksum = declared_checksum(request.headers) if is_object else None
        self.expected_md5 = None if self.md5 is None else self.md5.hex()
        self.checksums = {} if self.checksum is None else {self.checksum.algorithm: self.checksum.value}
        chunked = identity.payload.is_chunked
        self.length = decoded_length(request.headers) if chunked else declared_length(request.headers)
        if self.length > bytes_max:
            raise S3Error("EntityTooLarge", ProposedSize=str(self.length), MaxSizeAllowed=str(bytes_max))
        self._body: ChunkedBody | PlainBody
        self._body = chunked_body(identity, request.headers) if chunked else PlainBody(identity, self.length)
        on_wire = request.headers.get("content-length", "")
        self._is_short = on_wire.isdecimal() and len(on_wire) < 9 and "transfer-encoding" not in request.headers
        self._has_bytes = on_wire != "0" or "transfer-encoding" in request.headers

    async def whole(self) -> bytes:
        """Returns a small body in memory. A body that may be larger than declared is checked while it arrives."""
        if not self._is_short:
            return b"".join([piece async for piece in self.pieces()])
        data = await self._request.whole_body() if self._has_bytes else b""
        payload = b"".join(self._body.feed(bytes(data)))
        self._finish()
        return payload

    def hand_over(self) -> Callable[[bytes], None] | None:
        """Prepares a body that is hashed on its way to the store, beside the event loop. Returns a function that takes
        its SHA-256 and raises an error if that is not what was signed. The body is then not hashed here as well."""
        return self._body.hand_over() if isinstance(self._body, PlainBody) else None

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body. Raises an error at the end if the body is not what was signed or promised. In that case it
        must not become visible."""
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
        """Checks a trailer, which can only be compared when the whole body has arrived. Raises BadDigest."""
        if self.checksum is not None and self.checksum.in_trailer:
            self.checksum.check(found[self.checksum.algorithm])


class FormBody:
    """The file in a form. `form` is called first, because it says what may follow; then come the methods of a Body."""

    def __init__(self, request: S3Request) -> None:
        self.length = declared_length(request.headers)  # the length of the whole form; the file is shorter
        if self.length > OBJECT_BYTES_MAX + FIELDS_BYTES_MAX:
            raise S3Error("EntityTooLarge", ProposedSize=str(self.length), MaxSizeAllowed=str(OBJECT_BYTES_MAX))
        self._request = request
        self._body = request.body()
        self._reader = FormReader(request.headers.get("content-type", ""))
        self._begun: list[bytes] = []  # the part of the file that came with the fields
        self.allowed = ANY_LENGTH
        self.expected_md5: str | None = None
        self.checksums: dict[str, str | None] = {}

    async def form(self) -> PostForm:
        """Reads the form up to the file. Raises an error that says what is wrong with the form."""
        async for data in self._body:
            self._begun += self._reader.feed(data)
            if self._reader.at_file:
                break
        else:
            self._reader.finish()
        found = post_form(self._reader.fields, self._request.bucket, self._reader.filename)
        md5, checksum = content_md5(found.fields), declared_checksum(found.fields)
        self.expected_md5 = None if md5 is None else md5.hex()
        self.checksums = {} if checksum is None else {checksum.algorithm: checksum.value}
        return found

    async def whole(self) -> bytes:
        return b"".join([piece async for piece in self.pieces()])

    def hand_over(self) -> None:
        """Returns None, because the policy is signed, and not the body."""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the file. Raises EntityTooSmall or EntityTooLarge by the policy, and IncompleteBody if the form has no
        end."""
        size = 0
        async for piece in self._file():
            size += len(piece)
            if size > self.allowed.most:
                self.allowed.check(size)
            yield piece
        self.allowed.check(size)

    async def _file(self) -> AsyncIterator[bytes]:
        for piece in self._begun:
            yield piece
        async for data in self._body:
            for piece in self._reader.feed(data):
                yield piece
        self._reader.finish()

    def check_trailer(self, found: Mapping[str, str]) -> None:
        """Does nothing, because a form has no trailer."""


def declared_length(headers: Mapping[str, str]) -> int:
    """Returns the declared length. Raises MissingContentLength and InvalidArgument."""
    text = headers.get("content-length")
    if text is None:
        raise S3Error("MissingContentLength")
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise S3Error(
            "InvalidArgument", "content-length is not a length", ArgumentName="content-length", ArgumentValue=text[:64]
        )
    return int(text)
