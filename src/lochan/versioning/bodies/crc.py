"""The CRCs that S3 knows beside the hashes of the standard library, and how those of two neighbours are joined.

CRC32C and CRC64NVME come from the `awscrt` wheel of the `server` extra: in plain Python they would be a thousand times
slower than the network. It is imported when first needed, for it takes a tenth of a second.
"""

import zlib
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from lochan.errors import Refused


class Crc:
    """Big-endian, as S3 writes it."""

    width_bytes: ClassVar[int]

    def __init__(self) -> None:
        self._value = 0
        self._step = self.step()

    def update(self, data: bytes, /) -> None:
        self._value = self._step(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self.width_bytes, "big")

    @classmethod
    def step(cls) -> Callable[[bytes, int], int]:
        raise NotImplementedError

    @classmethod
    def join(cls, left: bytes, right: bytes, right_length: int) -> bytes:
        """The digest of two bodies one behind the other, from theirs, without reading them again."""
        joined: int = cls._joiner()(int.from_bytes(left, "big"), int.from_bytes(right, "big"), right_length)
        return joined.to_bytes(cls.width_bytes, "big")

    @classmethod
    def _joiner(cls) -> Callable[[int, int, int], int]:
        raise NotImplementedError


class Crc32(Crc):
    width_bytes = 4

    @classmethod
    def step(cls) -> Callable[[bytes, int], int]:
        return zlib.crc32

    @classmethod
    def _joiner(cls) -> Callable[[int, int, int], int]:
        return awscrt().combine_crc32  # type: ignore[no-any-return]


class Crc32c(Crc):
    width_bytes = 4

    @classmethod
    def step(cls) -> Callable[[bytes, int], int]:
        return awscrt().crc32c  # type: ignore[no-any-return]

    @classmethod
    def _joiner(cls) -> Callable[[int, int, int], int]:
        return awscrt().combine_crc32c  # type: ignore[no-any-return]


class Crc64Nvme(Crc):
    width_bytes = 8

    @classmethod
    def step(cls) -> Callable[[bytes, int], int]:
        return awscrt().crc64nvme  # type: ignore[no-any-return]

    @classmethod
    def _joiner(cls) -> Callable[[int, int, int], int]:
        return awscrt().combine_crc64nvme  # type: ignore[no-any-return]


@cache
def awscrt() -> Any:
    try:
        from awscrt import checksums
    except ImportError:
        raise Refused(
            "CRC32C, CRC64NVME and xxHash need the awscrt package", hint="pip install 'lochan[server]' brings it"
        ) from None
    return checksums
