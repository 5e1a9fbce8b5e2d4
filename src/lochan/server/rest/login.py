"""Logs in and out, and answers what a client asks before it does."""

from __future__ import annotations

from contextlib import suppress

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.access.requester import address_of
from lochan.access.sessions import NewSession, SignIn, end_session, find_session, open_session
from lochan.errors import NotFound
from lochan.formats.record import Actor
from lochan.server.api.authentication import by_secret, refuse_in_the_clear, refuse_other_sites
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.api.session_cookie import COOKIE, session_cookie
from lochan.server.api.setup import make_admin
from lochan.server.rest.auth_wire import CredentialsWithSecret
from lochan.server.rest.operation import JSON, Answer, Resource, RestCall
from lochan.server.rest.wire import (
    AuthCapabilities,
    AuthenticationToken,
    LoginInformation,
    OidcCapability,
    Setup,
    SetupRequest,
    SetupState,
)

RESOURCE = Resource("auth")
CLIENT = "login"
_MICROSECONDS = 1_000_000


@RESOURCE.operation("POST", "/auth/login", {200: AuthenticationToken}, body=LoginInformation, open=True)
async def login(call: RestCall) -> Answer:
    """Open a session with an access key and its secret, or, where a directory (LDAP) is configured, with a person's
    name and password. Its token is for the Bearer scheme, and comes as a cookie too.

    It ends after 12 hours; and at once when it is logged out or ended, or the key is revoked.
    """
    given: LoginInformation = call.body
    refuse_in_the_clear(call.request)
    signed_in = await _sign_in(call, given)
    call.api.guard.authenticated(call.context.connection)
    opened = await begin_session(call.api, call.request, signed_in)
    body = AuthenticationToken(token=opened.token, token_expiration=opened.expires // _MICROSECONDS)
    headers = {"set-cookie": session_cookie(call.request, opened.token)}
    return Response(msgspec.json.encode(body), media_type=JSON, headers=headers)


async def _sign_in(call: RestCall, given: LoginInformation) -> SignIn:
    """Signs in. The directory is not shown an access key, even if its user may not sign in, nor the secret of one."""
    api, name, secret = call.api, given.access_key_id, given.secret_access_key
    if api.directory is not None and (await api.access.state()).key(name) is None:
        from lochan.server.ldap.sign_in import sign_in_by_directory  # imports a package that few need

        return await sign_in_by_directory(api, api.directory, call.request, name, secret)
    await by_secret(api, call.request, name, secret)
    return SignIn(call.user, "key", name)


async def begin_session(api: Api, request: Request, signed_in: SignIn) -> NewSession:
    """Opens a session for the user who has just signed in by this request."""
    context: RequestContext = request.scope[CONTEXT]
    context.user = signed_in.user
    here = signed_in._replace(address=address_of(context.source))
    return await open_session(api.access, here, actor=Actor(signed_in.user, CLIENT, context.source))


@RESOURCE.operation("POST", "/auth/logout", {204: None}, open=True)
async def logout(call: RestCall) -> Answer:
    """End the session of the cookie or Bearer token that comes with it, at every server, and take the cookie back."""
    scheme, _, token = call.request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        token = call.request.cookies.get(COOKIE, "")
        refuse_other_sites(call.request)
    session = await find_session(call.api.access, token.strip(), call.context.arrived)
    if session is not None:
        call.context.user = session.user
        with suppress(NotFound):  # the session has ended meanwhile
            await end_session(call.api.access, session.id, actor=Actor(session.user, CLIENT, call.context.source))
    return Response(status_code=204, headers={"set-cookie": session_cookie(call.request, "", 0)})


@RESOURCE.operation("GET", "/auth/capabilities", {200: AuthCapabilities}, open=True)
async def get_auth_capabilities(call: RestCall) -> Answer:
    """Get what the server offers around logins."""
    oidc = call.api.listener.oidc
    button = None if oidc is None else OidcCapability(title=oidc.title)
    return AuthCapabilities(oidc=button, ldap=call.api.directory is not None)


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
