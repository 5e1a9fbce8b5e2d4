"""Shows the configuration of logins at this server, without its secrets, to users who may read its settings."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.access import resources
from lochan.access.external import ProviderGroups
from lochan.access.rights import Denied
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.rest.wire import WireValue
from lochan.server.settings import Listener

SETTINGS = "lake:ReadSettings"


class OidcSettingsInfo(WireValue, frozen=True, kw_only=True):
    issuer: str
    client_id: str
    client_secret: bool  # whether there is one
    scopes: str
    name_claim: str
    groups_claim: str
    callback_url: str
    ca_file: str
    title: str
    allowed_groups: list[str]
    group_map: dict[str, list[str]]


class LdapSettingsInfo(WireValue, frozen=True, kw_only=True):
    url: str
    tls: str
    ca_file: str
    bind_dn: str
    bind_password: bool  # whether there is one
    user_base: str
    user_filter: str
    name_attribute: str
    id_attribute: str
    group_base: str
    group_filter: str
    group_attribute: str
    group_depth: int
    timeout_s: float
    allowed_groups: list[str]
    group_map: dict[str, list[str]]


class LoginSettingsInfo(WireValue, frozen=True, kw_only=True):
    oidc: OidcSettingsInfo | None
    ldap: LdapSettingsInfo | None


async def login_settings(api: Api, request: Request) -> Response:
    """Get how people sign in, without secrets."""
    context: RequestContext = request.scope[CONTEXT]
    if not (await api.access.rights(context.requester, context.arrived)).allow(SETTINGS, resources.LAKE):
        raise Denied("you may not read the server's settings", hint=f"this needs {SETTINGS} on the lake")
    found = LoginSettingsInfo(oidc=_oidc(api.listener), ldap=_ldap(api.listener))
    return Response(msgspec.json.encode(found), media_type="application/json")


def _oidc(listener: Listener) -> OidcSettingsInfo | None:
    found = listener.oidc
    if found is None:
        return None
    return OidcSettingsInfo(
        issuer=found.issuer,
        client_id=found.client_id,
        client_secret=bool(found.client_secret),
        scopes=found.scopes,
        name_claim=found.name_claim,
        groups_claim=found.groups_claim,
        callback_url=found.callback_url,
        ca_file=found.ca_file or "",
        title=found.title,
        allowed_groups=sorted(found.groups.allowed),
        group_map=_group_map(found.groups),
    )


def _ldap(listener: Listener) -> LdapSettingsInfo | None:
    found = listener.directory
    if found is None:
        return None
    return LdapSettingsInfo(
        url=str(found.address),
        tls="from the first byte" if found.address.is_tls else "by StartTLS" if found.address.starts_tls else "none",
        ca_file=found.ca_file or "",
        bind_dn=found.bind_dn,
        bind_password=bool(found.bind_password),
        user_base=found.user_base,
        user_filter=found.user_filter,
        name_attribute=found.name_attribute,
        id_attribute=found.id_attribute,
        group_base=found.group_base,
        group_filter=found.group_filter,
        group_attribute=found.group_attribute,
        group_depth=found.group_depth,
        timeout_s=found.timeout_s,
        allowed_groups=sorted(found.groups.allowed),
        group_map=_group_map(found.groups),
    )


def _group_map(groups: ProviderGroups) -> dict[str, list[str]]:
    return {name: list(mapped) for name, mapped in sorted(groups.mapping.items())}
