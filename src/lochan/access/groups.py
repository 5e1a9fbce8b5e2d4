"""Groups of users: creating and deleting them, and changing their members. A member has the policies of the group."""

from lochan.access.open_access import OpenAccess
from lochan.access.state import UserGroup
from lochan.access.users import check_name
from lochan.formats.events import Event
from lochan.formats.lake_events import GroupCreated, GroupDeleted, MemberAdded, MemberRemoved
from lochan.formats.record import Actor


async def create_group(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> UserGroup:
    """Creates a group without members. Raises Invalid or AlreadyExists."""
    check_name("group", name)
    await access.submit(actor, lambda state: [GroupCreated(name)], "create-group", name, key=key)
    return access.folded().group(name)


async def delete_group(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> None:
    """Deletes the group. Its members stay, without its policies. Raises NotFound, or Refused if no user would have the
    policy Admin."""
    await access.submit(actor, lambda state: [GroupDeleted(name)], "delete-group", name, key=key, takes_away=True)


async def add_member(access: OpenAccess, group: str, user: str, *, actor: Actor, key: str = "") -> UserGroup:
    """Adds a user to the group. A policy of the group may deny something, so this waits as a revocation does. Raises
    NotFound or AlreadyExists."""
    return await _change_group(access, MemberAdded(group, user), group, actor, key)


async def remove_member(access: OpenAccess, group: str, user: str, *, actor: Actor, key: str = "") -> UserGroup:
    """Removes a user from the group. Raises NotFound, or Refused if no user would have the policy Admin."""
    return await _change_group(access, MemberRemoved(group, user), group, actor, key)


async def _change_group(access: OpenAccess, event: Event, group: str, actor: Actor, key: str) -> UserGroup:
    await access.submit(actor, lambda state: [event], event.type, event, key=key, takes_away=True)
    return access.folded().group(group)
