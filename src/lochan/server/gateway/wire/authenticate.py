"""Which form of signature a request carries. Every way in goes through here, so no handler can forget one."""

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Claim, Realm
from lochan.server.gateway.wire.presigned import QueryV2, QueryV4, is_v2, is_v4
from lochan.server.gateway.wire.signature_v2 import HeaderV2
from lochan.server.gateway.wire.signature_v4 import ALGORITHM, HeaderV4
from lochan.server.gateway.wire.signed_request import SignedRequest


def claimed(request: SignedRequest, realm: Realm, now: float) -> Claim | None:
    """Whose signature it is said to be, to be verified with the secret of that key. None: it is anonymous. `now` is in
    seconds since 1970."""
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
        "InvalidArgument",
        "Unsupported Authorization Type",
        ArgumentName="Authorization",
        ArgumentValue=scheme[:64],
    )


def _several() -> S3Error:
    return S3Error(
        "InvalidArgument",
        "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter "
        "or the Authorization header should be specified",
        ArgumentName="Authorization",
    )
