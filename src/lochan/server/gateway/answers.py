"""An XML answer."""

from lochan.server.gateway.request import Response

XML = ("content-type", "application/xml")


def xml(body: bytes, status: int = 200) -> Response:
    return Response(status, [XML, ("content-length", str(len(body)))], body)
