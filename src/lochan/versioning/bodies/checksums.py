"""What a sender may declare of a body, and whether it holds: an MD5, and S3's additional checksums."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Protocol

from lochan.errors import BadDigest, Invalid
from lochan.versioning.bodies.crc import Crc32, Crc32c, Crc64Nvme
from lochan.versioning.bodies.xxhash import XxHash3, XxHash64, XxHash128

_MD5 = re.compile(r"[0-9a-f]{32}")


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


class Declared:
    """`md5` is 32 hex digits. `checksums` are in base64 by the names of S3, None where the value is only wanted: a
    trailer tells it after the body, and is compared with what was found."""

    def __init__(self, md5: str | None, checksums: Mapping[str, str | None]) -> None:
        if md5 is not None and not _MD5.fullmatch(md5):
            raise BadDigest(f"{md5!r} is not an MD5", hint="an MD5 is written as 32 hex digits here")
        for name in checksums:
            if name not in ALGORITHMS:
                raise Invalid(f"the checksum {name} is not known", hint=f"known are {', '.join(ALGORITHMS)}")
        self._md5 = md5
        self._checksums = checksums

    def hashers(self) -> dict[str, Hasher]:
        return {name: ALGORITHMS[name]() for name in self._checksums}

    def verified(self, path: str, md5: str, hashers: Mapping[str, Hasher]) -> dict[str, str]:
        """The additional checksums that were found. Raises BadDigest where one is not as declared."""
        if self._md5 is not None and self._md5 != md5:
            raise BadDigest(f"{path!r}: the body's MD5 is {md5}, but {self._md5} was declared")
        found = {name: b64encode(hasher.digest()).decode() for name, hasher in hashers.items()}
        for name, value in self._checksums.items():
            if value is not None and value != found[name]:
                raise BadDigest(f"{path!r}: the body's {name} is {found[name]}, but {value} was declared")
        return found
