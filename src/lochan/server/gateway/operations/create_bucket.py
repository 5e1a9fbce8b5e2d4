"""CreateBucket: a new repository."""

from lochan.access import resources
from lochan.errors import AlreadyExists, Invalid
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.places import require
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import Incoming
from lochan.server.gateway.wire.addressing import checked_bucket
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_in import parse_create_bucket

_BODY_BYTES_MAX = 64 << 10


async def handle(gateway: Gateway, request: Request) -> Response:
    name = checked_bucket(request.bucket)
    if name.endswith(("-", ".")):  # repositories may be called so, buckets of S3 may not
        raise S3Error("InvalidBucketName", BucketName=name)
    await require(gateway, request, "fs:CreateRepository", resources.repository(name))
    if "content-length" in request.headers and (body := await Incoming(request, _BODY_BYTES_MAX).whole()):
        parse_create_bucket(body)
    try:
        await gateway.lake.create_repository(name, dotted=gateway.settings.flat, actor=gateway.actor(request))
    except AlreadyExists:
        found = gateway.lake.known_repository(name)
        mine = found is not None and found.created_by == request.user
        raise S3Error("BucketAlreadyOwnedByYou" if mine else "BucketAlreadyExists", BucketName=name) from None
    except Invalid as error:
        raise S3Error("InvalidBucketName", error.message, BucketName=name) from None
    return Response(200, [("location", f"/{name}"), ("content-length", "0")])
