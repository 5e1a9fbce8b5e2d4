"""How people sign in at this server, as it is configured and without its secrets: for whoever may read its settings."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lochan.access import resources
from lochan.access.external import ProviderGroups
from lochan.access.rights import Denied
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.settings import Listener

SETTINGS = "lake:ReadSettings"


async def login_settings(api: Api, request: Request) -> Response:
    context: RequestContext = request.scope[CONTEXT]
    if not (await api.access.rights(context.requester, context.arrived)).allow(SETTINGS, resources.LAKE):
        raise Denied("you may not read the server's settings", hint=f"this needs {SETTINGS} on the lake")
    return JSONResponse({"oidc": _oidc(api.listener), "ldap": _ldap(api.listener)})


def _oidc(listener: Listener) -> dict[str, Any] | None:
    found = listener.oidc
    if found is None:
        return None
    return {
        "issuer": found.issuer,
        "client_id": found.client_id,
        "client_secret": bool(found.client_secret),  # whether there is one
        "scopes": found.scopes,
        "name_claim": found.name_claim,
        "groups_claim": found.groups_claim,
        "callback_url": found.callback_url,
        "ca_file": found.ca_file,
        "title": found.title,
        **_groups(found.groups),
    }


def _ldap(listener: Listener) -> dict[str, Any] | None:
    found = listener.directory
    if found is None:
        return None
    tls = "from the first byte" if found.address.is_tls else "by StartTLS" if found.address.starts_tls else "none"
    return {
        "url": str(found.address),
        "tls": tls,
        "ca_file": found.ca_file or "",
        "bind_dn": found.bind_dn,
        "bind_password": bool(found.bind_password),
        "user_base": found.user_base,
        "user_filter": found.user_filter,
        "name_attribute": found.name_attribute,
        "id_attribute": found.id_attribute,
        "group_base": found.group_base,
        "group_filter": found.group_filter,
        "group_attribute": found.group_attribute,
        "group_depth": found.group_depth,
        "timeout_s": found.timeout_s,
        **_groups(found.groups),
    }


def _groups(groups: ProviderGroups) -> dict[str, Any]:
    return {
        "allowed_groups": sorted(groups.allowed),
        "group_map": {name: list(mapped) for name, mapped in sorted(groups.mapping.items())},
    }
