"""Who asks: the signature of a request, by the secret of its key, in a state of the lake that is new enough (A1)."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.known_signature import recognised
from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.authenticate import claimed
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.form import FORM_TYPE
from lochan.server.gateway.wire.identity import Claim
from lochan.server.gateway.wire.signature_v4 import HeaderV4
from lochan.server.gateway.wire.signed_request import SignedRequest

_MICROSECONDS = 1_000_000


async def authenticate(gateway: Gateway, request: Request, *, form: bool = False) -> None:
    """Who it is, is noted in the request. Raises AccessDenied for an anonymous one, and what the signature deserves.
    A `form` may carry its signature inside, for its operation to check: until then it is nobody's, who may nothing."""
    if await recognised(gateway, request, now(gateway)):
        gateway.guard.authenticated(request.source)
        return
    bucket = request.bucket if request.bucket_in_host else None
    signed = SignedRequest.of_decoded_path(request.method, request.path, request.raw_query, request.raw_headers, bucket)
    claim = claimed(signed, gateway.realm, now(gateway))
    if claim is not None:
        try:
            await identify(gateway, request, claim)
        except S3Error as error:
            raise _unreadable(request, error) or error from None
        if isinstance(claim, HeaderV4):
            _learn(gateway, request, claim)
    elif not form or not request.headers.get("content-type", "").lower().startswith(FORM_TYPE):
        raise S3Error("AccessDenied")


async def identify(gateway: Gateway, request: Request, claim: Claim) -> None:
    """Raises SignatureDoesNotMatch, InvalidAccessKeyId, and InvalidToken: no key here is one of a session."""
    try:
        await _verify(gateway, request, claim)
    except S3Error:
        # For either error, so that neither takes longer; and a key may have come back with another secret.
        if not await gateway.access.freshness.catch_up(request.arrived):
            raise
        await _verify(gateway, request, claim)
    if request.identity is not None and request.identity.session_token:
        raise S3Error("InvalidToken")
    gateway.guard.authenticated(request.source)


async def _verify(gateway: Gateway, request: Request, claim: Claim) -> None:
    found = await gateway.access.find_key(claim.access_key_id, request.arrived)
    request.identity = claim.verify(None if found is None else found.secret)
    assert found is not None, "without a secret no signature holds"
    request.user = found.user


def _learn(gateway: Gateway, request: Request, claim: HeaderV4) -> None:
    """So that the next request of this client is known by its plan."""
    access = gateway.access
    key = access.folded().key(claim.access_key_id)
    secret = None if key is None else access.unsealed.get(key.sealed)
    if key is not None and secret is not None:
        gateway.plans.learn(request.headers["authorization"], claim.signed, key, secret)


def _unreadable(request: Request, error: S3Error) -> S3Error | None:
    """A path that is no UTF-8 disagrees with its signature, for of such bytes only U+FFFD is known here. A key that has
    this letter in truth is signed with it."""
    if error.code != "SignatureDoesNotMatch" or "\ufffd" not in request.path:
        return None
    return S3Error("InvalidURI", "The path is no valid UTF-8, or its signature does not match.", URI=request.path)


def now(gateway: Gateway) -> float:
    """As signatures count: seconds since 1970."""
    return gateway.clock.wall() / _MICROSECONDS
