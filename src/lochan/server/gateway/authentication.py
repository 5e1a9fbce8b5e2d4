"""Who asks: the signature of a request, by the secret of its key, in a state of the lake that is new enough (A1)."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.authenticate import claimed
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.signed_request import SignedRequest

_MICROSECONDS = 1_000_000


async def authenticate(gateway: Gateway, request: Request) -> None:
    """Who it is, is noted in the request. Raises AccessDenied for an anonymous one, and what the signature deserves."""
    bucket = request.bucket if request.bucket_in_host else None
    signed = SignedRequest.of_decoded_path(request.method, request.path, request.raw_query, request.raw_headers, bucket)
    claim = claimed(signed, gateway.realm, gateway.clock.wall() / _MICROSECONDS)
    if claim is None:
        raise S3Error("AccessDenied")
    found = await gateway.access.find_key(claim.access_key_id, request.arrived)
    request.identity = claim.verify(None if found is None else found.secret)
    assert found is not None, "without a secret no signature holds"
    request.user = found.user
