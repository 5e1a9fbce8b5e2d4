"""Writes aws-chunked bodies, following AWS's description."""

import hmac
from collections.abc import Sequence
from hashlib import sha256

from lochan.server.gateway.wire.identity import ChunkSeed

KEY = b"k" * 32
SEED = ChunkSeed(KEY, "5" * 64, "20260524T103000Z", "20260524/us-east-1/s3/aws4_request")
EMPTY = sha256(b"").hexdigest()


def _sign(seed: ChunkSeed, head: str, previous: str, rest: str) -> str:
    text = f"{head}\n{seed.timestamp}\n{seed.scope}\n{previous}\n{rest}"
    return hmac.new(seed.signing_key, text.encode(), sha256).hexdigest()


def signatures(chunks: Sequence[bytes], seed: ChunkSeed = SEED) -> list[str]:
    """The signatures of the chunks, and of the empty one at the end."""
    found = [seed.signature]
    for chunk in (*chunks, b""):
        rest = f"{EMPTY}\n{sha256(chunk).hexdigest()}"
        found.append(_sign(seed, "AWS4-HMAC-SHA256-PAYLOAD", found[-1], rest))
    return found[1:]


def trailer_signature(lines: str, previous: str, seed: ChunkSeed = SEED) -> str:
    return _sign(seed, "AWS4-HMAC-SHA256-TRAILER", previous, sha256(lines.encode()).hexdigest())


def signed(chunks: Sequence[bytes], seed: ChunkSeed = SEED) -> bytes:
    framed = [
        b"%x;chunk-signature=%s\r\n%s\r\n" % (len(chunk), signature.encode(), chunk)
        for chunk, signature in zip((*chunks, b""), signatures(chunks, seed), strict=True)
    ]
    return b"".join(framed)


def signed_trailer(chunks: Sequence[bytes], name: str, value: str, seed: ChunkSeed = SEED) -> bytes:
    line = f"{name}:{value}"
    last = trailer_signature(f"{line}\n", signatures(chunks, seed)[-1], seed)
    return signed(chunks, seed)[:-2] + f"{line}\r\nx-amz-trailer-signature:{last}\r\n\r\n".encode()


def unsigned_trailer(chunks: Sequence[bytes], *lines: str) -> bytes:
    framed = [b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks]
    return b"".join(framed) + b"0\r\n" + "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"
