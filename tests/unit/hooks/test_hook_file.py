"""Hook files: what they may say, and where a mistake is."""

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
    with pytest.raises(HookFileError, match="no 'a'"):
        parse_hook_file(bomb.encode(), "q.yaml")
    with pytest.raises(HookFileError, match="at most"):
        parse_hook_file(b"#" * 70_000, "q.yaml")
