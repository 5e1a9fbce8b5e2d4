"""Signs requests (AWS4-HMAC-SHA256) to a server that is reached without encryption: the secret is never sent, and the
signature covers the body."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import ip_address
from tempfile import SpooledTemporaryFile
from typing import IO
from urllib.parse import parse_qsl, quote

from lochan.remote.http import PIECE_BYTES, ServerAddress

ALGORITHM = "AWS4-HMAC-SHA256"
REGION = "us-east-1"
_MEMORY_BYTES = 8 << 20
_MICROSECONDS = 1_000_000


def must_sign(address: ServerAddress) -> bool:
    """Returns whether others could read a secret on the way."""
    if address.tls or address.unix:
        return False
    try:
        return not ip_address(address.host).is_loopback
    except ValueError:
        return address.host.lower() != "localhost"


def signed_headers(
    method: str,
    target: str,
    headers: Mapping[str, str],
    host: str,
    body_sha256: str,
    keys: tuple[str, str],
    wall_us: int,
) -> dict[str, str]:
    """Returns the headers of the request, with those that sign all of them."""
    access_key, secret = keys
    stamp = datetime.fromtimestamp(wall_us / _MICROSECONDS, UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{REGION}/s3/aws4_request"
    all_headers = {**headers, "x-amz-date": stamp, "x-amz-content-sha256": body_sha256}
    signed = dict(sorted({**all_headers, "host": host}.items()))
    names = ";".join(signed)
    path, _, query = target.partition("?")
    pairs = sorted((_quote(name), _quote(value)) for name, value in parse_qsl(query, keep_blank_values=True))
    lines = "".join(f"{name}:{' '.join(value.split())}\n" for name, value in signed.items())
    canonical = f"{method}\n{path}\n{'&'.join(f'{n}={v}' for n, v in pairs)}\n{lines}\n{names}\n{body_sha256}"
    text = f"{ALGORITHM}\n{stamp}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    signature = hmac.new(_key(secret, stamp[:8]), text.encode(), sha256).hexdigest()
    credential = f"Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**all_headers, "authorization": f"{ALGORITHM} {credential}"}


def _key(secret: str, day: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, REGION, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), sha256).digest()
    return key


def _quote(text: str) -> str:
    return quote(text, safe="-_.~")


class SpooledBody:
    """A body that is read to its end before it is sent, since its hash comes first. It is kept in memory, or on disk if
    it is large."""

    def __init__(self, file: IO[bytes], digest: str, size: int) -> None:
        self._file = file
        self.sha256 = digest
        self.size = size

    @classmethod
    async def of(cls, pieces: AsyncIterator[bytes]) -> SpooledBody:
        file = SpooledTemporaryFile(_MEMORY_BYTES, prefix="lochan-body-")  # noqa: SIM115 - goes with this object
        digest, size = sha256(), 0
        async for piece in pieces:
            digest.update(piece)
            size += len(piece)
            await asyncio.to_thread(file.write, piece)
        return cls(file, digest.hexdigest(), size)

    async def pieces(self) -> AsyncIterator[bytes]:
        self._file.seek(0)
        while piece := await asyncio.to_thread(self._file.read, PIECE_BYTES):
            yield piece

    def close(self) -> None:
        self._file.close()
