"""Expressions and functions, each on one row."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from lochan.errors import Invalid
from lochan.query.errors import QueryError
from tests.unit.query.run_query import ask

ROW = {"i": 7, "f": 2.5, "s": "Kelvin K", "b": True, "n": None, "l": [3, 4], "o": {"p": 1}, "big": 9007199254740993}
E = object()  # it has no value


CASES: list[tuple[str, Any]] = [
    # arithmetic
    ("i + 1", 8),
    ("i / 2", 3),
    ("-i / 2", -3),
    ("-i % 4", -3),
    ("i / 2.0", 3.5),
    ("f * 2", 5.0),
    ("i / 0", E),
    ("i % 0", E),
    ("f / 0", E),
    ("9223372036854775807 + i", E),
    ("-9223372036854775808 / -1", E),
    ('s + "!"', "Kelvin K!"),
    ("s + i", E),
    ("n + 1", None),
    ("i / 0 + 1", E),
    ("1h + 30m", "1h30m"),
    ("90m / 2", "45m"),
    ("-(f)", -2.5),
    ("-s", E),
    # comparisons
    ("i == 7.0", True),
    ("i < 7.5", True),
    ("i > 6.5 and i >= 7 and i <= 7", True),
    ("big == 9007199254740993.0", True),
    ("big > 9007199254740992.0", True),
    ("i < 1e300 and i > -1e300 and i != 1e300", True),
    ('i == "7"', False),
    ('i != "7"', False),
    ("n == null", True),
    ("i == null", False),
    ("i != null", True),
    ("n != null", False),
    ("l == [3, 4]", True),
    ("l == [3]", False),
    ("b == true", True),
    ("i in [1, 7]", True),
    ('i in (1, "7")', False),
    ("3 in l", True),
    ('"K" in s', True),
    ("i between 7 and 8", True),
    ('s like "Kel%K"', True),
    ('s like "kel%"', False),
    ("not (i == 8)", True),
    ("n and true", None),
    ("n or true", True),
    ('i == 7 ? "yes" : 5', "yes"),
    ('n == 7 ? "yes" : 5', 5),
    # kinds
    ("kind(i)", "int"),
    ("kind(o)", "record"),
    ("typeof(o)", "{p:int}"),
    ("typeof(l)", "[int]"),
    ("typeof(n)", "null"),
    ('is(f, "float")', True),
    ("has(n)", True),
    ("has(nowhere)", False),
    ("missing(o.q)", True),
    ("coalesce(n, nowhere, i)", 7),
    ("coalesce(n, nowhere)", None),
    ("is_error(int64(s))", True),
    ("is_error(int64(i))", False),
    ("is_error(i / 0)", True),
    # text
    ("len(s)", 8),
    ("len(l)", 2),
    ("len(o)", 1),
    ("lower(s)", "kelvin k"),
    ('upper("straße")', "STRAßE"),
    ('trim("  a b ")', "a b"),
    ('split(s, " ")', ["Kelvin", "K"]),
    ('join(split(s, " "), "-")', "Kelvin-K"),
    ('replace(s, "K", "k")', "kelvin k"),
    ("regexp(/(K)(e)/, s)", ["Ke", "K", "e"]),
    ("regexp(/x/, s)", None),
    ('regexp_replace(s, /[Ke]/, "_")', "__lvin _"),
    ("grep(/vin$/, s)", False),
    ('grep("KELVIN", s)', True),
    ("grep(v*n, s)", True),
    ("substr(s, 1)", "elvin K"),
    ("substr(s, 1, 2)", "el"),
    ("s[1:3]", "el"),
    ("s[-1:]", "K"),
    ("l[0]", 3),
    ("l[-1]", 4),
    ("l[1:]", [4]),
    ('levenshtein("abc", "abd")', 1),
    ("lower(i)", E),
    # numbers
    ("abs(-i)", 7),
    ("ceil(f)", 3.0),
    ("floor(-f)", -3.0),
    ("round(f)", 3.0),
    ("round(1.25, 1)", 1.3),
    ("ceil(i)", 7),
    ("pow(i, 2)", 49.0),
    ("sqrt(16)", 4.0),
    ("sqrt(-1)", E),
    ("log(0)", E),
    ("bucket(i, 5)", 5),
    ("bucket(-i, 5)", -10),
    # times
    ("now()", "2025-06-15T15:06:40Z"),
    ('strftime("%d.%m.%Y", 2026-02-01T00:00:00Z)', "01.02.2026"),
    ('parse_time("01.02.2026", "%d.%m.%Y")', "2026-02-01T00:00:00Z"),
    ('parse_time("x", "%d.%m.%Y")', None),
    ("bucket(2026-02-01T10:44:00Z, 15m)", "2026-02-01T10:30:00Z"),
    ("2026-02-01T10:00:00.5Z + 1s", "2026-02-01T10:00:01.5Z"),
    # encodings
    ('base64("hé")', "aMOp"),
    ('hex("hé")', "68c3a9"),
    ('parse_json("[1,2.5]")[1]', 2.5),
    ('parse_json("{\\"a\\":{\\"b\\":\\"x\\"}}").a.b', "x"),
    ('parse_json("no")', None),
    ("to_json(o)", '{"p":1}'),
    ("to_json([i, s])", '[7,"Kelvin K"]'),
    # networks
    ('cidr_match(10.0.0.0/8, "10.1.2.3")', True),
    ('cidr_match(10.0.0.0/8, "11.1.2.3")', False),
    ('cidr_match(10.0.0.0/8, "10.1.2")', False),
    ('ip("10.0.0.9") < 10.0.0.10', True),
    ("10.0.0.9 in 10.0.0.0/24", True),
    # casts
    ('int64("-12")', -12),
    ('int64(" 12")', None),
    ('int64("1_000")', None),
    ("int64(f)", 2),
    ("int64(-1.9)", -1),
    ("int64(1e30)", None),
    ("int64(b)", 1),
    ('float64("1e3")', 1000.0),
    ("float64(i)", 7.0),
    ("string(i)", "7"),
    ("string(b)", "true"),
    ("string(2026-02-01T10:00:00Z)", "2026-02-01T10:00:00Z"),
    ("string(10.0.0.9)", "10.0.0.9"),
    ("string(90m)", "1h30m"),
    ('time("2026-02-01")', "2026-02-01T00:00:00Z"),
    ('time("2026-02-01T10:00:00+02:00")', "2026-02-01T08:00:00Z"),
    ('time("2026-02-30")', None),
    ("time(0)", "1970-01-01T00:00:00Z"),
    ("duration(1500000)", "1.5s"),
    ('duration("1d2h3m4.5s")', "1d2h3m4.5s"),
    ('duration("-90s")', "-1m30s"),
    ('duration("5ms")', "0.005s"),
    ('duration("x")', None),
    ('duration("")', None),
    ('bool("true")', True),
    ("bool(0)", False),
    ('ip("10.0.0.1")', "10.0.0.1"),
    ('ip("10.0.0.256")', None),
    ('ip("FE80::0001")', "fe80::1"),
    ('ip("::")', "::"),
    ('ip("1:2:3:4:5:6:7:8")', "1:2:3:4:5:6:7:8"),
    ('ip("1::2::3")', None),
    ('ip("1:2:3")', None),
    ('ip("::12345")', None),
    ('ip("fe80::1") == fe80::1', True),
    ('ip("fe80::1") in fe80::/10', True),
    ('ip("10.0.0.1") < ::1', True),
    ('string(ip("fe80:0:0:1::5"))', "fe80:0:0:1::5"),
    ('string(ip("0:0:0:1:0:0:0:1"))', "::1:0:0:0:1"),
    ('string(ip("1:0:0:2:0:0:0:3"))', "1:0:0:2::3"),
    ("string(::)", "::"),
    ("string(1::)", "1::"),
    ("int64(n)", None),
]


@functools.cache
def values() -> dict[str, Any]:
    """All in one query, which is faster than several."""
    fields = ", ".join(f"v{at}: {expression}" for at, (expression, _) in enumerate(CASES))
    row: dict[str, Any] = ask(f"from p | yield {{{fields}}}", [ROW])[0]
    return row


@pytest.mark.thorough
@pytest.mark.parametrize("at", range(len(CASES)), ids=[expression for expression, _ in CASES])
def test_expression(at: int) -> None:
    found, value = values()[f"v{at}"], CASES[at][1]
    if value is E:
        assert found is None and errors()[f"v{at}"]
    else:
        assert found == value and type(found) is type(value)


@functools.cache
def errors() -> dict[str, bool]:
    """The errors of those that have no value."""
    failing = [(at, expression) for at, (expression, value) in enumerate(CASES) if value is E]
    fields = ", ".join(f"v{at}: is_error({expression})" for at, expression in failing)
    row: dict[str, bool] = ask(f"from p | yield {{{fields}}}", [ROW])[0]
    return row


@pytest.mark.parametrize("expression", ["nowhere2 + 1", "o.q == 1", "f.x"])
def test_a_field_that_no_row_has_is_a_mistake(expression: str) -> None:
    known = expression == "f.x"
    if known:  # what is no object has no members: missing, and no mistake
        assert ask(f"from p | yield {expression}", [ROW]) == []
        return
    with pytest.raises(QueryError, match="unknown field"):
        ask(f"from p | where {expression}", [ROW])


def test_the_mistake_names_what_is_near() -> None:
    with pytest.raises(QueryError) as caught:
        ask("from p | where stauts == 5", [{"status": 5}])
    assert "did you mean `status`?" in str(caught.value) and caught.value.column == 16


@pytest.mark.parametrize(
    "query, message",
    [
        ("from p | yield string(f)", "cannot convert floats to strings"),
        ("from p | /a(?=b)/", "is not supported"),
        ("from p | /(a)\\1/", "is not supported"),
        ("from p | s ~ /\\p{L}/", "is not supported"),
        ('from p | yield strftime("%q", now())', "does not support"),
        ("from p | yield round(f, 99)", "0 to 15"),
        ("from p | yield l[i]", "an index must be"),
        ('from p | yield is(i, "number")', "no kind"),
        ("from p | drop nope", "unknown field"),
        ("from p | rename x := nope", "unknown field"),
        ("from p | rename o.x := i", "moved"),
        ("from p | quantile(f, 2)", "between 0 and 1"),
        ("from p | load q | head 1", "load"),
        ("head 1", "where its rows come from"),
    ],
)
def test_refused(query: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        ask(query, [ROW])


def test_names_are_searched_by_an_expression_that_would_be_tried_in_very_many_ways() -> None:
    row = {"a" * 60 + "!": 1, "b": "x"}
    assert ask("from p | search /^(a+)+b/", [row]) == []
    assert ask("from p | search /^(a|a)+!$/", [row]) == [row]


@pytest.mark.parametrize("pattern", ["a{2000}", "(a{1000}){1000}"])
def test_an_expression_that_no_engine_takes(pattern: str) -> None:
    with pytest.raises(QueryError, match="this pattern is not supported"):
        ask(f"from p | search /{pattern}/", [ROW])
