"""No regular expression of ours takes long over any text: all of them are found, in the source and in loaded modules,
and looked at for loops within loops and loops beside loops over the same letters."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.query.dialects import shared_texts as scalar_texts
from lochan.query.dialects.backtracking import EXPONENTIAL, growth
from lochan.query.sql.parse import _DASHED, _quote_names
from lochan.query.syntax.tokens import is_sql

ROOT = Path(lochan.__file__).parent
NAMES = ("compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")
CALLS = {f"re.{name}" for name in NAMES}

# Made while the program runs; where what they match, and how, is bounded.
DYNAMIC = {
    "access/policy.py": "wildcards.regex: each part between stars is an atomic group",
    "access/rights.py": "resources.regex, made of wildcards.regex",
    "checkout/ignore.py": "each part between stars is an atomic group",
    "query/compile/patterns.py": "compiled, to be checked and to count its groups, and never matched",
    "query/dialects/backtracking.py": "one class, matched against one letter",
    "versioning/workspaces/selection.py": "compiled, to be checked, and never matched",
    "versioning/bodies/outside_files.py": "a compiled one of its own",
    "engines/spark/frames/table_frame.py": "a constant behind an id that is escaped",
    "versioning/collection/journal_names.py": "a constant behind the id of a repository",
}


def written() -> Iterator[tuple[str, str, int]]:
    """Location, pattern and flags of the expressions that are constants in a call."""
    for path, call in calls():
        if isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
            yield path, call.args[0].value, _flags(call)


@cache
def tree_of(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def calls() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(str(file.relative_to(ROOT)) for file in ROOT.rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
                yield path, node


def loaded() -> Iterator[tuple[str, str, int]]:
    """Those that modules have made, also in tables."""
    for module in pkgutil.walk_packages(lochan.__path__, "lochan."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for each in _patterns(value):
                if isinstance(each.pattern, str):
                    yield f"{module.name}.{name}", each.pattern, each.flags
                else:
                    yield f"{module.name}.{name}", each.pattern.decode("latin-1"), each.flags


def _patterns(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _patterns(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _patterns(each)


def _flags(call: ast.Call) -> int:
    named = {each.attr for argument in call.args[1:] for each in ast.walk(argument) if isinstance(each, ast.Attribute)}
    found = 0
    for name in named & set(re.RegexFlag.__members__):
        found |= re.RegexFlag[name]
    return found


@pytest.mark.thorough
def test_none_of_ours_can_be_cut_in_many_ways() -> None:
    found = {(pattern, flags): where for where, pattern, flags in (*written(), *loaded())}
    assert len(found) > 80
    bad = {(where, pattern) for (pattern, flags), where in found.items() if growth(pattern, flags & ~re.DEBUG)}
    assert bad == set()


@pytest.mark.thorough
def test_those_that_are_made_at_run_time_are_known() -> None:
    made = set()
    for path, call in calls():
        if not isinstance(call.args[0], ast.Constant) and not _is_module_level(path, call):
            made.add(path)
    assert made <= set(DYNAMIC), "match what users write by RE2, or say here why it is bounded"


def _is_module_level(path: str, call: ast.Call) -> bool:
    inside = {
        (each.lineno, each.col_offset)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for each in ast.walk(node)
        if isinstance(each, ast.Call)
    }
    return (call.lineno, call.col_offset) not in inside


@pytest.mark.parametrize("pattern", [scalar_texts.IPV4, scalar_texts.IPV6, scalar_texts.DURATION])
def test_those_that_an_engine_matches(pattern: str) -> None:
    assert growth(pattern.replace("\\z", "\\Z")) == 0


@pytest.mark.parametrize(
    "pattern, ways",
    [
        (r"(a+)+b", EXPONENTIAL),
        (r"(a|a)*", EXPONENTIAL),
        (r"(ab|ab)*", EXPONENTIAL),
        (r"(a?b?)*", EXPONENTIAL),
        (r"(a|b|ab)*c", EXPONENTIAL),
        (r"(?:\s+|--[^\n]*\n|/\*.*?\*/)*(?:select|with)\b", EXPONENTIAL),
        (r"(a?){30}a{30}", EXPONENTIAL),
        (r"(\w{0,30}){0,30}", EXPONENTIAL),
        (r"(?:\w|_)+", EXPONENTIAL),
        (r"\s*\s*", 1),
        (r"a*b?a*", 1),
        (r".*b.*c.*d", 2),
        (r"a+b+", 0),
        (r"(?:a|ab)*c", 0),
        (r"[0-9a-f]{64}", 0),
        (r"'(?:[^']|'')*'", 0),
    ],
)
def test_ways_to_match(pattern: str, ways: int) -> None:
    assert growth(pattern) == ways


def test_the_language_of_many_blanks() -> None:
    """Each of these is looked at once from the left to the right."""
    assert not is_sql("\n" + " " * 100_000)
    assert not is_sql(" \n" * 50_000 + "from x")
    assert is_sql("-- a\n/* b */ \n\t" + " " * 100_000 + "/**/select 1")
    assert not is_sql("/* select 1")


@pytest.mark.parametrize("text", ["/*", "'", '"', "*?", "-a", "from ", "a@", ":a", "{", "@{", "from a*"])
def test_sources_of_a_long_text(text: str) -> None:
    """A hundred thousand letters, any number of which could begin something that never ends."""
    assert _quote_names("select 1 " + text * (100_000 // len(text))).written


@pytest.mark.parametrize("text", ["a", "-", "a-", "-a", "a--", "a b"])
def test_names_with_dashes_of_a_long_text(text: str) -> None:
    assert len(list(_DASHED.finditer(text * (100_000 // len(text))))) <= 1


def test_quotes_are_put_around_sources() -> None:
    asked = "select 'a@b' from logs@main where x = '--' /* from a@b */ and y in (select y from p:objects)"
    assert _quote_names(asked).quoted == asked.replace("logs@main", '"logs@main"').replace("p:objects", '"p:objects"')
