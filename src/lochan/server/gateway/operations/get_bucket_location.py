"""GetBucketLocation: the region that the gateway says it is."""

from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.places import bucket_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.xml_out import location


async def handle(gateway: Gateway, request: Request) -> Response:
    await bucket_place(gateway, request, "fs:ReadRepository")
    return xml(location(gateway.settings.region))
