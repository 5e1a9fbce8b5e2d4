"""Users, created and deleted."""

from lochan.access.names import check_user_name
from lochan.access.open_access import OpenAccess
from lochan.access.state import User
from lochan.formats.lake_events import UserCreated, UserDeleted
from lochan.formats.record import Actor


async def create_user(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> User:
    """Nothing is allowed to a new user. Raises Invalid, AlreadyExists."""
    check_user_name(name)
    await access.submit(actor, lambda state: [UserCreated(name)], "create-user", name, key=key)
    return access.folded().find_user(name) or User(name, 0, actor.user)  # sent twice, and deleted since


async def delete_user(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> None:
    """With all its keys, which work nowhere any more when this returns. Raises NotFound, or Refused for the last who
    has the policy Admin."""
    await access.submit(actor, lambda state: [UserDeleted(name)], "delete-user", name, key=key, takes_away=True)
