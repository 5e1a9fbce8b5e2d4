"""Policies: putting, deleting, attaching and detaching them, and their text form, in YAML or JSON:

statements:
  - effect: allow
    actions: ["fs:Read*", "fs:List*"]
    resources: repository/sales/*
    when: {source: 10.0.0.0/8, hours: 08:00-18:00, before: 2027-01-01T00:00:00Z}
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.access.conditions import condition_row, parse_conditions
from lochan.access.open_access import OpenAccess
from lochan.access.policy import check_statements
from lochan.access.users import check_name
from lochan.errors import Invalid
from lochan.formats.json_names import repeated_name
from lochan.formats.lake_events import PolicyAttached, PolicyDeleted, PolicyDetached, PolicyPut, Statement
from lochan.formats.record import Actor

if TYPE_CHECKING:
    import yaml

SIZE_BYTES_MAX = 1 << 18


async def put_policy(
    access: OpenAccess, name: str, statements: Sequence[Statement], *, actor: Actor, key: str = ""
) -> None:
    """Creates a policy, or replaces the one of that name for every user and group that has it. Raises Invalid, or
    Refused for the policies that every lake has."""
    check_name("policy", name)
    check_statements(statements)
    event = PolicyPut(name, tuple(statements))
    await access.submit(actor, lambda state: [event], "put-policy", event, key=key, takes_away=True)


async def delete_policy(access: OpenAccess, name: str, *, actor: Actor, key: str = "") -> None:
    """Deletes a policy. Raises NotFound, or Refused while it is attached: what it denied would silently become open."""
    await access.submit(actor, lambda state: [PolicyDeleted(name)], "delete-policy", name, key=key)


async def attach(access: OpenAccess, policy: str, principal: str, *, actor: Actor, key: str = "") -> None:
    """Attaches a policy to a user or a group. It may deny something, so this waits as a revocation does. Raises
    NotFound or AlreadyExists."""
    event = PolicyAttached(policy, principal)
    await access.submit(actor, lambda state: [event], "attach", policy, principal, key=key, takes_away=True)


async def detach(access: OpenAccess, policy: str, principal: str, *, actor: Actor, key: str = "") -> None:
    """Detaches a policy. Raises NotFound, or Refused if no user would have the policy Admin."""
    event = PolicyDetached(policy, principal)
    await access.submit(actor, lambda state: [event], "detach", policy, principal, key=key, takes_away=True)


class _WrittenConditions(msgspec.Struct, forbid_unknown_fields=True):
    source: str | list[str] | None = None
    after: Any = None  # a text, or what YAML makes of one
    before: Any = None
    hours: str | None = None


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    effect: str
    actions: str | list[str]
    resources: str | list[str]
    when: _WrittenConditions | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    statements: list[_Written]


def parse_statements(data: bytes, what: str) -> tuple[Statement, ...]:
    """Parses a policy. Raises Invalid, naming `what`. It does not check whether the actions exist."""
    if len(data) > SIZE_BYTES_MAX:
        raise Invalid(f"{what}: a policy has at most {SIZE_BYTES_MAX} bytes")
    try:
        read = msgspec.convert(_load_text(data, what), _File)
    except msgspec.ValidationError as error:
        raise Invalid(f"{what}: this is not a policy: {error}", hint=_HINT) from None
    return tuple(_statement(each, number, what) for number, each in enumerate(read.statements, 1))


def _statement(written: _Written, number: int, what: str) -> Statement:
    when = written.when
    try:
        conditions = None if when is None else parse_conditions(when.source, when.after, when.before, when.hours)
    except Invalid as error:
        raise Invalid(f"{what}: statement {number}: {error.message}", hint=error.hint) from None
    return Statement(written.effect, _many(written.actions), _many(written.resources), conditions)


def statement_rows(statements: tuple[Statement, ...]) -> list[dict[str, Any]]:
    """Returns the statements in the form that `parse_statements` reads."""
    return [_row(each) for each in statements]


def _row(statement: Statement) -> dict[str, Any]:
    found: dict[str, Any] = {
        "effect": statement.effect,
        "actions": list(statement.actions),
        "resources": list(statement.resources),
    }
    return found if statement.conditions is None else {**found, "when": condition_row(statement.conditions)}


def _many(texts: str | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _load_text(data: bytes, what: str) -> Any:
    """Reads the text as JSON if it begins with a brace, because that is quicker and gives clearer errors; else as
    YAML."""
    if data.lstrip()[:1] == b"{":
        try:
            found = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Invalid(f"{what}: not JSON: {error}") from None
        if (name := repeated_name(data)) is not None:
            raise Invalid(f"{what}: {name[:80]!r} is given twice")
        return found
    import yaml

    try:
        _check_names(yaml.compose(data, Loader=yaml.SafeLoader), what)
        return yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise Invalid(f"{what}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise Invalid(f"{what}: nested too deeply") from None


def _check_names(root: "yaml.Node | None", what: str) -> None:
    """Raises Invalid for a name that occurs twice in one mapping. YAML would take its last value."""
    import yaml

    seen: set[int] = set()  # by aliases a node may stand at many places, also within itself
    rest = [] if root is None else [root]
    while rest:
        node = rest.pop()
        if id(node) in seen or isinstance(node.value, str):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            rest += node.value
            continue
        names: set[str] = set()
        for key, value in node.value:
            if isinstance(key.value, str) and key.value in names:
                raise Invalid(f"{what}, line {key.start_mark.line + 1}: {key.value[:80]!r} is given twice")
            names.add(str(key.value))
            rest.append(value)


_HINT = "write statements: - {effect: allow, actions: ['fs:Read*'], resources: ['repository/NAME/*']}"
