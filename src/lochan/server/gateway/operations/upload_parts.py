"""The parts of an upload: put, copied from an object that is there, and listed."""

from collections.abc import Iterator
from contextlib import contextmanager

from lochan.errors import NotFound
from lochan.server.gateway.find_object import ObjectAddress, object_address
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.incoming_body import RequestBody
from lochan.server.gateway.operations.copy_object import found_source
from lochan.server.gateway.request import Response, S3Request, number, page_size, part_number, xml
from lochan.server.gateway.wire import xml_uploads
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.ranges import ByteSpan, copied_span
from lochan.server.gateway.wire.xml_listings import S3Owner
from lochan.server.gateway.wire.xml_uploads import PartListing, UploadedPart, copied
from lochan.versioning.bodies.digests import digests
from lochan.versioning.state.uploads import OpenUpload
from lochan.versioning.uploads import copy_part, put_part


def found_upload(address: ObjectAddress, request: S3Request, *, to_abort: bool = False) -> OpenUpload:
    """Raises NoSuchUpload, also for one of another object, and of a branch that is gone, unless it is to be aborted.
    The refs are of this request's moment."""
    id = request.query["uploadId"]
    upload = address.repository.folded().uploads.find(id)
    if upload is None or not is_of(upload, address) or not (address.resolved or to_abort):
        raise S3Error("NoSuchUpload", UploadId=id[:128])
    return upload


def is_of(upload: OpenUpload, address: ObjectAddress) -> bool:
    opened = upload.opened
    return (opened.branch, opened.workspace, opened.path) == (address.branch, address.workspace, address.path)


@contextmanager
def still_open(upload: OpenUpload) -> Iterator[None]:
    """Raises NoSuchUpload for one that another has completed or aborted meanwhile."""
    try:
        yield
    except NotFound:
        raise S3Error("NoSuchUpload", UploadId=upload.id) from None


async def upload_part(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, "fs:WriteObject")
    which = part_number(request)
    upload = found_upload(address, request)
    incoming = RequestBody(request)
    wanted = incoming.checksums or ({upload.opened.checksum: None} if upload.opened.checksum else {})
    with still_open(upload):
        part = await put_part(
            address.repository,
            upload.id,
            which,
            incoming.pieces(),
            actor=gateway.actor(request),
            expected_md5=incoming.expected_md5,
            checksums=wanted,
            verify=incoming.check_trailer,
            whole=incoming.hand_over(),
        )
    sums = [(f"x-amz-checksum-{name.lower()}", value) for name, value in part.checksums.items()]
    return Response(200, [("etag", f'"{part.etag}"'), *sums, ("content-length", "0")])


async def upload_part_copy(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, "fs:WriteObject")
    which = part_number(request)
    upload = found_upload(address, request)
    source = await found_source(gateway, request)
    text = request.headers.get("x-amz-copy-source-range")
    span = copied_span(text, source.entry.size) if text else ByteSpan(0, source.entry.size)
    actor, id = gateway.actor(request), upload.id
    algorithms = (upload.opened.checksum,) if upload.opened.checksum else ()
    read = source.address.repository.reader.read(source.entry, span.start, span.end)
    with still_open(upload):
        if source.address.repository is address.repository:
            etag, sums = await digests(read, algorithms)
            part = await copy_part(
                address.repository,
                id,
                which,
                source.entry,
                span.start,
                span.end,
                etag,
                read_at=source.read_at,
                actor=actor,
                checksums=sums,
            )
        else:
            wanted = dict.fromkeys(algorithms)
            part = await put_part(address.repository, id, which, read, actor=actor, checksums=wanted)
    return xml(copied(part.etag, part.time, part.checksums, of_part=True))


async def list_parts(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, "fs:ReadObject")
    upload = found_upload(address, request)
    limit = page_size(request, "max-parts")
    marker = number(request, "part-number-marker", 0, 0, (1 << 31) - 1)
    behind = [part for part in address.repository.folded().uploads.parts(upload.id) if part.number > marker]
    page = behind[:limit]
    opened = upload.opened
    checksum = opened.checksum or None, opened.checksum_type or None
    return xml(
        xml_uploads.list_parts(
            PartListing(
                bucket=request.bucket,
                upload=xml_uploads.ListedUpload(request.key, upload.id, upload.time, *checksum),
                parts=[UploadedPart(part.number, part.time, part.etag, part.size, part.checksums) for part in page],
                marker=marker,
                next_marker=page[-1].number if page else None,
                max_parts=limit,
                truncated=len(behind) > limit,
                owner=S3Owner(upload.user, upload.user),
                encoding_type=request.query.get("encoding-type"),
            )
        )
    )
