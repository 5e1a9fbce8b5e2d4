"""CopyObject: within a repository only metadata move; between repositories the bytes do, for they share no address."""

from typing import NamedTuple

from msgspec.structs import replace

from lochan.formats.entry import Entry
from lochan.server.gateway.find_object import (
    ObjectAddress,
    check_writable,
    current,
    find_entry,
    get_entry,
    object_address,
)
from lochan.server.gateway.gateway import KEY_HEADER, Gateway
from lochan.server.gateway.object_headers import kept_headers
from lochan.server.gateway.operations.put_object import check, stage
from lochan.server.gateway.request import Response, S3Request, xml
from lochan.server.gateway.wire.addressing import copy_source
from lochan.server.gateway.wire.checksums import HASHERS
from lochan.server.gateway.wire.conditions import COPY_PREFIX, conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_uploads import copied
from lochan.versioning.bodies.digests import digests
from lochan.versioning.copy import retry_race
from lochan.versioning.transfer import copied_entry


class SourceObject(NamedTuple):
    address: ObjectAddress
    entry: Entry
    read_at: int  # the state that it was read from


async def copy_object(gateway: Gateway, request: S3Request) -> Response:
    target = await object_address(gateway, request, "fs:WriteObject")
    check_writable(target)
    entry = await retry_race(lambda: _copy(gateway, request, target))
    return xml(copied(entry.etag, entry.mtime, entry.checksums))


async def _copy(gateway: Gateway, request: S3Request, target: ObjectAddress) -> Entry:
    """Raises ConcurrentCommit where the state has passed that the source was read from."""
    source = await found_source(gateway, request)
    entry = _target_entry(request, source, target)
    wanted = conditions(request.headers)
    if (wanted.match is not None or wanted.none_match is not None) and KEY_HEADER not in request.headers:
        check(wanted, await find_entry(target))  # before bytes are moved; and again when it is appended
    checksum = _checksum(request)
    entry = await copied_entry(source.address.repository, entry, target.repository, target.path)
    entry = await _with_checksum(source, entry, checksum)
    await stage(gateway, request, target, entry, read_at=source.read_at if _same(source.address, target) else 0)
    return entry


async def found_source(gateway: Gateway, request: S3Request) -> SourceObject:
    """Raises NoSuchKey, and PreconditionFailed where the source is not as the request wants it."""
    named = copy_source(request.headers["x-amz-copy-source"])
    if named.version not in (None, "null"):
        raise S3Error("NoSuchVersion")
    address = await object_address(gateway, request, "fs:ReadObject", named.bucket, named.key)
    entry = await get_entry(address)
    conditions(request.headers, COPY_PREFIX).check_copy(current(entry))
    return SourceObject(address, entry, address.number)


def _target_entry(request: S3Request, source: SourceObject, target: ObjectAddress) -> Entry:
    """The source's entry, with what the copy is to say."""
    directive = request.headers.get("x-amz-metadata-directive", "COPY").upper()
    entry = source.entry
    if directive == "COPY":
        if (source.address.ref, entry.path) == (target.ref, target.path) and _same(source.address, target):
            raise S3Error(
                "InvalidRequest",
                "This copy request is illegal because it is trying to copy an object to itself without changing the "
                "object's metadata, storage class, website redirect location or encryption attributes.",
            )
        return replace(entry, path=target.path)
    if directive != "REPLACE":
        raise S3Error("InvalidArgument", "Unknown metadata directive.", ArgumentName="x-amz-metadata-directive")
    kept = kept_headers(request.headers)
    return replace(
        entry, path=target.path, content_type=kept.content_type, headers=kept.headers, metadata=kept.metadata
    )


def _checksum(request: S3Request) -> str:
    """The name of the one that the request asks for, if any."""
    name = request.headers.get("x-amz-checksum-algorithm", "").upper()
    if name and name not in HASHERS:
        raise S3Error("InvalidRequest", f"Checksum algorithm provided is unsupported: {name[:32]}")
    return name


async def _with_checksum(source: SourceObject, copied: Entry, checksum: str) -> Entry:
    """With this checksum, of the whole object. Unless it is known, the source is read."""
    if not checksum or "-" not in copied.checksums.get(checksum, "-"):
        return copied
    _, sums = await digests(source.address.repository.reader.read(source.entry), (checksum,))
    kept = {other: value for other, value in copied.checksums.items() if other not in HASHERS}
    return replace(copied, checksums={**kept, **sums})


def _same(source: ObjectAddress, target: ObjectAddress) -> bool:
    return source.repository is target.repository
