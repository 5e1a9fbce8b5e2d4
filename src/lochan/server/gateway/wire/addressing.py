"""Says which bucket and key a request means: `host/bucket/key`, or `bucket.host/key` if a domain is configured."""

import re
from functools import lru_cache
from typing import NamedTuple

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.signed_request import decode_uri

KEY_BYTES_MAX = 1024

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{2,62}")


class S3Address(NamedTuple):
    """What a request addresses. A part that it does not name is empty: without a bucket it means the service, and
    without a key the bucket."""

    bucket: str
    key: str
    in_host: bool  # whether the host named the bucket, which V2 then signs in front of the path


class CopySource(NamedTuple):
    bucket: str
    key: str
    version: str | None


def parse_address(host: str, path: str, domains: tuple[str, ...] = ()) -> S3Address:
    """Parses an address. `path` is as on the wire. Raises InvalidURI or KeyTooLongError. `checked_bucket` checks the
    name of the bucket.

    Only one slash divides bucket and key, and the key begins behind it: `//` and `..` are part of a key.
    """
    return parse_decoded_address(host, decode_uri(path), domains)


def parse_decoded_address(host: str, path: str, domains: tuple[str, ...] = ()) -> S3Address:
    """Does the same for a path that the server has decoded."""
    path = path.removeprefix("/")
    bucket = host_bucket(host, domains)
    if bucket:
        return S3Address(bucket, checked_key(path), True)
    bucket, _, key = path.partition("/")
    return S3Address(bucket, checked_key(key), False)


@lru_cache(maxsize=1024)
def host_bucket(host: str, domains: tuple[str, ...]) -> str:
    """Returns what is in front of a configured domain, or an empty string. The longest domain counts."""
    name = host.lower()
    if not name.startswith("["):  # an IPv6 address has colons of its own, and no bucket
        name = name.rpartition(":")[0] if name.rpartition(":")[2].isdecimal() and ":" in name else name
    name = name.rstrip(".")
    suffixes = sorted((f".{domain.lower().strip('.')}" for domain in domains), key=len, reverse=True)
    if any(name == suffix[1:] for suffix in suffixes):
        return ""
    return next((name.removesuffix(suffix) for suffix in suffixes if name.endswith(suffix)), "")


def checked_key(key: str) -> str:
    """Returns the key. Raises KeyTooLongError."""
    if len(key) * 4 > KEY_BYTES_MAX and (size := len(key.encode("utf-8", "surrogatepass"))) > KEY_BYTES_MAX:
        raise S3Error("KeyTooLongError", Size=str(size), MaxSizeAllowed=str(KEY_BYTES_MAX))
    return key


def checked_bucket(name: str) -> str:
    """Returns the name. Raises InvalidBucketName for a name that no bucket can have. The lake knows which of the others
    exist."""
    if not _BUCKET.fullmatch(name) or ".." in name:
        raise S3Error("InvalidBucketName", BucketName=name[:256])
    return name


def copy_source(header: str) -> CopySource:
    """Parses `x-amz-copy-source`: `/bucket/key`, encoded, with an optional `?versionId=`."""
    path, _, version = header.partition("?versionId=")
    bucket, _, key = decode_uri(path).removeprefix("/").partition("/")
    if not bucket or not key:
        raise S3Error(
            "InvalidArgument",
            "Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
            ArgumentName="x-amz-copy-source",
            ArgumentValue=header[:1024],
        )
    return CopySource(bucket, checked_key(key), decode_uri(version) if version else None)
