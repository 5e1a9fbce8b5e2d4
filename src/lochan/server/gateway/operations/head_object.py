"""HeadObject: what GetObject would say, without the body."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current, entry_headers, look_up
from lochan.server.gateway.operations.get_object import ACTION, wanted
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.conditions import conditions
from lochan.server.gateway.wire.ranges import Span


async def handle(gateway: Gateway, request: Request) -> Response:
    entry = await look_up(await object_place(gateway, request, ACTION, root=True))
    conditions(request.headers).check_read(current(entry))
    span, extra = wanted(entry, request)
    start, end = span or Span(0, entry.size)
    headers = entry_headers(entry, request, whole=span is None)
    headers.append(("content-length", str(end - start)))
    headers += extra
    return Response(206 if span is not None else 200, headers)
