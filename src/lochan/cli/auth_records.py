"""Users, keys and policies as the command line shows them. No record of a key has its secret."""

from typing import TYPE_CHECKING, Any

from lochan.cli.shown import instant

if TYPE_CHECKING:
    from lochan.access.state import Access, AccessKey, AccessPolicy, User


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


def policy_record(access: "Access", policy: "AccessPolicy") -> dict[str, Any]:
    from lochan.access.policies import statement_rows

    return {
        "name": policy.name,
        "ready": policy.built_in,
        "attached_to": access.holders(policy.name),
        "changed": instant(policy.changed) if policy.changed else None,
        "changed_by": policy.changed_by or None,
        "statements": statement_rows(policy.statements),
    }


def words(record: dict[str, Any], *lists: str) -> dict[str, Any]:
    """With its lists as words, for a table."""
    return {**record, **{name: " ".join(record[name]) for name in lists}}
