"""AbortMultipartUpload."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.uploading import found_upload, still_open
from lochan.versioning.uploads import abort


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, "fs:WriteObject")
    upload = found_upload(place, request, to_abort=True)
    with still_open(upload):
        await abort(place.repository, upload.id, actor=gateway.actor(request))
    return Response(204, [])
