"""The user of a request, by a state of the lake that is new enough (A1).

By a signature of version 4, as the gateway takes it; or by an access key and its secret in HTTP's Basic scheme, where
nobody can read them on the way."""

import binascii
from base64 import b64decode
from hmac import compare_digest
from typing import NoReturn

from starlette.requests import Request

from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.connections import is_loopback
from lochan.server.gateway.authentication import verify
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Payload
from lochan.server.gateway.wire.signature_v4 import ALGORITHM, HeaderV4
from lochan.server.gateway.wire.signed_request import SignedRequest

_SCHEMES = f'Basic realm="Lochan", charset="UTF-8", {ALGORITHM}'
_WRONG = "the access key or its secret is wrong"
_MICROSECONDS = 1_000_000


async def authenticate(api: Api, request: Request) -> str:
    """Sets the context's user. Returns the SHA-256 that the body must have, in hex, or an empty text. Raises 401, with
    the same message for an unknown key and a wrong secret."""
    header = request.headers.get("authorization", "")
    scheme, _, rest = header.partition(" ")
    if not header:
        _refuse("the request is anonymous: sign it (AWS4-HMAC-SHA256), or give an access key and its secret (Basic)")
    if scheme == ALGORITHM:
        return await _by_signature(api, request, header)
    if scheme.lower() != "basic":
        _refuse(f"the scheme {scheme[:20]!r} is not supported: sign the request ({ALGORITHM}), or use Basic")
    _refuse_in_the_clear(request)
    await _by_secret(api, request, *_given(rest))
    return ""


def _refuse_in_the_clear(request: Request) -> None:
    """Before the secret is looked at: an answer must not tell whether it was right."""
    client = request.scope.get("client")
    if request.scope.get("scheme") == "https" or (client and is_loopback(client[0])):
        return
    raise HttpError(
        403,
        "Basic authentication sends the secret in the clear, so it is only accepted over TLS or from this machine: "
        f"call the server over https, or sign the request ({ALGORITHM}). Replace this key: others may have seen it",
    )


async def _by_secret(api: Api, request: Request, id: str, secret: str) -> None:
    context: RequestContext = request.scope[CONTEXT]
    user = await _user(api, id, secret, context.arrived)
    if not user and await api.access.freshness.catch_up(context.arrived):  # it may be a moment old
        user = await _user(api, id, secret, context.arrived)
    if not user:
        _refuse(_WRONG)
    context.user = user


async def _by_signature(api: Api, request: Request, authorization: str) -> str:
    context: RequestContext = request.scope[CONTEXT]
    try:
        claim = HeaderV4(_as_signed(request), authorization, api.realm, api.clock.wall() / _MICROSECONDS)
        identity, user = await verify(api.access, claim, context.arrived)
    except S3Error as error:
        if error.code in ("SignatureDoesNotMatch", "InvalidAccessKeyId"):
            _refuse("the access key or its signature is wrong")
        if error.code == "InvalidToken":
            _refuse("session tokens are not supported: sign without x-amz-security-token")
        raise HttpError(401 if error.status == 403 else error.status, error.message) from None
    if identity.payload is not Payload.HASHED or identity.sha256 is None:
        raise HttpError(400, "the signature must cover the body: x-amz-content-sha256 is its SHA-256 in hex")
    context.user = user
    return identity.sha256


def _as_signed(request: Request) -> SignedRequest:
    scope = request.scope
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    return SignedRequest.of_decoded_path(
        request.method, scope["path"], scope["query_string"].decode("latin-1"), headers
    )


def _given(credentials: str) -> tuple[str, str]:
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
