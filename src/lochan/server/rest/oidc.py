"""Handles sign-ins with a provider of OpenID Connect, on the way there and on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from lochan.access.external import ExternalIdentity, sign_in
from lochan.access.requester import address_of
from lochan.access.sessions import SignIn
from lochan.errors import LochanError
from lochan.formats.record import Actor
from lochan.server.api.authentication import refuse_in_the_clear
from lochan.server.api.errors import HttpError, status_of, text_of
from lochan.server.api.session_cookie import secure, session_cookie
from lochan.server.login import oidc_flow
from lochan.server.login.provider import OidcProvider
from lochan.server.rest.login import CLIENT, begin_session
from lochan.server.rest.operation import Answer, Resource, RestCall

RESOURCE = Resource("auth")
PATH = "/api/v1/auth/oidc"
_NAME = "oidc"  # the name for the bucket of failed logins; no access key has so short an id
_GROUPS_MAX = 10_000
_ERROR_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class OidcLoginQuery(msgspec.Struct, frozen=True):
    next: str = "/"


class OidcCallbackQuery(msgspec.Struct, frozen=True):
    code: str = ""
    state: str = ""
    error: str = ""
    error_description: str = ""
    iss: str = ""


@RESOURCE.operation(
    "GET", "/auth/oidc/login", {303: None, 400: None, 404: None}, query=OidcLoginQuery, media="text/html", open=True
)
async def oidc_login(call: RestCall) -> Answer:
    """Send the browser to the provider of OpenID Connect. `next` is the path of the page where it goes in the end."""
    provider = _provider(call)
    refuse_in_the_clear(call.request)
    flow = oidc_flow.begin(call.api.access, oidc_flow.check_next(call.query.next))
    parameters = {
        "redirect_uri": _callback_url(call.request, provider),
        "scope": provider.settings.scopes,
        "state": flow.state,
        "nonce": flow.nonce,
        "code_challenge": oidc_flow.challenge(flow),
        "code_challenge_method": "S256",
    }
    try:
        url = await provider.authorization_url(parameters)
    except HttpError as error:
        return _error_page(call.request, error)
    return _redirect(
        url, _flow_cookie(call.request, await oidc_flow.seal_flow(call.api.access, flow), oidc_flow.LIFE_S)
    )


@RESOURCE.operation(
    "GET",
    "/auth/oidc/callback",
    {303: None, 403: None, 404: None},
    query=OidcCallbackQuery,
    media="text/html",
    open=True,
)
async def oidc_callback(call: RestCall) -> Answer:
    """Take what the provider has sent the browser back with, and open a session."""
    provider, failed = _provider(call), call.api.failed_logins
    refuse_in_the_clear(call.request)
    address = address_of(call.context.source)
    wait_s = failed.wait_s(address, _NAME, "", call.api.clock.boot())
    try:
        if wait_s:
            words = "too many sign-ins from this address failed: try again later"
            raise HttpError(429, words, retry_after=str(wait_s))
        return await _sign_in(call, provider)
    except (HttpError, LochanError) as error:
        if not wait_s:
            failed.failed(address, _NAME, call.api.clock.boot())
        return _error_page(call.request, error)


async def _sign_in(call: RestCall, provider: OidcProvider) -> Response:
    query: OidcCallbackQuery = call.query
    access, settings = call.api.access, provider.settings
    flow = await oidc_flow.resume(access, call.request.cookies.get(oidc_flow.COOKIE, ""), query.state)
    if query.error:
        words = " ".join(f"{query.error} {query.error_description}".split())[:200]
        raise HttpError(403, f"the identity provider has not signed you in: {words}")
    if query.iss and query.iss != settings.issuer:
        raise HttpError(403, "another identity provider has answered: begin again")
    claims = await provider.claims(query.code, _callback_url(call.request, provider), flow.verifier, flow.nonce)
    identity = _identity(claims, provider)
    source = call.context.source
    user = await sign_in(access, identity, settings.groups, lambda name: Actor(name, CLIENT, source))
    opened = await begin_session(call.api, call.request, SignIn(user, "oidc", source=settings.source))
    call.api.guard.authenticated(call.context.connection)
    cookies = session_cookie(call.request, opened.token), _flow_cookie(call.request, "", 0)
    return _redirect(flow.next, *cookies)


def _identity(claims: Mapping[str, Any], provider: OidcProvider) -> ExternalIdentity:
    """Returns the identity. Raises 403."""
    settings = provider.settings
    name, groups = claims.get(settings.name_claim), claims.get(settings.groups_claim, ())
    if not isinstance(name, str) or not name:
        raise HttpError(
            403,
            f"the identity provider does not say {settings.name_claim!r}, which is to name the user: "
            "login.oidc.name_claim and login.oidc.scopes must fit the provider",
        )
    listed = [groups] if isinstance(groups, str) else groups
    if not isinstance(listed, (list, tuple)) or len(listed) > _GROUPS_MAX:
        raise HttpError(403, f"what the identity provider says of {settings.groups_claim!r} is not a list of groups")
    names = frozenset(each for each in listed if isinstance(each, str))
    return ExternalIdentity(settings.source, claims["sub"], name, names)


def _provider(call: RestCall) -> OidcProvider:
    provider = call.api.oidc
    if provider is None:
        raise HttpError(404, "this server has no provider of OpenID Connect: login.oidc.issuer names one")
    return provider


def _callback_url(request: Request, provider: OidcProvider) -> str:
    given = provider.settings.callback_url
    return given or f"{request.scope['scheme']}://{request.headers.get('host', '')}{PATH}/callback"


def _flow_cookie(request: Request, value: str, seconds: int) -> str:
    """Returns the cookie. The browser must send it when the provider sends the browser back, which it would not do with
    a Strict one."""
    attributes = f"Path={PATH}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure(request)}"
    return f"{oidc_flow.COOKIE}={value}; {attributes}"


def _redirect(url: str, *cookies: str) -> Response:
    answer = Response(status_code=303, headers={"location": url, "cache-control": "no-store"})
    for each in cookies:
        answer.headers.append("set-cookie", each)
    return answer


def _error_page(request: Request, error: HttpError | LochanError) -> Response:
    """Returns a page for a person with a browser. What others have written is shown as text."""
    status = error.status if isinstance(error, HttpError) else status_of(error)
    text = error.message if isinstance(error, HttpError) else text_of(error)
    headers = error.headers if isinstance(error, HttpError) else {}
    body = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not signed in - Lochan</title>'
        f'<h1>You are not signed in</h1><p>{escape(text)}</p><p><a href="/">Back to the page</a></p></html>\n'
    )
    answer = HTMLResponse(body, status if status != 401 else 403, {**headers, "cache-control": "no-store"})
    answer.headers["content-security-policy"] = _ERROR_POLICY
    answer.headers.append("set-cookie", _flow_cookie(request, "", 0))
    return answer
