"""Hook files: what they may say, and where a mistake is."""

import msgspec
import pytest

from lochan.hooks.hook_file import EVENTS, HookFileError, parse_hook_file

GOOD = """\
name: quality
on:
  pre-commit: {branches: [main]}
  pre-merge:
if: {paths: [data/*], metadata: {team: search}}
hooks:
  - {id: rows, kind: query, template: row-count, source: shop/data/*.csv, min: 1}
  - {id: told, kind: webhook, url: 'https://example.org/hook', timeout: 5s, retries: 0, headers: {X-Team: search}}
  - {id: code, kind: python, module: checks, arguments: {limit: 3}}
"""


def test_a_file_is_read() -> None:
    found = parse_hook_file(GOOD.encode(), "_lochan/hooks/q.yaml")
    assert found.events["pre-commit"].branches == ("main",)
    assert found.events["pre-merge"].branches == ()
    assert found.conditions.metadata == (("team", "search"),)
    rows, told, code = found.hooks
    assert rows.query == "from shop/data/*.csv | rows:=count() | rows < 1"
    assert (told.timeout_s, told.retries, told.headers) == (5.0, 0, (("X-Team", "search"),))
    assert (code.module, code.function, code.arguments) == ("checks", "check", {"limit": 3})
    assert len(EVENTS) == 32


ONE = "on: pre-commit\nhooks:\n  - {id: a, kind: query, query: from shop}\n"


HOOK = "on: pre-commit\nhooks:\n  - {id: a, kind: "


@pytest.mark.parametrize(
    ("marked", "says"),
    [
        pytest.param("§", "empty", id="nothing"),
        pytest.param("on: [pre-commit\n§", "not YAML", id="no YAML"),
        pytest.param("§- a\n", "`name: value`", id="a list"),
        pytest.param("§on: pre-commit\n", "hooks is missing", id="no hooks"),
        pytest.param(ONE.replace("pre-commit", "§pre-comit"), "no event 'pre-comit'", id="an unknown event"),
        pytest.param(ONE + "§iff: {}\n", "no 'iff'", id="an unknown field"),
        pytest.param(f"{HOOK}§shell}}\n", "no kind 'shell'", id="an unknown kind"),
        pytest.param(f"{HOOK}query, query: §'from shop | =='}}\n", "the query is wrong", id="a wrong query"),
        pytest.param(ONE + "  - §{id: a, kind: query, query: from shop}\n", "two hooks", id="an id twice"),
        pytest.param(f"{HOOK}webhook, url: §'file:///etc/passwd'}}\n", "no scheme", id="a file"),
        pytest.param(f"{HOOK}webhook, url: §'https://u:p@x.org'}}\n", "password", id="a password"),
        pytest.param(f"{HOOK}python, module: §../../x}}\n", "name of Python", id="a path"),
        pytest.param(
            f"{HOOK}query, template: schema, source: shop, columns: §3}}\n", "schema needs columns", id="no columns"
        ),
        pytest.param(f"{HOOK}query, query: from shop, timeout: §2h}}\n", "a timeout is", id="a long timeout"),
    ],
)
def test_a_mistake_has_a_place(marked: str, says: str) -> None:
    """At the mark."""
    before, _, after = marked.partition("§")
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
    with pytest.raises(HookFileError, match=says) as found:
        parse_hook_file(f"{before}{after}".encode(), "q.yaml")
    assert (found.value.line, found.value.column) == (line, column)
    assert str(found.value).startswith(f"q.yaml, line {line}, column {column}: ")


def test_a_file_that_expands_into_a_giant_is_refused() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)
    )
    with pytest.raises(HookFileError, match="more than 10,000 values"):
        parse_hook_file(bomb.encode(), "q.yaml")
    with pytest.raises(HookFileError, match="at most"):
        parse_hook_file(b"#" * 70_000, "q.yaml")


_BOMB = "description:\n  - &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"  - &a{each} [{', '.join([f'*a{each - 1}'] * 9)}]\n" for each in range(1, 9)
)
_MERGED = "description:\n  - &a0 {x: 1}\n" + "".join(
    f"  - &a{each} {{<<: [{', '.join([f'*a{each - 1}'] * 9)}], x{each}: 1}}\n" for each in range(1, 9)
)
_LONG = f"description: [&a8 {'x' * 20_000}]\n"


@pytest.mark.parametrize(
    "bomb, where",
    [
        pytest.param(_BOMB, "kind: query, template: schema, source: logs, columns: {a: *a8}", id="in a query"),
        pytest.param(_BOMB, "kind: python, module: m, arguments: {a: *a8}", id="in arguments"),
        pytest.param(_MERGED, "kind: python, module: m, arguments: *a8", id="merged"),
        pytest.param(_LONG, f"kind: python, module: m, arguments: [{', '.join(['*a8'] * 100)}]", id="a long text"),
    ],
)
def test_a_few_lines_of_aliases_are_not_a_billion_values(bomb: str, where: str) -> None:
    text = f"{bomb}on: pre-commit\nhooks:\n  - {{id: a, {where}}}\n"
    with pytest.raises(HookFileError, match="more than 10,000 values"):
        parse_hook_file(text.encode(), "_lochan/hooks/q.yaml")


def test_an_alias_may_be_used_twice() -> None:
    text = "on: pre-commit\nhooks:\n  - {id: a, kind: python, module: m, arguments: {a: &x [1, 2], b: *x}}\n"
    assert parse_hook_file(text.encode(), "_lochan/hooks/q.yaml").hooks[0].arguments == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize(
    "value",
    ["{a: 0x" + "f" * 8_000 + "}", "{null: 1}", "{a: 0x" + "f" * 40 + "}", "&x {a: *x}", "{2026-01-01: x}"],
    ids=["a long number", "no name", "a large number", "inside itself", "a date as a name"],
)
def test_arguments_are_what_json_has_too(value: str) -> None:
    text = f"on: pre-commit\nhooks:\n  - {{id: a, kind: python, module: m, arguments: {value}}}\n"
    try:
        found = parse_hook_file(text.encode(), "_lochan/hooks/q.yaml")
    except HookFileError:
        return
    msgspec.json.encode(found.hooks[0].arguments)


def test_a_number_of_rows_that_no_query_can_hold() -> None:
    text = "on: pre-commit\nhooks:\n  - {id: a, kind: query, template: row-count, source: logs, min: 0x" + "f" * 8_000
    with pytest.raises(HookFileError, match="not a value"):
        parse_hook_file(f"{text}}}\n".encode(), "_lochan/hooks/q.yaml")
