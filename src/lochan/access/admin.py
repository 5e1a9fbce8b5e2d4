"""The first user, made when a lake is first served."""

from lochan.access.keys import Credentials, new_credentials, sealed
from lochan.access.names import check_user_name
from lochan.access.open_access import OpenAccess
from lochan.access.ready import ADMIN
from lochan.errors import AlreadyExists, Invalid
from lochan.formats.lake_events import AdminCreated
from lochan.formats.record import Actor

NAME = "admin"


async def ensure_admin(
    access: OpenAccess, access_key_id: str = "", secret: str = "", *, name: str = NAME, actor: Actor
) -> Credentials | None:
    """If there is no user at all: makes one who may do everything, with a key, and returns its credentials, this once.
    Else None. Of several servers that start at once, one is given them: it is one event, valid while there is no user.
    Raises Invalid."""
    credentials = admin_credentials(access, access_key_id, secret, name=name)
    if not (await access.state()).is_empty():
        return None
    event = AdminCreated(name, ADMIN, credentials.access_key_id, await sealed(access, credentials))
    try:
        await access.submit(actor, lambda state: [event], "create-admin")
    except AlreadyExists:
        return None
    return credentials


def admin_credentials(access: OpenAccess, access_key_id: str, secret: str, *, name: str = NAME) -> Credentials:
    """Those that were given, or new ones; nothing is kept of them. Raises Invalid."""
    if bool(access_key_id) != bool(secret):
        raise Invalid(
            "of the first administrator's key only one half was given",
            hint="set both LOCHAN_ADMIN_ACCESS_KEY_ID and LOCHAN_ADMIN_SECRET_ACCESS_KEY, or neither",
        )
    check_user_name(name)
    return new_credentials(access, name, access_key_id, secret)
