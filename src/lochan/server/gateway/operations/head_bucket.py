"""HeadBucket: whether the repository is there."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.places import bucket_place
from lochan.server.gateway.request import Request, Response


async def handle(gateway: Gateway, request: Request) -> Response:
    await bucket_place(gateway, request, "fs:ReadRepository")
    return Response(200, [("x-amz-bucket-region", gateway.settings.region)])
