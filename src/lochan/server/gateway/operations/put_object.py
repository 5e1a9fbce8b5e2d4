"""PutObject: a body, durable and seen by everybody when it is answered."""

from lochan.api.conditions import NO_CONDITIONS
from lochan.api.options import PutOptions
from lochan.api.results import ObjectInfo
from lochan.server.gateway.conditions import write_conditions
from lochan.server.gateway.find_object import ObjectAddress, object_address, open_object
from lochan.server.gateway.gateway import Gateway, idempotency_key
from lochan.server.gateway.incoming_body import FormBody, RequestBody
from lochan.server.gateway.object_headers import ObjectHeaders, checksum_headers, kept_headers
from lochan.server.gateway.request import Response, S3Request
from lochan.server.gateway.wire.errors import S3Error

ACTION = "fs:WriteObject"


async def put_object(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, ACTION, root=True, blind=True)
    address.writable()
    incoming = RequestBody(request)
    if address.path:
        made = await put(request, address, kept_headers(request.headers), incoming)
        etag, checksums = made.etag, checksum_headers(made.checksums)
    else:
        etag, checksums = await _root(address, incoming), []
    return Response(200, [("etag", f'"{etag}"'), *checksums, ("content-length", "0")])


async def _root(address: ObjectAddress, incoming: RequestBody) -> str:
    """A client that makes each folder on the way to a file makes this one too, and it is there."""
    if incoming.length:
        raise S3Error("InvalidArgument", f"The key has no path after {address.ref!r}.")
    await incoming.whole()
    return (await open_object(address, NO_CONDITIONS)).etag


async def put(
    request: S3Request, address: ObjectAddress, kept: ObjectHeaders, body: RequestBody | FormBody
) -> ObjectInfo:
    """Raises PreconditionFailed, KeyReused, BadDigest."""
    options = PutOptions(
        content_type=kept.content_type,
        headers=kept.headers,
        metadata=kept.metadata,
        conditions=write_conditions(request.headers),
    )
    return await address.writable().put(address.path, body, options, key=idempotency_key(request))
