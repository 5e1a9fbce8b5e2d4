"""Who asks, by what is known of its client already; for requests of every kind."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import Request
from lochan.server.gateway.signature_plans import SIGNATURE_DIGITS, Plan
from lochan.server.gateway.wire.identity import ChunkSeed, Form, Identity, declared_payload
from lochan.server.gateway.wire.presigned import is_v2, is_v4
from lochan.server.gateway.wire.signed_request import canonical_query
from lochan.server.gateway.wire.uri import canonical_path, meant_name, query_pairs


async def recognised(gateway: Gateway, request: Request, now: float) -> bool:
    """Whether a plan lets the request in, in a state of the lake that is new enough (A1): who it is, is noted in it
    then. False says nothing."""
    headers = request.headers
    authorization, payload = headers.get("authorization", ""), headers.get("x-amz-content-sha256", "")
    pairs = query_pairs(request.raw_query) if request.raw_query else []
    names = {meant_name(name) for name, _ in pairs}
    plan = gateway.plans.find(authorization)
    signature, path = authorization[-SIGNATURE_DIGITS:], canonical_path(request.path.replace("%", "%25"))
    if not plan.holds(signature, request.method, path, canonical_query(pairs), headers, payload, now):
        return False
    if plan.key is None or is_v4(names) or is_v2(names) or not plan.shape(headers).is_signed:
        return False
    if not gateway.access.journal.slots.aged:  # elsewhere few requests wait for a look at all
        await gateway.moment.passed(gateway.access.journal)
    access = await gateway.access.authorised_state(request.arrived)
    if access.key(plan.key.id) != plan.key:
        return False
    request.identity = _identity(plan, signature, headers["x-amz-date"], payload)
    request.user = plan.key.user
    return True


def _identity(plan: Plan, signature: str, timestamp: str, payload: str) -> Identity:
    assert plan.key is not None, "nobody's signature holds"
    seed = ChunkSeed(plan.signing_key, signature, timestamp, plan.scope)
    return Identity(plan.key.id, Form.V4_HEADER, *declared_payload(payload), plan.region, None, seed)
