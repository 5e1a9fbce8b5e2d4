"""UploadPart: a body that becomes some blocks of an object, once the upload is completed."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.numbers import part_number
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import Incoming
from lochan.server.gateway.uploading import found_upload, still_open
from lochan.versioning.uploads import put_part


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, "fs:WriteObject")
    which = part_number(request)
    upload = found_upload(place, request)
    incoming = Incoming(request)
    wanted = incoming.checksums or ({upload.opened.checksum: None} if upload.opened.checksum else {})
    with still_open(upload):
        part = await put_part(
            place.repository,
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
