"""Who asks: an access key and its secret, by HTTP's Basic scheme, in a state of the lake that is new enough (A1)."""

import binascii
from base64 import b64decode
from hmac import compare_digest
from typing import NoReturn

from starlette.requests import Request

from lochan.server.api.failures import Failure
from lochan.server.api.serving import ASKED, Api, Asked

_REALM = 'Basic realm="Lochan", charset="UTF-8"'


async def authenticate(api: Api, request: Request) -> None:
    """Who it is, is noted. Raises 401, in the same words for a key that is not there and a secret that is wrong."""
    asked: Asked = request.scope[ASKED]
    id, secret = _given(request.headers.get("authorization", ""))
    user = await _user(api, id, secret, asked.arrived)
    if not user and await api.access.freshness.catch_up(asked.arrived):  # it may be a moment old
        user = await _user(api, id, secret, asked.arrived)
    if not user:
        _refuse("the access key or its secret is wrong")
    asked.user = user


def _given(header: str) -> tuple[str, str]:
    scheme, _, rest = header.partition(" ")
    if not header:
        _refuse("who asks? give an access key and its secret (Basic authentication)")
    if scheme.lower() != "basic":
        _refuse(f"the scheme {scheme[:20]!r} is not known here: give an access key and its secret by Basic")
    try:
        id, colon, secret = b64decode(rest.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = id = secret = ""
    if not colon:
        _refuse("the credentials are not those of Basic authentication")
    return id, secret


async def _user(api: Api, id: str, secret: str, arrived: float) -> str:
    found = await api.access.find_key(id, arrived)
    there = "" if found is None else found.secret
    same = compare_digest(there.encode(), secret.encode())
    return found.user if found is not None and same else ""


def _refuse(message: str) -> NoReturn:
    raise Failure(401, message, www_authenticate=_REALM)
