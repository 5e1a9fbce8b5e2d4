"""The members of the xxHash family that S3 knows, from the `awscrt` wheel. Big-endian, as their canonical form is."""

from typing import Any

from lochan.versioning.bodies.crc import awscrt


class XxHash:
    """A digest ends the native state, so it is kept: a second one is the same."""

    maker = ""

    def __init__(self) -> None:
        self._state: Any = getattr(awscrt().XXHash, self.maker)()
        self._digest: bytes | None = None

    def update(self, data: bytes, /) -> None:
        self._state.update(data)

    def digest(self) -> bytes:
        if self._digest is None:
            self._digest = self._state.finalize()
        return self._digest


class XxHash64(XxHash):
    maker = "new_xxhash64"


class XxHash3(XxHash):
    maker = "new_xxhash3_64"


class XxHash128(XxHash):
    maker = "new_xxhash3_128"
