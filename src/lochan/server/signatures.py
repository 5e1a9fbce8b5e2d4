"""Whether a signature holds, by the secret of its key, in a state of the lake that is new enough (A1): for the gateway
and for the API."""

from lochan.access.open_access import OpenAccess
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Claim, Identity


async def verify(access: OpenAccess, claim: Claim, arrived: float) -> tuple[Identity, str]:
    """Who asks, and the name of the user. `arrived`: the boot-time clock, read after the request arrived. Raises
    SignatureDoesNotMatch, InvalidAccessKeyId, and InvalidToken: no key here is one of a session."""
    try:
        identity, user = await _verify(access, claim, arrived)
    except S3Error:
        # For either error, so that neither takes longer; and a key may have come back with another secret.
        if not await access.freshness.catch_up(arrived):
            raise
        identity, user = await _verify(access, claim, arrived)
    if identity.session_token:
        raise S3Error("InvalidToken")
    return identity, user


async def _verify(access: OpenAccess, claim: Claim, arrived: float) -> tuple[Identity, str]:
    found = await access.find_key(claim.access_key_id, arrived)
    identity = claim.verify(None if found is None else found.secret)
    assert found is not None, "without a secret no signature holds"
    return identity, found.user
