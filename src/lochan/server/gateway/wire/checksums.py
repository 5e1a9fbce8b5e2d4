"""Handles S3's additional checksums: what a request declares, and whether it holds.

A request names one algorithm. It either gives the value in a header or promises it behind the body (`x-amz-trailer`).
Values are base64. An upload in parts has either a COMPOSITE checksum (the hash of the parts' digests, with `-N`), or a
FULL_OBJECT one. Only CRCs allow the latter, because they can be joined without reading the bodies again.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final, NamedTuple

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.signature_v4 import same
from lochan.versioning.bodies.checksums import ALGORITHMS, COMPOSITE, CRCS, FULL_OBJECT

HASHERS: Final = ALGORITHMS
DIGEST_BYTES: Final[Mapping[str, int]] = {
    "CRC32": 4,
    "CRC32C": 4,
    "CRC64NVME": 8,
    "SHA1": 20,
    "SHA256": 32,
    "SHA512": 64,
    "MD5": 16,
    "XXHASH64": 8,
    "XXHASH3": 8,
    "XXHASH128": 16,
}
HEADERS: Final[Mapping[str, str]] = {f"x-amz-checksum-{name.lower()}": name for name in HASHERS}

_PREFIX = "x-amz-checksum-"
_COUNT = re.compile(r"-[0-9]{1,5}\Z")
# Headers of the same family that are not the value of a checksum.
_OTHERS = frozenset(("x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"))


class Checksum(NamedTuple):
    """A declared checksum. `value` is None if it comes in a trailer, or if it was not sent and only has to be
    computed."""

    algorithm: str
    value: str | None
    in_trailer: bool = False

    @property
    def header(self) -> str:
        return _PREFIX + self.algorithm.lower()

    def check(self, found: str) -> None:
        """Raises BadDigest if `found`, the computed value in base64, is another."""
        if self.value is not None:
            refuse_other(self.algorithm, self.value, found)


def declared_checksum(headers: Mapping[str, str], whole: bool = False) -> Checksum | None:
    """Returns what the headers (names in lower case) say about this body, or about the `whole` that an upload's parts
    make.

    Raises InvalidRequest if they do not fit together.
    """
    given = [name for name in headers if name.startswith(_PREFIX) and name not in _OTHERS]
    trailer = headers.get("x-amz-trailer", "").strip().lower()
    if len(given) + bool(trailer) > 1:
        raise S3Error(
            "InvalidRequest", "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
        )
    named = _named_algorithm(headers.get("x-amz-sdk-checksum-algorithm") or headers.get("x-amz-checksum-algorithm"))
    if not given and not trailer:
        return Checksum(named, None) if named else None
    found = HEADERS.get(trailer or given[0])
    if found is None:
        what = "value specified in the x-amz-trailer header" if trailer else f"header {given[0][:64]}"
        raise S3Error("InvalidRequest", f"The {what} is not supported")
    if named is not None and named != found:
        raise S3Error("InvalidRequest", f"Value for x-amz-sdk-checksum-algorithm header is invalid: it is not {found}.")
    return Checksum(found, None if trailer else checked_value(found, headers[given[0]], whole), bool(trailer))


def declared_type(headers: Mapping[str, str], algorithm: str | None) -> str | None:
    """Returns the checksum type of a multipart upload, FULL_OBJECT or COMPOSITE, from `x-amz-checksum-type` or S3's
    default."""
    if algorithm is None:
        return None
    given = headers.get("x-amz-checksum-type")
    if given is None:
        return FULL_OBJECT if algorithm == "CRC64NVME" else COMPOSITE
    if given not in (COMPOSITE, FULL_OBJECT):
        raise S3Error("InvalidRequest", "Value for x-amz-checksum-type header is invalid.")
    if given == (COMPOSITE if algorithm == "CRC64NVME" else FULL_OBJECT if algorithm not in CRCS else None):
        raise S3Error(
            "InvalidRequest",
            f"The {given} checksum type cannot be used with the {algorithm.lower()} checksum algorithm.",
        )
    return given


def checked_value(algorithm: str, text: str, whole: bool = False) -> str:
    """Returns the value. Raises InvalidRequest if it is not base64 of the right length. A composite one may end with
    its `-N`."""
    try:
        digest = b64decode(_COUNT.sub("", text) if whole else text, validate=True)
    except ValueError:
        digest = b""
    if len(digest) != DIGEST_BYTES[algorithm]:
        raise S3Error("InvalidRequest", f"Value for {_PREFIX}{algorithm.lower()} header is invalid.")
    return text


def content_md5(headers: Mapping[str, str]) -> bytes | None:
    """Returns the digest of Content-MD5. Raises InvalidDigest."""
    text = headers.get("content-md5")
    if text is None:
        return None
    try:
        digest = b64decode(text, validate=True)
    except ValueError:
        digest = b""
    if len(digest) != 16:
        raise S3Error("InvalidDigest", "The Content-MD5 you specified was invalid.", **{"Content-MD5": text[:64]})
    return digest


def refuse_other_md5(expected: bytes | None, found: bytes) -> None:
    """Raises BadDigest if another digest was expected."""
    if expected is not None and expected != found:
        raise S3Error(
            "BadDigest",
            "The Content-MD5 you specified did not match what we received.",
            ExpectedDigest=expected.hex(),
            CalculatedDigest=b64encode(found).decode(),
        )


def refuse_other(algorithm: str, declared: str, found: str) -> None:
    """Raises BadDigest if the declared value is not the found one."""
    if not same(declared, found):
        raise S3Error("BadDigest", f"The {algorithm} you specified did not match the calculated checksum.")


def type_of(sums: Mapping[str, str]) -> str | None:
    """Returns COMPOSITE or FULL_OBJECT, as the values themselves show, or None if there are none."""
    if not sums:
        return None
    return COMPOSITE if any("-" in value for value in sums.values()) else FULL_OBJECT


def _named_algorithm(text: str | None) -> str | None:
    """Returns the algorithm that `x-amz-sdk-checksum-algorithm` or `x-amz-checksum-algorithm` names, or None."""
    if not text:
        return None
    if text.upper() not in HASHERS:
        raise S3Error(
            "InvalidRequest",
            "Checksum algorithm provided is unsupported. Please try again with any of the "
            f"valid types: [{', '.join(HASHERS)}]",
        )
    return text.upper()
