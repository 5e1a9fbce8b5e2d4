"""CopyObject: within a repository only metadata move; between repositories the bytes do, for they share no address."""

from typing import NamedTuple

from msgspec.structs import replace

from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.server.gateway.answers import xml
from lochan.server.gateway.digests import digests
from lochan.server.gateway.gateway import KEY_HEADER, Gateway
from lochan.server.gateway.looking import current, find, look_up
from lochan.server.gateway.places import Place, check_writable, object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import told
from lochan.server.gateway.wire.addressing import copy_source
from lochan.server.gateway.wire.checksums import HASHERS
from lochan.server.gateway.wire.conditions import COPY_PREFIX, conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_uploads import copied
from lochan.server.gateway.writing import check, stage
from lochan.versioning.bulk import check_present
from lochan.versioning.copy import retry_race
from lochan.versioning.transfer import transfer_body


class Source(NamedTuple):
    place: Place
    entry: Entry
    read_at: int  # the state that it was read from


async def handle(gateway: Gateway, request: Request) -> Response:
    target = await object_place(gateway, request, "fs:WriteObject")
    check_writable(target)
    entry = await retry_race(lambda: _copy(gateway, request, target))
    return xml(copied(entry.etag, entry.mtime, entry.checksums))


async def _copy(gateway: Gateway, request: Request, target: Place) -> Entry:
    """Raises ConcurrentCommit where the state has passed that the source was read from."""
    source = await found_source(gateway, request)
    said = _said(request, source, target)
    wanted = conditions(request.headers)
    if (wanted.match is not None or wanted.none_match is not None) and KEY_HEADER not in request.headers:
        check(wanted, await find(target))  # before bytes are moved; and again when it is appended
    checksum = _checksum(request)
    entry = await _summed(source, await _copied(gateway, source, target, said), checksum)
    await stage(gateway, request, target, entry, read_at=source.read_at if _same(source.place, target) else 0)
    return entry


async def found_source(gateway: Gateway, request: Request) -> Source:
    """Raises NoSuchKey, and PreconditionFailed where the source is not as the request wants it."""
    told_source = copy_source(request.headers["x-amz-copy-source"])
    if told_source.version not in (None, "null"):
        raise S3Error("NoSuchVersion")
    place = await object_place(gateway, request, "fs:ReadObject", told_source.bucket, told_source.key)
    entry = await look_up(place)
    conditions(request.headers, COPY_PREFIX).check_copy(current(entry))
    return Source(place, entry, place.number)


def _said(request: Request, source: Source, target: Place) -> Entry:
    """The source's entry, with what the copy is to say."""
    directive = request.headers.get("x-amz-metadata-directive", "COPY").upper()
    entry = source.entry
    if directive == "COPY":
        if (source.place.ref, entry.path) == (target.ref, target.path) and _same(source.place, target):
            raise S3Error(
                "InvalidRequest",
                "This copy request is illegal because it is trying to copy an object to itself without changing the "
                "object's metadata, storage class, website redirect location or encryption attributes.",
            )
        return replace(entry, path=target.path)
    if directive != "REPLACE":
        raise S3Error("InvalidArgument", "Unknown metadata directive.", ArgumentName="x-amz-metadata-directive")
    said = told(request.headers)
    return replace(
        entry, path=target.path, content_type=said.content_type, headers=said.headers, metadata=said.metadata
    )


def _checksum(request: Request) -> str:
    """The name of the one that the request asks for, if any."""
    name = request.headers.get("x-amz-checksum-algorithm", "").upper()
    if name and name not in HASHERS:
        raise S3Error("InvalidRequest", f"Checksum algorithm provided is unsupported: {name[:32]}")
    return name


async def _summed(source: Source, copied: Entry, checksum: str) -> Entry:
    """With this checksum, of the whole object. Unless it is known, the source is read."""
    if not checksum or "-" not in copied.checksums.get(checksum, "-"):
        return copied
    _, sums = await digests(source.place.repository.reader.read(source.entry), (checksum,))
    kept = {other: value for other, value in copied.checksums.items() if other not in HASHERS}
    return replace(copied, checksums={**kept, **sums})


async def _copied(gateway: Gateway, source: Source, target: Place, said: Entry) -> Entry:
    if _same(source.place, target):
        await check_present(target.repository.reader.head, table_of([said]))
        return replace(said, mtime=gateway.clock.wall())
    _, mint = await target.repository.refs()
    return await transfer_body(source.place.repository, said, target.repository, target.path, mint)


def _same(source: Place, target: Place) -> bool:
    return source.repository is target.repository
