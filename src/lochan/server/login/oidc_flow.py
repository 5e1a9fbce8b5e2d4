"""The state of a sign-in, which the browser keeps in a cookie that this server has sealed.

    GET login     ──▶ cookie {state, nonce, verifier, next}, and to the provider with state, nonce and challenge
    GET callback  ◀── code and state; the state must be the cookie's, and the token must have its nonce

So nothing is kept on the server, every server of the lake can handle the callback, and a callback that was not begun in
this very browser is refused."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hmac import compare_digest
from urllib.parse import urlsplit

import msgspec

from lochan.access.encryption import seal, unseal
from lochan.access.open_access import OpenAccess
from lochan.errors import Invalid, LochanError
from lochan.server.api.errors import HttpError

COOKIE = "lochan_oidc"
LIFE_S = 600
_BOUND_TO = "oidc login"  # no access key has an id with a space
_NEXT_LENGTH_MAX = 1_000
_COOKIE_LENGTH_MAX = 4_000
_MICROSECONDS = 1_000_000


class OidcFlow(msgspec.Struct, frozen=True, array_like=True):
    state: str
    nonce: str
    verifier: str
    next: str  # where the browser goes at the end, within the page
    expires: int  # microseconds since 1970


def begin(access: OpenAccess, next: str) -> OidcFlow:
    draw = access.ids.access_key_secret
    expires = access.clock.wall() + LIFE_S * _MICROSECONDS
    return OidcFlow(draw(), draw(), draw() + draw(), next, expires)


def challenge(flow: OidcFlow) -> str:
    from authlib.oauth2.rfc7636 import create_s256_code_challenge

    text: str = create_s256_code_challenge(flow.verifier)
    return text


async def seal_flow(access: OpenAccess, flow: OidcFlow) -> str:
    """Returns the value of the cookie."""
    plain = msgspec.json.encode(flow).decode()
    data = seal(await access.encryption.get(), access.ids.nonce(), plain, id=_BOUND_TO, user="")
    return urlsafe_b64encode(data).decode().rstrip("=")


async def resume(access: OpenAccess, cookie: str, state: str) -> OidcFlow:
    """Returns the flow of a callback. Raises 403 for a callback that was not begun in this browser, within the last
    minutes."""
    flow = await _read(access, cookie)
    if flow is None or access.clock.wall() >= flow.expires or not compare_digest(flow.state.encode(), state.encode()):
        raise HttpError(403, "this sign-in was not begun in this browser, or it took too long: begin it again")
    return flow


async def _read(access: OpenAccess, cookie: str) -> OidcFlow | None:
    if not cookie or len(cookie) > _COOKIE_LENGTH_MAX:
        return None
    try:
        data = urlsafe_b64decode(cookie.encode() + b"=" * (-len(cookie) % 4))
        return msgspec.json.decode(unseal(await access.encryption.get(), data, id=_BOUND_TO, user=""), type=OidcFlow)
    except (binascii.Error, ValueError, LochanError, msgspec.MsgspecError):
        return None


def check_next(text: str) -> str:
    """Checks where the browser goes in the end: a path of the page. Raises Invalid for anything that a browser might
    treat as another site."""
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    path = parts.path
    plain = text.isascii() and text.isprintable() and not any(each in text for each in ' \\"<>')
    local = path.startswith("/") and not text.startswith("//") and not parts.scheme and not parts.netloc
    if not plain or not local or len(text) > _NEXT_LENGTH_MAX or path.startswith("/api/"):
        raise Invalid(f"{text[:40]!r} is not an address of this page", hint="give a path, such as /repositories/demo")
    return text
