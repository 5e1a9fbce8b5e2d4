"""CompleteMultipartUpload: the parts become one object, and asked again it answers the same."""

from lochan.errors import NotFound
from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import find
from lochan.server.gateway.places import check_writable, object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import Incoming
from lochan.server.gateway.uploading import is_of
from lochan.server.gateway.wire.checksums import of_parts
from lochan.server.gateway.wire.conditions import NONE, conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_in import parse_complete
from lochan.server.gateway.wire.xml_uploads import completed
from lochan.server.gateway.writing import check
from lochan.versioning.state.uploads import Part, Upload
from lochan.versioning.uploads import Wanted, complete

_BODY_BYTES_MAX = 4 << 20


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, "fs:WriteObject")
    check_writable(place)
    id = request.query["uploadId"]
    parts = parse_complete(await Incoming(request, _BODY_BYTES_MAX).whole())
    uploads = place.repository.folded().uploads
    upload = uploads.find(id)
    if upload is not None and not is_of(upload, place):
        raise S3Error("NoSuchUpload", UploadId=id[:128])
    sums = {} if upload is None else _checksums(upload, [uploads.part(id, part.number) for part in parts], request)
    wanted = conditions(request.headers)
    if place.workspace and wanted != NONE:  # one writer's: what they look at is what is there
        check(wanted, await find(place))
    try:
        entry = await complete(
            place.repository,
            id,
            [Wanted(part.number, part.etag, part.checksums) for part in parts],
            actor=gateway.actor(request),
            check=lambda there: check(wanted, there),
            checksums=sums,
        )
    except NotFound:
        raise S3Error("NoSuchUpload", UploadId=id[:128]) from None
    kind = upload.opened.checksum_type if upload is not None and sums else None
    return xml(completed(f"/{request.bucket}/{request.key}", request.bucket, request.key, entry.etag, sums, kind))


def _checksums(upload: Upload, parts: list[Part | None], request: Request) -> dict[str, str]:
    """Of the whole object, from those of its parts. Raises BadDigest where the client has another."""
    name = upload.opened.checksum
    known = [(part.checksums[name], part.size) for part in parts if part is not None and name in part.checksums]
    if not name or len(known) != len(parts):
        return {}
    found = of_parts(name, upload.opened.checksum_type, known)
    declared = request.headers.get(f"x-amz-checksum-{name.lower()}")
    if declared is not None and declared != found:
        raise S3Error("BadDigest", f"The {name} you specified did not match the calculated checksum.")
    return {name: found}
