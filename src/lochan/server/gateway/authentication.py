"""Who asks: the signature of a request, by the secret of its key, in a state of the lake that is new enough (A1)."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.authenticate import claimed
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.form import FORM_TYPE
from lochan.server.gateway.wire.identity import Claim
from lochan.server.gateway.wire.signed_request import SignedRequest

_MICROSECONDS = 1_000_000


async def authenticate(gateway: Gateway, request: Request, *, form: bool = False) -> None:
    """Who it is, is noted in the request. Raises AccessDenied for an anonymous one, and what the signature deserves.
    A `form` may carry its signature inside, for its operation to check: until then it is nobody's, who may nothing."""
    bucket = request.bucket if request.bucket_in_host else None
    signed = SignedRequest.of_decoded_path(request.method, request.path, request.raw_query, request.raw_headers, bucket)
    claim = claimed(signed, gateway.realm, now(gateway))
    if claim is not None:
        await identify(gateway, request, claim)
    elif not form or not request.headers.get("content-type", "").lower().startswith(FORM_TYPE):
        raise S3Error("AccessDenied")


async def identify(gateway: Gateway, request: Request, claim: Claim) -> None:
    """Raises SignatureDoesNotMatch or InvalidAccessKeyId."""
    found = await gateway.access.find_key(claim.access_key_id, request.arrived)
    request.identity = claim.verify(None if found is None else found.secret)
    assert found is not None, "without a secret no signature holds"
    request.user = found.user


def now(gateway: Gateway) -> float:
    """As signatures count: seconds since 1970."""
    return gateway.clock.wall() / _MICROSECONDS
