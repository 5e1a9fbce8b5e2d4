"""Users, keys and policies: how a lake's are opened, and how they are shown. No record of a key has its secret."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lochan.cli.output.records import instant

if TYPE_CHECKING:
    from lochan.access.open_access import OpenAccess
    from lochan.access.state import Access, AccessKey, Policy, User
    from lochan.formats.record import Actor


def user_record(access: "Access", user: "User") -> dict[str, Any]:
    from lochan.access.state import principal

    return {
        "name": user.name,
        "policies": list(access.attached_to(principal(user.name))),
        "keys": [key.id for key in access.keys_of(user.name)],
        "created": instant(user.created),
        "created_by": user.created_by,
    }


def key_record(key: "AccessKey") -> dict[str, Any]:
    return {
        "access_key_id": key.id,
        "user": key.user,
        "created": instant(key.created),
        "created_by": key.created_by,
    }


def policy_record(access: "Access", policy: "Policy") -> dict[str, Any]:
    from lochan.access.policy_file import written

    return {
        "name": policy.name,
        "ready": policy.ready,
        "attached_to": access.holders(policy.name),
        "changed": instant(policy.changed) if policy.changed else None,
        "changed_by": policy.changed_by or None,
        "statements": written(policy.statements),
    }


def words(record: dict[str, Any], *lists: str) -> dict[str, Any]:
    """With its lists as words, for a table."""
    return {**record, **{name: " ".join(record[name]) for name in lists}}


T = TypeVar("T")


class OpenedAccess(NamedTuple):
    access: "OpenAccess"
    actor: "Actor"


def change(work: Callable[[OpenedAccess], Awaitable[T]]) -> T:
    from lochan.cli.session import actor, configuration, open_lake, run

    config = configuration()

    async def opened() -> T:
        async with open_lake(config) as lake:
            return await work(OpenedAccess(lake.open_access(), actor(config)))

    return run(config, opened())


def look(work: Callable[["Access"], T]) -> T:
    """At the state as it is now."""
    from lochan.cli.session import configuration, open_lake, read

    config = configuration()

    async def opened() -> T:
        async with open_lake(config) as lake:
            return work(await lake.open_access().state())

    return read(config, opened)
