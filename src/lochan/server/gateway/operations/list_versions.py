"""ListObjectVersions in its unversioned form: each key once. History is in the refs."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.listing import Listed, answer
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.xml_listings import list_versions


async def handle(gateway: Gateway, request: Request) -> Response:
    marker, version = request.query.get("key-marker", ""), request.query.get("version-id-marker", "")

    def render(found: Listed) -> bytes:
        return list_versions(found.listing, marker, version, found.next)

    return await answer(gateway, request, marker, render, with_owner=True)
