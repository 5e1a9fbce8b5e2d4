"""Authenticates the user of a request, by a state of the lake that is new enough (A1).

Requests are signed by version 4, as for the gateway. If nobody can read them on the way, they may also have an access
key and its secret in HTTP's Basic scheme, or the token of a login as Bearer or in a cookie. A presigned address that a
server has given out is signed in the query."""

import binascii
from base64 import b64decode
from hmac import compare_digest
from typing import NoReturn
from urllib.parse import urlsplit

from starlette.requests import Request

from lochan.access.requester import address_of
from lochan.access.sessions import find_session
from lochan.access.tokens import PREFIX, SealedToken, read_token
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.api.session_cookie import COOKIE
from lochan.server.connections import is_loopback
from lochan.server.gateway.authentication import limits_of, verify
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Payload
from lochan.server.gateway.wire.presigned import QueryV4, is_v4
from lochan.server.gateway.wire.signature_v4 import ALGORITHM, HeaderV4
from lochan.server.gateway.wire.signed_request import SignedRequest

_SCHEMES = f'Basic realm="Lochan", charset="UTF-8", Bearer, {ALGORITHM}'
_READS = ("GET", "HEAD")
_WRONG = "the access key or its secret is wrong"
_WRONG_EITHER = "the name or its password is wrong, or the access key or its secret"
_MICROSECONDS = 1_000_000


async def authenticate(api: Api, request: Request, *, presigned: bool = False) -> str:
    """Sets the context's user. Returns the SHA-256 that the body must have, in hex, or an empty text. Raises 401, with
    the same message for an unknown key and a wrong secret. Only `presigned` requests may be signed in the query."""
    if presigned and is_v4(request.query_params.keys()):
        await _by_query(api, request)
        return ""
    header = request.headers.get("authorization", "")
    scheme, _, rest = header.partition(" ")
    if scheme == ALGORITHM:
        return await _by_signature(api, request, header)
    if not header and COOKIE in request.cookies:
        refuse_other_sites(request)
        await _by_token(api, request, request.cookies[COOKIE])
    elif not header:
        _refuse("the request is anonymous: sign it (AWS4-HMAC-SHA256), or give an access key and its secret (Basic)")
    elif scheme.lower() == "bearer":
        await _by_token(api, request, rest.strip())
    elif scheme.lower() == "basic":
        refuse_in_the_clear(request)
        await by_secret(api, request, *_parse_basic(rest))
    else:
        _refuse(f"the scheme {scheme[:20]!r} is not supported: sign the request ({ALGORITHM}), or use Basic")
    return ""


async def _by_token(api: Api, request: Request, token: str) -> None:
    refuse_in_the_clear(request)
    context: RequestContext = request.scope[CONTEXT]
    context.is_session = True
    if token.startswith(PREFIX):
        await _by_session(api, context, token)
    elif found := await find_session(api.access, token, context.arrived):
        context.user, context.access_key, context.login_session = found.user, found.key, found.id
    if not context.user:
        _refuse("the session has ended: log in again")


async def _by_session(api: Api, context: RequestContext, token: str) -> None:
    session = await read_token(api.access, token)
    if session is None or api.clock.wall() >= session.expires:
        return
    found = await api.access.find_key(session.key, context.arrived)
    if found is not None:
        context.user, context.access_key = found.user, session.key
        _keep(context, session, token)


def _keep(context: RequestContext, session: SealedToken | None, token: str | None) -> None:
    if session is not None:
        context.is_session, context.limits = True, limits_of(session)
        context.session_id, context.session_secret, context.session_token = session.id, session.secret, token or ""


def refuse_other_sites(request: Request) -> None:
    """Raises 403 for a change that a page of another site requests: a browser sends its cookies with requests of any
    page. It names the page's origin in headers that no script can set."""
    if request.method in _READS:
        return
    origin, site = request.headers.get("origin", ""), request.headers.get("sec-fetch-site", "")
    if _is_foreign(origin, request.headers.get("host", "")) or site not in ("", "same-origin", "none"):
        raise HttpError(403, "a page of another site has sent this request")


def _is_foreign(origin: str, host: str) -> bool:
    try:
        return bool(origin) and urlsplit(origin).netloc != host
    except ValueError:  # it is not an address at all
        return True


async def _by_query(api: Api, request: Request) -> None:
    context: RequestContext = request.scope[CONTEXT]
    try:
        claim = QueryV4(_as_signed(request), api.realm, api.clock.wall() / _MICROSECONDS)
        found = await verify(api.access, claim, context.arrived)
    except S3Error as error:
        raise HttpError(401 if error.status == 403 else error.status, error.message) from None
    context.user, context.access_key = found.user, found.key
    _keep(context, found.session, claim.session_token)


def refuse_in_the_clear(request: Request) -> None:
    """Raises 403 for a secret in the clear, before the secret is checked: the answer must not reveal whether it was
    right."""
    client = request.scope.get("client")
    if request.scope.get("scheme") == "https" or (client and is_loopback(client[0])):
        return
    raise HttpError(
        403,
        "this sends a secret in the clear, so it is only accepted over TLS or from this machine: "
        f"call the server over https, or sign the request ({ALGORITHM}). Replace this key: others may have seen it",
    )


async def by_secret(api: Api, request: Request, id: str, secret: str) -> None:
    """Authenticates by an access key and its secret. Raises 401, and 429 for an address from which too many were wrong
    for this key."""
    context: RequestContext = request.scope[CONTEXT]
    refuse_too_many(api, context, id, secret)
    user = await _user(api, id, secret, context.arrived)
    if not user and await api.access.freshness.catch_up(context.arrived):  # the state may be a moment old
        user = await _user(api, id, secret, context.arrived)
    if not user:
        refuse_wrong(api, context, id)
    api.failed_logins.succeeded(address_of(context.source), id, secret)
    context.user, context.access_key = user, id


def refuse_too_many(api: Api, context: RequestContext, name: str, secret: str) -> None:
    """Raises 429 after too many wrong secrets, before this one is checked. `name` is the key or user for which they are
    counted."""
    wait_s = api.failed_logins.wait_s(address_of(context.source), name, secret, api.clock.boot())
    if wait_s:
        words = "too many wrong secrets for this key or name came from this address: try again later"
        raise HttpError(429, words, retry_after=str(wait_s))


def refuse_wrong(api: Api, context: RequestContext, name: str) -> NoReturn:
    """Raises 401. The message does not reveal which half was wrong, or whether the name is a key or a user's."""
    api.failed_logins.failed(address_of(context.source), name, api.clock.boot())
    _refuse(_WRONG if api.directory is None else _WRONG_EITHER)


async def _by_signature(api: Api, request: Request, authorization: str) -> str:
    context: RequestContext = request.scope[CONTEXT]
    try:
        claim = HeaderV4(_as_signed(request), authorization, api.realm, api.clock.wall() / _MICROSECONDS)
        found = await verify(api.access, claim, context.arrived)
    except S3Error as error:
        if error.code in ("SignatureDoesNotMatch", "InvalidAccessKeyId"):
            _refuse("the access key or its signature is wrong")
        if error.code in ("InvalidToken", "ExpiredToken"):
            _refuse("the session token is not valid, or has expired: make another one")
        raise HttpError(401 if error.status == 403 else error.status, error.message) from None
    identity = found.identity
    if identity.payload is not Payload.HASHED or identity.sha256 is None:
        raise HttpError(400, "the signature must cover the body: x-amz-content-sha256 is its SHA-256 in hex")
    context.user, context.access_key = found.user, found.key
    _keep(context, found.session, claim.session_token)
    return identity.sha256


def _as_signed(request: Request) -> SignedRequest:
    scope = request.scope
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    return SignedRequest.of_decoded_path(
        request.method, scope["path"], scope["query_string"].decode("latin-1"), headers
    )


def _parse_basic(credentials: str) -> tuple[str, str]:
    try:
        id, colon, secret = b64decode(credentials.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = id = secret = ""
    if not colon:
        _refuse("the credentials are not valid for Basic authentication")
    return id, secret


async def _user(api: Api, id: str, secret: str, arrived: float) -> str:
    found = await api.access.find_key(id, arrived)
    there = "" if found is None else found.secret
    same = compare_digest(there.encode(), secret.encode())
    return found.user if found is not None and same else ""


def _refuse(message: str) -> NoReturn:
    raise HttpError(401, message, www_authenticate=_SCHEMES)
