"""Which policies are accepted, and the errors for the others. Every action is on the page."""

from pathlib import Path

import pytest

from lochan.access.policies import parse_statements, statement_rows
from lochan.access.policy import ACTIONS, BUILT_IN, PATTERNS_MAX, READING, STATEMENTS_MAX, WRITING, check_statements
from lochan.access.users import check_key_id, check_name, check_secret
from lochan.errors import Invalid
from lochan.formats.lake_events import Statement
from tests.unit.access.place import allow, deny

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "access.md"


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_has_its_row_on_the_page(action: str) -> None:
    on, what = ACTIONS[action]
    assert f"| `{action}` | {what} | `{on}` |" in PAGE.read_text(encoding="utf-8")


def test_the_ready_policies_are_policies() -> None:
    for statements in BUILT_IN.values():
        check_statements(statements)
    assert set(READING + WRITING) < set(ACTIONS)
    assert not set(READING) & set(WRITING)


@pytest.mark.parametrize(
    "statements, message",
    [
        ([], "needs a statement"),
        ([allow("*", "*")] * (STATEMENTS_MAX + 1), "at most"),
        ([Statement("allow", ("*",), ("repository/" + "x" * 2_000,) * 10)] * 20, "the policy is longer"),
        ([Statement("Allow", ("*",), ("*",))], "statement 1: 'Allow' is not an effect"),
        ([Statement("allow", (), ("*",))], "names no actions"),
        ([Statement("allow", ("*",), ())], "names no resources"),
        ([Statement("allow", ("*",), ("*",) * (PATTERNS_MAX + 1))], "is the most"),
        ([allow("*", "*"), allow("fs:ReadObjct", "*")], "statement 2: .*'fs:ReadObjct'; did you mean 'fs:ReadObject'"),
        ([allow("s3:GetObject", "*")], "'s3:GetObject'"),
        ([deny("fs:Reed*", "*")], "no action fits 'fs:Reed\\*'"),
        ([allow("fs:readobject", "*")], "no action 'fs:readobject'"),
        ([allow("fs:*", "repo/x")], "'repo/x' is not a pattern"),
        ([allow("fs:*", "repository/" + "x" * 3_000)], "longer than"),
        ([Statement("allow", ("*a" * 1_000 + "b",), ("*",))], "no action fits"),
    ],
)
def test_policies_without_meaning_are_refused(statements: list[Statement], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        check_statements(statements)


@pytest.mark.parametrize("action", ["*", "fs:*", "*:Read*", "fs:?eadObject", "auth:*", "fs:**", "fs:ReadObject"])
def test_actions_can_be_named_with_wildcards(action: str) -> None:  # must not raise
    check_statements([allow(action, "*")])


YAML = b"""
statements:
  - effect: allow
    actions: ["fs:Read*", "fs:List*"]
    resources: repository/sales/*
  - {effect: deny, actions: "*", resources: ["*"]}
"""
JSON = b"""{"statements": [
  {"effect": "allow", "actions": ["fs:Read*", "fs:List*"], "resources": ["repository/sales/*"]},
  {"effect": "deny", "actions": "*", "resources": "*"}]}"""


@pytest.mark.parametrize("data", [YAML, JSON], ids=["yaml", "json"])
def test_a_policy_is_read(data: bytes) -> None:
    statements = parse_statements(data, "p")
    assert statements == (allow("fs:Read* fs:List*", "repository/sales/*"), deny("*", "*"))
    assert (
        parse_statements(repr({"statements": statement_rows(statements)}).replace("'", '"').encode(), "p") == statements
    )


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "p: this is not a policy"),
        (b"[]", "this is not a policy"),
        (b"{", "not JSON"),
        (b"a: [", "not YAML"),
        (b"\xff\xfe", "not YAML|not a policy"),
        (b"!!python/object:os.system {}", "not YAML"),
        (b"statements: []\nname: x", "unknown field `name`"),
        (b"statements: [{effect: allow, actions: x}]", "missing required field `resources`"),
        (b"statements: [{effect: allow, actions: x, resources: 3}]", "resources"),
        (b"statements: [{effect: allow, action: x, resources: x}]", "action"),
        (b"{" + b"[" * 100_000, "not JSON|deeply"),
        (b"[" * 100_000, "deeply|not YAML"),
        (b"#" * 300_000, "at most"),
        (
            b'{"statements": [{"effect": "deny", "effect": "allow", "actions": "x", "resources": "x"}]}',
            "'effect' is given",
        ),
        (
            b"statements:\n- {effect: deny, actions: x, resources: x,\n   effect: allow}",
            "line 3: 'effect' is given twice",
        ),
        (b"a: &a [b]\nc: &c [*a, *a]\nd: &d [*c, *c, *d]\nstatements: []", "unknown field"),
    ],
)
@pytest.mark.thorough
def test_invalid_policies_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        parse_statements(data, "p")


@pytest.mark.parametrize("name", ["bob", "ada@example.org", "a", "svc-1.x_y+z=", "A" * 128])
def test_names(name: str) -> None:  # must not raise
    check_name("user", name)
    check_name("policy", name)


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "<img>", "a\n", "ü", "A" * 129, "*"])
def test_names_that_cannot_be(name: str) -> None:
    for owner in ("user", "policy"):
        with pytest.raises(Invalid, match="name"):
            check_name(owner, name)


@pytest.mark.parametrize("id", ["", "ab", "a/b", "a,b", "a=b", "a b", "ü" * 5, "x" * 129])
def test_key_ids_that_cannot_be(id: str) -> None:
    with pytest.raises(Invalid, match="id"):
        check_key_id(id)


@pytest.mark.parametrize("secret", ["", "short", "x" * 15, "with space in the text", "ü" * 20, "x" * 129])
def test_a_secret_that_cannot_be_is_not_repeated(secret: str) -> None:
    with pytest.raises(Invalid) as raised:
        check_secret(secret)
    assert not secret or secret not in str(raised.value)
