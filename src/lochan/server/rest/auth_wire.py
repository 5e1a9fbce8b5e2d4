"""Defines users, groups, credentials and policies with the names and types that the published client gives them.

A statement of lakeFS names its resources as an ARN, or several of them as a JSON list in a text. What follows the last
colon is a resource of ours. An unknown condition is refused, because without it the statement would allow more.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lochan.api.access import GroupInfo, KeyInfo, PolicyInfo, UserInfo
from lochan.errors import Invalid
from lochan.server.rest.wire import Pagination, WireRequest, WireValue, seconds

_ARN = "arn:lakefs:"
_ADDRESS = ("IpAddress", "SourceIp")
_OWN = "Lochan"  # conditions that lakeFS does not have: after, before and hours
_OWN_NAMES = ("after", "before", "hours")
Conditions = dict[str, dict[str, list[str]]]


class UserCreation(WireRequest, frozen=True, kw_only=True):
    id: str
    invite_user: bool = False


class AuthUser(WireValue, frozen=True, kw_only=True):
    id: str
    creation_date: int
    friendly_name: str = ""
    email: str = ""

    @classmethod
    def of(cls, found: UserInfo) -> AuthUser:
        return cls(id=found.name, creation_date=seconds(found.created), friendly_name=found.name)


class UserList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[AuthUser]


class GroupCreation(WireRequest, frozen=True, kw_only=True):
    id: str
    description: str = ""


class WireGroup(WireValue, frozen=True, kw_only=True):
    id: str
    name: str
    creation_date: int
    description: str = ""

    @classmethod
    def of(cls, found: GroupInfo) -> WireGroup:
        return cls(id=found.name, name=found.name, creation_date=seconds(found.created))


class GroupList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WireGroup]


class WireCredentials(WireValue, frozen=True, kw_only=True):
    access_key_id: str
    creation_date: int

    @classmethod
    def of(cls, found: KeyInfo) -> WireCredentials:
        return cls(access_key_id=found.access_key_id, creation_date=seconds(found.created))


class CredentialsList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WireCredentials]


class CredentialsWithSecret(WireValue, frozen=True, kw_only=True):
    access_key_id: str
    secret_access_key: str
    creation_date: int


class WireStatement(WireRequest, frozen=True, kw_only=True):
    effect: str
    resource: str
    action: list[str]
    condition: Conditions | None = None


class WirePolicy(WireRequest, frozen=True, kw_only=True):
    id: str
    statement: list[WireStatement]
    creation_date: int | None = None

    @classmethod
    def of(cls, found: PolicyInfo) -> WirePolicy:
        changed = None if found.changed is None else seconds(found.changed)
        return cls(id=found.name, statement=[_to_wire(each) for each in found.statements], creation_date=changed)

    def text(self) -> bytes:
        """Returns the policy as our own verbs read it. Raises Invalid."""
        rows = [_from_wire(each, number) for number, each in enumerate(self.statement, 1)]
        return msgspec.json.encode({"statements": rows})


class PolicyList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WirePolicy]


def _to_wire(row: Any) -> WireStatement:
    resources: list[str] = row["resources"]
    text = resources[0] if len(resources) == 1 else msgspec.json.encode(resources).decode()
    when: dict[str, Any] = dict(row.get("when", {}))
    condition: Conditions = {}
    if "source" in when:
        condition[_ADDRESS[0]] = {_ADDRESS[1]: when["source"]}
    if own := {name: [when[name]] for name in _OWN_NAMES if name in when}:
        condition[_OWN] = own
    return WireStatement(effect=row["effect"], resource=text, action=list(row["actions"]), condition=condition or None)


def _from_wire(statement: WireStatement, number: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "effect": statement.effect,
        "actions": statement.action,
        "resources": [_resource(each) for each in _resources(statement.resource, number)],
    }
    return {**row, "when": _when(statement.condition, number)} if statement.condition else row


def _resources(text: str, number: int) -> list[str]:
    if not text.startswith("["):
        return [text]
    try:
        return msgspec.json.decode(text, type=list[str])
    except msgspec.MsgspecError:
        raise Invalid(f"statement {number}: its resource is not a list in JSON") from None


def _resource(text: str) -> str:
    return text.split(":", 5)[-1] if text.startswith(_ARN) else text


def _when(condition: Conditions, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for operator, given in condition.items():
        for name, values in given.items():
            if (operator, name) == _ADDRESS:
                found["source"] = values
            elif operator == _OWN and name in _OWN_NAMES and len(values) == 1:
                found[name] = values[0]
            else:
                raise Invalid(
                    f"statement {number}: the condition {operator} of {name} is not supported",
                    hint=f"{_ADDRESS[0]} of {_ADDRESS[1]} is, and {_OWN} of {', '.join(_OWN_NAMES)}",
                )
    return found
