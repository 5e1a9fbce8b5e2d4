"""The form of a request on its way in: its fields at once, then its file as it comes, in bounded memory."""

from collections.abc import AsyncIterator, Mapping

from lochan.server.gateway.request import Request
from lochan.server.gateway.storing import OBJECT_BYTES_MAX, declared_length
from lochan.server.gateway.wire.checksums import content_md5, declared_checksum
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.form import FIELDS_BYTES_MAX, FormReader
from lochan.server.gateway.wire.post_policy import ANY_LENGTH, PostForm, post_form


class Posted:
    """`form` first: it says what may follow. Then the verbs of a Body."""

    def __init__(self, request: Request) -> None:
        self.length = declared_length(request.headers)  # of the whole form; the file is shorter
        if self.length > OBJECT_BYTES_MAX + FIELDS_BYTES_MAX:
            raise S3Error("EntityTooLarge", ProposedSize=str(self.length), MaxSizeAllowed=str(OBJECT_BYTES_MAX))
        self._request = request
        self._body = request.body()
        self._reader = FormReader(request.headers.get("content-type", ""))
        self._begun: list[bytes] = []  # of the file, what came with the fields
        self.allowed = ANY_LENGTH
        self.expected_md5: str | None = None
        self.checksums: dict[str, str | None] = {}

    async def form(self) -> PostForm:
        """Reads up to the file. Raises what is wrong with the form."""
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
        """The policy is signed, not the body."""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises EntityTooSmall or EntityTooLarge by the policy, and IncompleteBody where the form has no end."""
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
        """A form has none."""
