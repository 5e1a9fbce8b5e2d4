"""Checksums that a sender can declare for a body: an MD5, and S3's additional checksums.

CRC32C, CRC64NVME and the xxHash family come from the `awscrt` wheel of the `server` extra: in plain Python they would
be a thousand times slower than the network. It is imported when first needed, because that takes a tenth of a second.
"""

import hashlib
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import Any, ClassVar, Final, Protocol

from lochan.errors import BadDigest, Invalid, Refused

_MD5 = re.compile(r"[0-9a-f]{32}")


class XxHash:
    """A hasher of the xxHash family. The native state ends with its first digest, so the digest is kept for later
    calls."""

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


class Crc:
    """A hasher of a CRC. Its digest is big-endian, as S3 writes it."""

    width_bytes: ClassVar[int]
    name: ClassVar[str]  # the name of the function in awscrt

    def __init__(self) -> None:
        self._value = 0
        self._step = self.step()

    def update(self, data: bytes, /) -> None:
        self._value = self._step(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self.width_bytes, "big")

    @classmethod
    def step(cls) -> Callable[[bytes, int], int]:
        return getattr(awscrt(), cls.name)  # type: ignore[no-any-return]

    @classmethod
    def join(cls, left: bytes, right: bytes, right_length: int) -> bytes:
        """Returns the digest of two bodies, one after the other, computed from their digests."""
        combine = getattr(awscrt(), f"combine_{cls.name}")
        joined: int = combine(int.from_bytes(left, "big"), int.from_bytes(right, "big"), right_length)
        return joined.to_bytes(cls.width_bytes, "big")


class Crc32(Crc):
    width_bytes, name = 4, "crc32"

    @classmethod
    def step(cls) -> Callable[[bytes, int], int]:
        return zlib.crc32  # the fallback without the extra package


class Crc32c(Crc):
    width_bytes, name = 4, "crc32c"


class Crc64Nvme(Crc):
    width_bytes, name = 8, "crc64nvme"


@cache
def awscrt() -> Any:
    try:
        from awscrt import checksums
    except ImportError:
        raise Refused(
            "CRC32C, CRC64NVME and xxHash need the awscrt package", hint="pip install 'lochan[server]' brings it"
        ) from None
    return checksums


class Hasher(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


ALGORITHMS: Mapping[str, Callable[[], Hasher]] = {
    "CRC32": Crc32,
    "CRC32C": Crc32c,
    "CRC64NVME": Crc64Nvme,
    "SHA1": hashlib.sha1,
    "SHA256": hashlib.sha256,
    "SHA512": hashlib.sha512,
    "MD5": lambda: hashlib.md5(usedforsecurity=False),
    "XXHASH64": XxHash64,
    "XXHASH3": XxHash3,
    "XXHASH128": XxHash128,
}
CRCS: Mapping[str, type[Crc]] = {"CRC32": Crc32, "CRC32C": Crc32c, "CRC64NVME": Crc64Nvme}
COMPOSITE: Final = "COMPOSITE"  # for an upload in parts: the hash of the parts' digests, with `-N`
FULL_OBJECT: Final = "FULL_OBJECT"  # only for CRCs, which can be joined without reading the bodies again


def composite(algorithm: str, digests: Sequence[str]) -> str:
    """Returns the composite checksum of the parts. `digests` are their values in base64, in the order of their
    numbers."""
    hasher = ALGORITHMS[algorithm]()
    for digest in digests:
        hasher.update(b64decode(digest))
    return f"{b64encode(hasher.digest()).decode()}-{len(digests)}"


def full_object(algorithm: str, parts: Sequence[tuple[str, int]]) -> str:
    """Returns the CRC of the whole object, from the values of its parts in base64 and their lengths."""
    crc = CRCS[algorithm]
    whole = reduce(lambda left, right: crc.join(left, b64decode(right[0]), right[1]), parts[1:], b64decode(parts[0][0]))
    return b64encode(whole).decode()


def of_parts(algorithm: str, type: str, parts: Sequence[tuple[str, int]]) -> str:
    """Returns the checksum of the object made from an upload's parts, from their values in base64 and their lengths."""
    if type == FULL_OBJECT:
        return full_object(algorithm, parts)
    return composite(algorithm, [value for value, _ in parts])


class DeclaredChecksums:
    """The checksums that a sender has declared. `md5` is 32 hex digits. `checksums` are in base64, by their S3 names. A
    value of None is only computed: a trailer after the body declares it, and the caller compares."""

    def __init__(self, md5: str | None, checksums: Mapping[str, str | None]) -> None:
        if md5 is not None and not _MD5.fullmatch(md5):
            raise BadDigest(f"{md5!r} is not an MD5", hint="an MD5 is written as 32 hex digits here")
        for name in checksums:
            if name not in ALGORITHMS:
                raise Invalid(f"the checksum {name} is not known", hint=f"choose from {', '.join(ALGORITHMS)}")
        self._md5 = md5
        self._checksums = checksums

    def hashers(self) -> dict[str, Hasher]:
        return {name: ALGORITHMS[name]() for name in self._checksums}

    def verified(self, path: str, md5: str, hashers: Mapping[str, Hasher]) -> dict[str, str]:
        """Returns the computed additional checksums. Raises BadDigest if one is not as declared."""
        if self._md5 is not None and self._md5 != md5:
            raise BadDigest(f"{path!r}: the body's MD5 is {md5}, but {self._md5} was declared")
        found = {name: b64encode(hasher.digest()).decode() for name, hasher in hashers.items()}
        for name, value in self._checksums.items():
            if value is not None and value != found[name]:
                raise BadDigest(f"{path!r}: the body's {name} is {found[name]}, but {value} was declared")
        return found
