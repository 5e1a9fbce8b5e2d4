"""Signs a user of the lake in by a name and a password of the directory."""

from __future__ import annotations

from starlette.requests import Request

from lochan.access.external import sign_in
from lochan.access.requester import address_of
from lochan.access.sessions import SignIn
from lochan.errors import Mistake
from lochan.formats.record import Actor
from lochan.server.api.authentication import refuse_too_many, refuse_wrong
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.ldap.directory import Directory
from lochan.server.ldap.lookup import plain_name

_CLIENT = "login"


async def sign_in_by_directory(api: Api, directory: Directory, request: Request, name: str, password: str) -> SignIn:
    """Signs a user in. Raises 401 with the same words as for a wrong access key, 403 for a user of the directory who
    may not sign in here, 429 after many wrong passwords, and 503 if the directory does not answer."""
    context: RequestContext = request.scope[CONTEXT]
    bucket = plain_name(name).casefold()
    refuse_too_many(api, context, bucket, password)
    identity = await directory.identity(name, password)
    if identity is None:
        refuse_wrong(api, context, bucket)
    try:
        user = await sign_in(api.access, identity, directory.groups, lambda user: Actor(user, _CLIENT, context.source))
    except Mistake as error:  # the request is correct; the configuration may be wrong
        raise HttpError(403, str(error)) from None
    api.failed_logins.succeeded(address_of(context.source), bucket, password)
    return SignIn(user, "ldap", source=identity.source)
