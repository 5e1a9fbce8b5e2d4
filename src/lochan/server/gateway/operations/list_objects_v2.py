"""ListObjectsV2: paged by a token, which is the last key of the page before, in base64."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.listing import Listed, answer
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import list_objects_v2

_TOKEN = re.compile(r"[A-Za-z0-9_-]+={0,2}")


async def handle(gateway: Gateway, request: Request) -> Response:
    query = request.query
    if query["list-type"] != "2":
        raise S3Error(
            "InvalidArgument", "Invalid list-type", ArgumentName="list-type", ArgumentValue=query["list-type"]
        )
    token, start_after = query.get("continuation-token"), query.get("start-after")
    after = _key(token) if token is not None else start_after or ""
    owner = query.get("fetch-owner", "").lower() == "true"

    def render(found: Listed) -> bytes:
        next = None if found.next is None else urlsafe_b64encode(found.next.encode()).decode()
        return list_objects_v2(found.listing, start_after, token, next)

    return await answer(gateway, request, after, render, with_owner=owner)


def _key(token: str) -> str:
    try:
        if not _TOKEN.fullmatch(token):
            raise ValueError
        return urlsafe_b64decode(token.encode()).decode()
    except ValueError:
        raise S3Error(
            "InvalidArgument", "The continuation token provided is incorrect", ArgumentName="continuation-token"
        ) from None
