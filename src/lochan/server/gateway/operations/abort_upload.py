"""AbortMultipartUpload."""

from lochan.errors import NotFound
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.uploading import found_upload
from lochan.server.gateway.wire.errors import S3Error
from lochan.versioning.uploads import abort


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, "fs:WriteObject")
    upload = found_upload(place, request)
    try:
        await abort(place.repository, upload.id, actor=gateway.actor(request))
    except NotFound:
        raise S3Error("NoSuchUpload", UploadId=upload.id) from None
    return Response(204, [])
