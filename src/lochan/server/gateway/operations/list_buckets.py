"""ListBuckets: the repositories that the user may see."""

from lochan.access.decide import visible
from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.numbers import number
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.xml_listings import Owner, list_buckets

_PAGE_MAX = 10_000


async def handle(gateway: Gateway, request: Request) -> Response:
    query = request.query
    repositories = await gateway.lake.repositories()
    access = await gateway.access.authorised_state(request.arrived)
    prefix, after = query.get("prefix"), query.get("continuation-token", "")
    shown = [
        each
        for each in visible(access, request.user, repositories)
        if each.name.startswith(prefix or "") and each.name > after
    ]
    limit = number(request, "max-buckets", _PAGE_MAX, 1, _PAGE_MAX)
    page = shown[:limit]
    next = page[-1].name if len(shown) > limit else None
    owner = Owner(request.user, request.user)
    return xml(list_buckets(owner, [(each.name, each.created) for each in page], next, prefix))
