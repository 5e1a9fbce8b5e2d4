"""Reads the body of a request as it arrives: plain, or in chunks (aws-chunked)."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Final

from lochan.server.gateway.wire.checksums import HEADERS, checked_value
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import ChunkSeed, Identity, Payload
from lochan.server.gateway.wire.signature_v4 import same, sign

LINE_BYTES_MAX: Final = 1024
TRAILER_LINES_MAX: Final = 8
# S3 asks for 8 KiB in every chunk but the last. This asks for less, but still refuses a body of single bytes, whose
# framing would cost a thousand times more than the data.
CHUNK_BYTES_MEAN_MIN: Final = 1024
SMALL_CHUNKS_MAX: Final = 1024

_EMPTY: Final = sha256(b"").hexdigest()
_SIZE_DIGITS_MAX = 16
_SIGNATURE = b"chunk-signature="
_TRAILER_SIGNATURE = "x-amz-trailer-signature"


class PlainBody:
    """A body that is not framed. It has the methods of ChunkedBody, so that a reader need not tell them apart. `length`
    is None if it was not declared."""

    def __init__(self, identity: Identity | None, length: int | None) -> None:
        hashed = identity is not None and identity.payload is Payload.HASHED
        self._expected = identity.sha256 if identity is not None and hashed else None
        self._hash = sha256()
        self._left = length

    def feed(self, data: bytes) -> tuple[bytes, ...]:
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise S3Error("IncompleteBody")
        if self._expected is not None:
            self._hash.update(data)
        return (data,)

    def hand_over(self) -> Callable[[bytes], None] | None:
        """Leaves the hashing of the body to somebody else. It is called before the first byte. Returns a function that
        raises an error if the SHA-256 it is given is not the right one, and that must be called before anybody sees the
        body. Returns None if there is no hash to compare with."""
        expected, self._expected = self._expected, None
        return None if expected is None else lambda digest: _compare(expected, digest.hex())

    def finish(self) -> dict[str, str]:
        """Checks the end of the body. Raises IncompleteBody or XAmzContentSHA256Mismatch."""
        if self._left:
            raise S3Error("IncompleteBody")
        if self._expected is not None:
            _compare(self._expected, self._hash.hexdigest())
        return {}


def _compare(expected: str, found: str) -> None:
    if not same(found, expected):
        raise S3Error("XAmzContentSHA256Mismatch", ClientComputedContentSHA256=expected, S3ComputedContentSHA256=found)


class ChunkedBody:
    """A body in chunks. `feed` yields the payload of what arrived, and `finish` says that it was complete and verified.

    It keeps at most one line in memory, whatever arrives, and never a payload. `trailer` is the header that
    `x-amz-trailer` promised, in lower case. Raises InvalidRequest if it is not a checksum.
    """

    def __init__(self, payload: Payload, decoded_length: int, seed: ChunkSeed | None = None, trailer: str = "") -> None:
        if trailer and trailer not in HEADERS:
            raise S3Error("InvalidRequest", "The value specified in the x-amz-trailer header is not supported")
        if payload is Payload.SIGNED_CHUNKS_TRAILER and not trailer:
            raise S3Error("InvalidRequest", "The x-amz-trailer header is missing.")
        self._chain = None if payload is Payload.UNSIGNED_CHUNKS_TRAILER else _Chain(_present(seed))
        self._promised = "" if payload is Payload.SIGNED_CHUNKS else trailer
        self._left = decoded_length
        self._chunks_left = SMALL_CHUNKS_MAX + decoded_length // CHUNK_BYTES_MEAN_MIN
        self._in_chunk = 0
        self._line = bytearray()
        self._lines = 0
        self._state: Callable[[bytes], None] = self._on_size
        self.trailers: dict[str, str] = {}

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields the payload. Raises an error for the first thing that is wrong; the rest of the body is then of no
        use."""
        at = 0
        while at < len(data):
            if self._in_chunk:
                piece = data[at : at + self._in_chunk] if at or len(data) > self._in_chunk else data
                at += len(piece)
                self._in_chunk -= len(piece)
                if self._chain is not None:
                    self._chain.update(piece)
                yield piece
            else:
                at = self._take_line(data, at)

    def finish(self) -> Mapping[str, str]:
        """Returns the trailers. Raises IncompleteBody if the last chunk or an end is missing."""
        if self._state != self._on_end or self._line:
            raise S3Error("IncompleteBody", "The request body terminated unexpectedly")
        return self.trailers

    def _take_line(self, data: bytes, at: int) -> int:
        """Takes a line, which may arrive in pieces. Returns where the next one begins."""
        end = data.find(b"\n", at, at + LINE_BYTES_MAX)
        stop = end + 1 if end >= 0 else min(len(data), at + LINE_BYTES_MAX)
        self._line += data[at:stop]
        if len(self._line) > LINE_BYTES_MAX or (end < 0 and stop - at == LINE_BYTES_MAX):
            raise _malformed_error("a line is too long")
        if end >= 0:
            line = bytes(self._line)
            self._line.clear()
            self._state(line[:-2] if line.endswith(b"\r\n") else self._without_cr(line))
        return stop

    def _without_cr(self, line: bytes) -> bytes:
        """Returns the line without its LF. Only trailers may end in LF alone, because minio-go writes them so."""
        if self._state != self._on_trailer:
            raise _malformed_error("a line does not end in CR LF")
        return line[:-1]

    def _on_size(self, line: bytes) -> None:
        digits, semicolon, extension = line.partition(b";")
        # int() would also accept signs, spaces and underscores.
        if not digits or len(digits) > _SIZE_DIGITS_MAX or digits.strip(b"0123456789abcdefABCDEF"):
            raise _malformed_error("the size of a chunk is not a hexadecimal number")
        size = int(digits, 16)
        if size > self._left:
            raise S3Error("IncompleteBody", "The chunks hold more than x-amz-decoded-content-length says.")
        if not self._chunks_left:
            raise S3Error("InvalidChunkSizeError")
        self._chunks_left -= 1
        if self._chain is not None:
            self._chain.begin(extension if semicolon else b"")
        self._left -= size
        self._in_chunk = size
        self._state = self._on_chunk_end if size else self._on_trailer
        if not size:
            self._end_of_chunks()

    def _on_chunk_end(self, line: bytes) -> None:
        if line:
            raise _malformed_error("a chunk is longer than it says")
        if self._chain is not None:
            self._chain.prove()
        self._state = self._on_size

    def _end_of_chunks(self) -> None:
        if self._left:
            raise S3Error("IncompleteBody", "The chunks hold less than x-amz-decoded-content-length says.")
        if self._chain is not None:
            self._chain.prove()

    def _on_trailer(self, line: bytes) -> None:
        if self._lines == TRAILER_LINES_MAX:
            raise S3Error("MalformedTrailerError")
        self._lines += 1
        if not line:
            # minio-go leaves an empty line in front of the signature.
            if not self._awaits_signature():
                self._end_of_trailers()
                self._state = self._on_end
            return
        name, colon, value = line.decode("latin-1").partition(":")
        name = name.strip().lower()
        expected = name == self._promised or (name == _TRAILER_SIGNATURE and self._chain is not None)
        if not colon or not expected or name in self.trailers:
            raise S3Error("MalformedTrailerError")
        self.trailers[name] = value.strip()

    def _awaits_signature(self) -> bool:
        return self._chain is not None and self._promised in self.trailers and _TRAILER_SIGNATURE not in self.trailers

    def _on_end(self, line: bytes) -> None:
        """Accepts one line end too many, with which minio-go ends its unsigned trailers."""
        self._lines += 1
        if line or self._lines > TRAILER_LINES_MAX:
            raise S3Error("IncompleteBody", "There are bytes after the end of the body.")

    def _end_of_trailers(self) -> None:
        signature = self.trailers.pop(_TRAILER_SIGNATURE, None)
        if self._promised and self._promised not in self.trailers:
            raise S3Error("MalformedTrailerError", f"The announced trailer {self._promised} is missing.")
        if self._chain is not None and self._promised:
            self._chain.prove_trailers(self.trailers, signature)
        elif signature is not None:
            raise S3Error("MalformedTrailerError")
        for name, value in self.trailers.items():
            checked_value(HEADERS[name], value)


class _Chain:
    """The signatures of the chunks. Each is computed over the one before."""

    def __init__(self, seed: ChunkSeed) -> None:
        self._seed = seed
        self._previous = seed.signature
        self._claimed = ""
        self._hash = sha256()

    def begin(self, extension: bytes) -> None:
        if not extension.startswith(_SIGNATURE):
            raise _malformed_error("a chunk has no signature")
        self._claimed = extension[len(_SIGNATURE) :].decode("latin-1")
        self._hash = sha256()

    def update(self, piece: bytes) -> None:
        self._hash.update(piece)

    def prove(self) -> None:
        self._advance(f"AWS4-HMAC-SHA256-PAYLOAD\n{self._head()}{_EMPTY}\n{self._hash.hexdigest()}", self._claimed)

    def prove_trailers(self, trailers: Mapping[str, str], signature: str | None) -> None:
        if signature is None:
            raise S3Error("MalformedTrailerError", f"The trailer {_TRAILER_SIGNATURE} is missing.")
        lines = "".join([f"{name}:{value}\n" for name, value in sorted(trailers.items())])
        digest = sha256(lines.encode("latin-1")).hexdigest()
        self._advance(f"AWS4-HMAC-SHA256-TRAILER\n{self._head()}{digest}", signature)

    def _head(self) -> str:
        return f"{self._seed.timestamp}\n{self._seed.scope}\n{self._previous}\n"

    def _advance(self, text: str, claimed: str) -> None:
        computed = sign(self._seed.signing_key, text.encode())
        if not same(computed, claimed):
            raise S3Error("SignatureDoesNotMatch", StringToSign=text, SignatureProvided=claimed)
        self._previous = computed


def chunked_body(identity: Identity, headers: Mapping[str, str]) -> ChunkedBody:
    """Returns a body for a request whose payload `is_chunked`. It can also raise MissingContentLength."""
    trailer = headers.get("x-amz-trailer", "").strip().lower()
    return ChunkedBody(identity.payload, decoded_length(headers), identity.seed, trailer)


def decoded_length(headers: Mapping[str, str]) -> int:
    text = headers.get("x-amz-decoded-content-length")
    if text is None:
        raise S3Error("MissingContentLength", "You must provide the x-amz-decoded-content-length HTTP header.")
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise S3Error("InvalidArgument", ArgumentName="x-amz-decoded-content-length", ArgumentValue=text[:64])
    return int(text)


def stored_content_encoding(value: str) -> str:
    """Returns the encoding without `aws-chunked`, which is how the body was sent and not what it is. Returns an empty
    string if there was nothing else."""
    return ",".join(part for part in map(str.strip, value.split(",")) if part and part.lower() != "aws-chunked")


def _present(seed: ChunkSeed | None) -> ChunkSeed:
    if seed is None:
        raise S3Error("InvalidRequest", "Signed chunks need a signature of version 4 in the header.")
    return seed


def _malformed_error(what: str) -> S3Error:
    return S3Error("InvalidRequest", f"The body is not well-formed aws-chunked: {what}.")
