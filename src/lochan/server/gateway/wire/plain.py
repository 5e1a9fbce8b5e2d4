"""A body that comes as it is: its length, and its hash where the signature covers one."""

from collections.abc import Callable
from hashlib import sha256

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Identity, Payload
from lochan.server.gateway.wire.signing_key import same


class PlainBody:
    """Has the verbs of ChunkedBody, so that a reader asks for neither by name. `length` None: it was not declared."""

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
        """Before the first byte: from here on somebody else hashes the body, and asks what is returned whether the
        SHA-256 is the right one before anybody sees it. None: there is none to compare with."""
        expected, self._expected = self._expected, None
        return None if expected is None else lambda digest: _compare(expected, digest.hex())

    def finish(self) -> dict[str, str]:
        """Raises IncompleteBody or XAmzContentSHA256Mismatch."""
        if self._left:
            raise S3Error("IncompleteBody")
        if self._expected is not None:
            _compare(self._expected, self._hash.hexdigest())
        return {}


def _compare(expected: str, found: str) -> None:
    if not same(found, expected):
        raise S3Error("XAmzContentSHA256Mismatch", ClientComputedContentSHA256=expected, S3ComputedContentSHA256=found)
