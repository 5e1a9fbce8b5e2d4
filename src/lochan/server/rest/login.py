"""Log in and out, and what a client asks before it does."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.server.api import login_token
from lochan.server.api.authentication import by_secret, refuse_in_the_clear
from lochan.server.api.errors import HttpError
from lochan.server.api.login_token import COOKIE, LIFE_S, LoginToken
from lochan.server.api.setup import make_admin
from lochan.server.rest.auth_wire import CredentialsWithSecret
from lochan.server.rest.operation import JSON, Answer, Resource, RestCall
from lochan.server.rest.wire import (
    AuthCapabilities,
    AuthenticationToken,
    LoginInformation,
    Setup,
    SetupRequest,
    SetupState,
)

RESOURCE = Resource("auth")
_MICROSECONDS = 1_000_000


@RESOURCE.operation("POST", "/auth/login", {200: AuthenticationToken}, body=LoginInformation, open=True)
async def login(call: RestCall) -> Answer:
    """Get a token for an access key and its secret: for the Bearer scheme, and as a cookie.

    It ends after 12 hours, and at once when the key is revoked.
    """
    given: LoginInformation = call.body
    refuse_in_the_clear(call.request)
    await by_secret(call.api, call.request, given.access_key_id, given.secret_access_key)
    call.api.guard.authenticated(call.context.source)
    expires = call.api.clock.wall() // _MICROSECONDS + LIFE_S
    token = login_token.issue(LoginToken(given.access_key_id, expires), given.secret_access_key)
    body = msgspec.json.encode(AuthenticationToken(token=token, token_expiration=expires))
    return Response(body, media_type=JSON, headers={"set-cookie": _cookie(call.request, token, LIFE_S)})


@RESOURCE.operation("POST", "/auth/logout", {204: None}, open=True)
async def logout(call: RestCall) -> Answer:
    """Take the cookie of a session back. To end all sessions of an access key, revoke it."""
    return Response(status_code=204, headers={"set-cookie": _cookie(call.request, "", 0)})


@RESOURCE.operation("GET", "/auth/capabilities", {200: AuthCapabilities}, open=True)
async def get_auth_capabilities(call: RestCall) -> Answer:
    """Get what the server offers around logins."""
    return AuthCapabilities()


@RESOURCE.operation("GET", "/setup_lakefs", {200: SetupState}, open=True)
async def get_setup_state(call: RestCall) -> Answer:
    """Get whether the lake has an administrator."""
    is_empty = (await call.api.access.state()).is_empty()
    return SetupState(state="not_initialized" if is_empty else "initialized")


@RESOURCE.operation("POST", "/setup_lakefs", {409: None}, body=Setup, open=True)
async def setup(call: RestCall) -> Answer:
    """Set the server up, which needs the link that it has printed: see `createAdministrator`."""
    if (await call.api.access.state()).is_empty():
        raise HttpError(409, "open the link that `lochan serve` printed when it started: it makes the administrator")
    raise HttpError(409, "the lake is set up already: `lochan auth users create NAME` makes further users")


@RESOURCE.operation("POST", "/setup", {200: CredentialsWithSecret}, body=SetupRequest, open=True)
async def create_administrator(call: RestCall) -> Answer:
    """Make the first administrator, with the token of the link that the server printed. The secret is shown once."""
    given: SetupRequest = call.body
    refuse_in_the_clear(call.request)
    listener, source = call.api.listener, call.context.source
    made = await make_admin(call.api.session, listener.setup_hash, given.token, given.username, source)
    return CredentialsWithSecret(
        access_key_id=made.access_key_id,
        secret_access_key=made.secret_access_key,
        creation_date=call.api.clock.wall() // _MICROSECONDS,
    )


def _cookie(request: Request, token: str, seconds: int) -> str:
    """No script can read it, and no other site can have it sent along."""
    secure = "; Secure" if request.scope.get("scheme") == "https" else ""
    return f"{COOKIE}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
