"""Policies: put, deleted, attached and detached; and as people write them, in YAML or JSON:

statements:
  - effect: allow
    actions: ["fs:Read*", "fs:List*"]
    resources: repository/sales/*
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from lochan.access.open_access import OpenAccess
from lochan.access.policy import check_statements
from lochan.access.users import check_name
from lochan.errors import Invalid
from lochan.formats.lake_events import PolicyAttached, PolicyDeleted, PolicyDetached, PolicyPut, Statement
from lochan.formats.record import Actor

SIZE_BYTES_MAX = 1 << 18


async def put_policy(
    access: OpenAccess, name: str, statements: Sequence[Statement], *, actor: Actor, key: str = ""
) -> None:
    """A new one, or in place of the one of that name, for everybody who has it. Raises Invalid, or Refused for the
    policies that every lake has."""
    check_name("policy", name)
    check_statements(statements)
    event = PolicyPut(name, tuple(statements))
    await access.submit(actor, lambda state: [event], "put-policy", event, key=key, takes_away=True)


async def delete_policy(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> None:
    """Raises NotFound, or Refused while somebody has it: what it denied would be open without a word."""
    await access.submit(actor, lambda state: [PolicyDeleted(name)], "delete-policy", name, key=key)


async def attach(access: OpenAccess, policy: str, principal: str, *, actor: Actor, key: str = "") -> None:
    """It may deny something, so this waits as a revocation does. Raises NotFound, AlreadyExists."""
    event = PolicyAttached(policy, principal)
    await access.submit(actor, lambda state: [event], "attach", policy, principal, key=key, takes_away=True)


async def detach(access: OpenAccess, policy: str, principal: str, *, actor: Actor, key: str = "") -> None:
    """Raises NotFound, or Refused for the policy Admin of the last who has it."""
    event = PolicyDetached(policy, principal)
    await access.submit(actor, lambda state: [event], "detach", policy, principal, key=key, takes_away=True)


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    effect: str
    actions: str | list[str]
    resources: str | list[str]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    statements: list[_Written]


def parse_statements(data: bytes, what: str) -> tuple[Statement, ...]:
    """Raises Invalid, naming `what`. Whether there are such actions is not looked at here."""
    if len(data) > SIZE_BYTES_MAX:
        raise Invalid(f"{what}: a policy has at most {SIZE_BYTES_MAX} bytes")
    try:
        read = msgspec.convert(_loaded(data, what), _File)
    except msgspec.ValidationError as error:
        raise Invalid(f"{what}: this is not a policy: {error}", hint=_HINT) from None
    return tuple(Statement(each.effect, _many(each.actions), _many(each.resources)) for each in read.statements)


def statement_rows(statements: tuple[Statement, ...]) -> list[dict[str, Any]]:
    """As `parse_statements` reads them."""
    return [
        {"effect": each.effect, "actions": list(each.actions), "resources": list(each.resources)} for each in statements
    ]


def _many(texts: str | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _loaded(data: bytes, what: str) -> Any:
    """JSON, which is quicker to read and has clearer mistakes, else YAML."""
    if data.lstrip()[:1] == b"{":
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            raise Invalid(f"{what}: not JSON: {error}") from None
    import yaml

    try:
        return yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise Invalid(f"{what}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise Invalid(f"{what}: nested too deeply") from None


_HINT = "write statements: - {effect: allow, actions: ['fs:Read*'], resources: ['repository/NAME/*']}"
