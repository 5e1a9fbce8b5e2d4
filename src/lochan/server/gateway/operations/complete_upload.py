"""CompleteMultipartUpload: the parts become one object, and asked again it answers the same."""

from lochan.errors import NotFound
from lochan.server.gateway.find_object import ObjectAddress, check_writable, find_entry, object_address
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.incoming_body import RequestBody
from lochan.server.gateway.operations.put_object import check
from lochan.server.gateway.operations.upload_parts import is_of
from lochan.server.gateway.request import Response, S3Request, xml
from lochan.server.gateway.wire.checksums import HASHERS, declared_checksum, of_parts, type_of
from lochan.server.gateway.wire.conditions import NONE, conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_in import parse_complete
from lochan.server.gateway.wire.xml_uploads import completed
from lochan.versioning.state.uploads import OpenUpload, UploadPart
from lochan.versioning.uploads import PartRequest, complete

_BODY_BYTES_MAX = 4 << 20


async def complete_multipart_upload(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, "fs:WriteObject")
    id = request.query["uploadId"]
    if address.resolved is None:
        raise S3Error("NoSuchUpload", UploadId=id[:128])
    check_writable(address)
    parts = parse_complete(await RequestBody(request, _BODY_BYTES_MAX, is_object=False).whole())
    uploads = address.repository.folded().uploads
    upload = uploads.find(id)
    if upload is not None and not is_of(upload, address):
        raise S3Error("NoSuchUpload", UploadId=id[:128])
    sums: dict[str, str] = {}
    if upload is not None:
        put = [uploads.part(id, part.number) for part in parts]
        _check_size(put, request)
        sums = _checksums(upload, put, request)
    wanted = conditions(request.headers)
    if address.workspace and wanted != NONE:  # one writer's: what they look at is what is there
        check(wanted, await find_entry(address))
    try:
        entry = await complete(
            address.repository,
            id,
            [PartRequest(part.number, part.etag, part.checksums) for part in parts],
            actor=gateway.actor(request),
            check=lambda there: check(wanted, there),
            checksums=sums,
        )
    except NotFound:
        raise S3Error("NoSuchUpload", UploadId=id[:128]) from None
    if upload is None:
        sums = await _known_checksums(address, entry.etag)
    kind = type_of(sums)
    return xml(completed(f"/{request.bucket}/{request.key}", request.bucket, request.key, entry.etag, sums, kind))


async def _known_checksums(address: ObjectAddress, etag: str) -> dict[str, str]:
    """Of an upload that was completed before: those of its object, as long as that is there."""
    there = await find_entry(address)
    if there is None or there.etag != etag:
        return {}
    return {name: value for name, value in there.checksums.items() if name in HASHERS}


def _check_size(parts: list[UploadPart | None], request: S3Request) -> None:
    """Raises InvalidRequest where the client expects another size than its parts have together."""
    expected = request.headers.get("x-amz-mp-object-size")
    if expected is None:
        return
    size = sum(part.size for part in parts if part is not None)
    if not (expected.isascii() and expected.isdecimal() and len(expected) < 20 and int(expected) == size):
        raise S3Error(
            "InvalidRequest",
            f"The provided 'x-amz-mp-object-size' header value {expected[:32]} is not the size of the parts: {size}",
        )


def _checksums(upload: OpenUpload, parts: list[UploadPart | None], request: S3Request) -> dict[str, str]:
    """Of the whole object, from those of its parts. Raises BadDigest where the client has another."""
    name = upload.opened.checksum
    checksum = declared_checksum(request.headers, whole=True)
    if checksum is not None and checksum.value is not None and checksum.algorithm != name:
        raise S3Error("InvalidRequest", f"The upload was not created with the checksum algorithm {checksum.algorithm}.")
    if name and request.headers.get("x-amz-checksum-type", upload.opened.checksum_type) != upload.opened.checksum_type:
        raise S3Error("InvalidRequest", f"The upload was created with the checksum type {upload.opened.checksum_type}.")
    known = [(part.checksums[name], part.size) for part in parts if part is not None and name in part.checksums]
    if not name or len(known) != len(parts):
        return {}
    found = of_parts(name, upload.opened.checksum_type, known)
    declared = None if checksum is None else checksum.value
    if declared is not None and declared not in (found, found.partition("-")[0]):
        raise S3Error("BadDigest", f"The {name} you specified did not match the calculated checksum.")
    return {name: found}
