"""ListObjects: the first version, paged by a marker."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.listing import answer
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.xml_listings import list_objects


async def handle(gateway: Gateway, request: Request) -> Response:
    marker = request.query.get("marker", "")
    return await answer(
        gateway, request, marker, lambda found: list_objects(found.listing, marker, found.next), with_owner=True
    )
