"""Users: created, deleted, and the first one, which is made when a lake is first served."""

from lochan.access.keys import NewAccessKey, new_credentials, sealed
from lochan.access.names import check_user_name
from lochan.access.open_access import OpenAccess
from lochan.access.policy import ADMIN
from lochan.access.state import User
from lochan.errors import AlreadyExists, Invalid
from lochan.formats.lake_events import AdminCreated, UserCreated, UserDeleted
from lochan.formats.record import Actor

ADMIN_NAME = "admin"


async def create_user(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> User:
    """Nothing is allowed to a new user. Raises Invalid, AlreadyExists."""
    check_user_name(name)
    await access.submit(actor, lambda state: [UserCreated(name)], "create-user", name, key=key)
    return access.folded().find_user(name) or User(name, 0, actor.user)  # sent twice, and deleted since


async def delete_user(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> None:
    """With all its keys, which work nowhere any more when this returns. Raises NotFound, or Refused for the last who
    has the policy Admin."""
    await access.submit(actor, lambda state: [UserDeleted(name)], "delete-user", name, key=key, takes_away=True)


async def ensure_admin(
    access: OpenAccess, access_key_id: str = "", secret: str = "", *, name: str = ADMIN_NAME, actor: Actor
) -> NewAccessKey | None:
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


def admin_credentials(access: OpenAccess, access_key_id: str, secret: str, *, name: str = ADMIN_NAME) -> NewAccessKey:
    """Those that were given, or new ones; nothing is kept of them. Raises Invalid."""
    if bool(access_key_id) != bool(secret):
        raise Invalid(
            "only one half of the first administrator's access key was given",
            hint="set both LOCHAN_ADMIN_ACCESS_KEY_ID and LOCHAN_ADMIN_SECRET_ACCESS_KEY, or neither",
        )
    check_user_name(name)
    return new_credentials(access, name, access_key_id, secret)
