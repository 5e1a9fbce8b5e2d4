"""PostObject: a form of a browser, with a policy that its author signed."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.errors import S3Error


async def handle(gateway: Gateway, request: Request) -> Response:
    raise S3Error("NotImplemented", "Form uploads are not taken yet.")
