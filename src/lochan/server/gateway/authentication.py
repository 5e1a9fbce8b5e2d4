"""Finds out who sent a request, by its signature and the secret of its key, in a state of the lake that is new enough
(A1)."""

from typing import NamedTuple

from lochan.access.open_access import OpenAccess
from lochan.access.tokens import SealedToken, read_token
from lochan.server.gateway.cached_verifier import SIGNATURE_DIGITS, CachedVerifier
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.form import FORM_TYPE
from lochan.server.gateway.wire.identity import ChunkSeed, Claim, Identity, Realm, SignatureForm, declared_payload
from lochan.server.gateway.wire.presigned import QueryV2, QueryV4, is_v2, is_v4
from lochan.server.gateway.wire.signature_v2 import HeaderV2
from lochan.server.gateway.wire.signature_v4 import ALGORITHM, HeaderV4
from lochan.server.gateway.wire.signed_request import (
    SignedRequest,
    canonical_path,
    canonical_query,
    decode_name,
    query_pairs,
)

MICROSECONDS = 1_000_000


async def authenticate(gateway: Gateway, request: S3Request, *, form: bool = False) -> None:
    """Sets the user of the request. Raises AccessDenied for an anonymous request, and S3's errors for a bad signature.
    A `form` may carry its signature inside, for its operation to check. Until then the request is anonymous."""
    if await recognised(gateway, request, now(gateway)):
        gateway.guard.authenticated(request.connection)
        return
    bucket = request.bucket if request.bucket_in_host else None
    signed = SignedRequest.of_decoded_path(request.method, request.path, request.raw_query, request.raw_headers, bucket)
    claim = read_claim(signed, gateway.realm, now(gateway))
    if claim is not None:
        try:
            await identify(gateway, request, claim)
        except S3Error as error:
            raise _unreadable(request, error) or error from None
        if isinstance(claim, HeaderV4):
            _learn(gateway, request, claim)
    elif not form or not request.headers.get("content-type", "").lower().startswith(FORM_TYPE):
        raise S3Error("AccessDenied")


async def identify(gateway: Gateway, request: S3Request, claim: Claim) -> None:
    """Verifies the claim and sets the user of the request. Raises SignatureDoesNotMatch, InvalidAccessKeyId,
    InvalidToken and ExpiredToken."""
    found = await verify(gateway.access, claim, request.arrived)
    request.identity, request.user, request.access_key = found.identity, found.user, found.key
    request.limits = found.limits
    gateway.guard.authenticated(request.connection)


def _learn(gateway: Gateway, request: S3Request, claim: HeaderV4) -> None:
    """Teaches the cache this client, so that its next request is verified by the cache."""
    access = gateway.access
    key = access.folded().key(claim.access_key_id)
    secret = None if key is None else access.unsealed.get(key.sealed)
    if key is not None and secret is not None:
        gateway.verifiers.learn(request.headers["authorization"], claim.signed, key, secret)


def _unreadable(request: S3Request, error: S3Error) -> S3Error | None:
    """Returns a clearer error for a path that is not UTF-8, and None for other errors. Such a path does not match its
    signature, because its bytes are known here only as U+FFFD. A key that really has this character is signed with
    it."""
    if error.code != "SignatureDoesNotMatch" or "\ufffd" not in request.path:
        return None
    return S3Error("InvalidURI", "The path is not valid UTF-8, or its signature does not match.", URI=request.path)


def now(gateway: Gateway) -> float:
    """Returns the time as signatures count it: in seconds since 1970."""
    return gateway.clock.wall() / MICROSECONDS


async def recognised(gateway: Gateway, request: S3Request, now: float) -> bool:
    """Returns whether a cached verifier lets the request in, in a state of the lake that is new enough (A1). If it
    does, it sets the user of the request. False proves nothing."""
    headers = request.headers
    authorization, payload = headers.get("authorization", ""), headers.get("x-amz-content-sha256", "")
    pairs = query_pairs(request.raw_query) if request.raw_query else []
    names = {decode_name(name) for name, _ in pairs}
    verifier = gateway.verifiers.find(authorization)
    signature, path = authorization[-SIGNATURE_DIGITS:], canonical_path(request.path.replace("%", "%25"))
    if not verifier.verifies(signature, request.method, path, canonical_query(pairs), headers, payload, now):
        return False
    if verifier.key is None or is_v4(names) or is_v2(names) or not verifier.shape(headers).is_signed:
        return False
    if not gateway.access.journal.slots.aged:  # elsewhere, few requests wait for a look at all
        await gateway.session.probes.wait(gateway.access.journal)
    access = await gateway.access.authorised_state(request.arrived)
    if access.active_key(verifier.key.id, gateway.clock.wall()) != verifier.key:
        return False
    request.identity = _identity(verifier, signature, headers["x-amz-date"], payload)
    request.user, request.access_key = verifier.key.user, verifier.key.id
    return True


def _identity(verifier: CachedVerifier, signature: str, timestamp: str, payload: str) -> Identity:
    assert verifier.key is not None, "nobody's signature holds"
    seed = ChunkSeed(verifier.signing_key, signature, timestamp, verifier.scope)
    return Identity(verifier.key.id, SignatureForm.V4_HEADER, *declared_payload(payload), verifier.region, None, seed)


# The rest serves both the gateway and the API.


def read_claim(request: SignedRequest, realm: Realm, now: float) -> Claim | None:
    """Returns the claimed signature, which is then verified with the secret of its key. Returns None if the request is
    anonymous. `now` is in seconds since 1970."""
    authorization = request.headers.get("authorization")
    v4, v2 = is_v4(request.names), is_v2(request.names)
    if (authorization is not None) + v4 + v2 > 1:
        raise _several()
    if v4:
        return QueryV4(request, realm, now)
    if v2:
        realm.refuse_v2()
        return QueryV2(request, now)
    if authorization is None:
        return None
    scheme = authorization.partition(" ")[0]
    if scheme == ALGORITHM:
        return HeaderV4(request, authorization, realm, now)
    if scheme == "AWS":
        realm.refuse_v2()
        return HeaderV2(request, authorization, now)
    raise S3Error(
        "InvalidArgument", "Unsupported Authorization Type", ArgumentName="Authorization", ArgumentValue=scheme[:64]
    )


def _several() -> S3Error:
    return S3Error(
        "InvalidArgument",
        "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter "
        "or the Authorization header should be specified",
        ArgumentName="Authorization",
    )


class VerifiedRequest(NamedTuple):
    identity: Identity
    user: str
    key: str  # the id of the access key; for a session, that of the key it was made from
    session: SealedToken | None = None

    @property
    def limits(self) -> tuple[tuple[str, ...], ...]:
        return limits_of(self.session)


def limits_of(session: SealedToken | None) -> tuple[tuple[str, ...], ...]:
    return (session.limits,) if session is not None and session.limits else ()


async def verify(access: OpenAccess, claim: Claim, arrived: float) -> VerifiedRequest:
    """Returns who has signed the request. `arrived` is the boot-time clock, read after the request arrived. Raises
    SignatureDoesNotMatch, InvalidAccessKeyId, InvalidToken and ExpiredToken."""
    session = await read_token(access, claim.session_token) if claim.session_token else None
    if session is not None and session.id != claim.access_key_id:
        session = None  # the token belongs to another session
    try:
        found = await _verify(access, claim, session, arrived)
    except S3Error:
        # This happens for either error, so that neither takes longer. Also, a key may have come back with another
        # secret.
        if not await access.freshness.catch_up(arrived):
            raise
        found = await _verify(access, claim, session, arrived)
    if claim.session_token and session is None:
        raise S3Error("InvalidToken")
    if session is not None and access.clock.wall() >= session.expires:
        raise S3Error("ExpiredToken")
    return found


async def _verify(access: OpenAccess, claim: Claim, session: SealedToken | None, arrived: float) -> VerifiedRequest:
    """Verifies the claim in the known state. A session ends with the access key that it was made from."""
    key = claim.access_key_id if session is None else session.key
    found = await access.find_key(key, arrived)
    secret = None if found is None else found.secret if session is None else session.secret
    identity = claim.verify(secret)
    assert found is not None, "without a secret no signature holds"
    return VerifiedRequest(identity, found.user, key, session)
