"""Tests that cannot fail, and sleeps that hope: a walk over the source of all tests finds them.

- An assertion that holds whatever the code does: of a constant, of a tuple, of something with itself, `… or True`.
- A test that asserts nothing, neither itself nor in what it calls, unless its `def` line says `# must not raise`.
- A test that sleeps and then looks, with no loop around: on a busy machine it looks too early. Use `tests.until`, or
  say in a comment on the line why the time itself is meant.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MUST_NOT_RAISE = "# must not raise"
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_EXPECTING = ("raises", "warns", "fail", "expect")  # the last is of a browser's tests


class Source:
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.lines = text.splitlines()
        self.tree = ast.parse(text)
        self.functions = [node for node in ast.walk(self.tree) if isinstance(node, _Function)]

    def place(self, node: ast.expr | ast.stmt) -> str:
        return f"{self.name}:{node.lineno}: {self.lines[node.lineno - 1].strip()}"


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return [Source(str(file.relative_to(TESTS.parent)), file.read_text()) for file in sorted(TESTS.rglob("*.py"))]


@pytest.mark.thorough
def test_no_assertion_holds_whatever_the_code_does(sources: list[Source]) -> None:
    assert [place for source in sources for place in vain_assertions(source)] == []


@pytest.mark.thorough
def test_every_test_can_fail(sources: list[Source]) -> None:
    assert list(without_assertions(sources)) == []


@pytest.mark.thorough
def test_no_test_sleeps_in_hope(sources: list[Source]) -> None:
    assert [place for source in sources for place in hoping_sleeps(source)] == []


@pytest.mark.parametrize(
    "text",
    [
        "assert True",
        "assert 'text'",
        "assert (x == 1, 'why')",
        "assert x.y == x.y",
        "assert x or True",
        "assert len(x) >= 0",
    ],
)
def test_vain_assertions_are_found(text: str) -> None:
    assert list(vain_assertions(Source("a.py", text))) == [f"a.py:1: {text}"]


@pytest.mark.parametrize("text", ["assert x", "assert f(1) == f(1)", "assert x or y", "assert len(x) > 0"])
def test_other_assertions_are_let_be(text: str) -> None:
    assert list(vain_assertions(Source("a.py", text))) == []


def test_tests_without_assertions_are_found() -> None:
    text = """
def helper(): assert x
def test_one(): work()
def test_two(): helper()
def test_three(): work()  # must not raise
def test_four():
    with pytest.raises(ValueError): work()
"""
    assert list(without_assertions([Source("test_a.py", text)])) == ["test_a.py:3: def test_one(): work()"]


def test_hoping_sleeps_are_found() -> None:
    text = """
def test_one():
    time.sleep(1)
    time.sleep(2)  # nothing may come meanwhile
    while not done: time.sleep(3)
    def slow_client(): time.sleep(4)
    async def play():
        await asyncio.sleep(5)
        await asyncio.sleep(0)
"""
    found = list(hoping_sleeps(Source("test_a.py", text)))
    assert found == ["test_a.py:3: time.sleep(1)", "test_a.py:8: await asyncio.sleep(5)"]


def vain_assertions(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assert) and _always_holds(node.test):
            yield source.place(node)


def _always_holds(test: ast.expr) -> bool:
    match test:
        case ast.Constant() | ast.Tuple() | ast.JoinedStr():
            return True
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(isinstance(value, ast.Constant) and value.value for value in values)
        case ast.Compare(left=ast.Call(func=ast.Name(id="len")), ops=[ast.GtE()], comparators=[ast.Constant(value=0)]):
            return True
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]):
            return ast.dump(left) == ast.dump(right) and not any(isinstance(each, ast.Call) for each in ast.walk(left))
    return False


def without_assertions(sources: list[Source]) -> Iterator[str]:
    """A call is looked up by its name alone, in all of the tests: too many are let be rather than too few."""
    functions: dict[str, list[_Function]] = defaultdict(list)
    for source in sources:
        for function in source.functions:
            functions[function.name].append(function)
    for source in sources:
        for function in source.functions:
            is_test = function.name.startswith("test_") and Path(source.name).name.startswith("test_")
            allowed = source.lines[function.lineno - 1].endswith(MUST_NOT_RAISE)
            if is_test and not allowed and not _asserts(function, functions, {function.name}):
                yield source.place(function)


def _asserts(function: _Function, functions: dict[str, list[_Function]], seen: set[str]) -> bool:
    called = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        if isinstance(node, ast.Call):
            called.append(_name(node))
    if any(name in _EXPECTING for name in called):
        return True
    for name in called:
        if name not in seen:
            seen.add(name)
            if any(_asserts(each, functions, seen) for each in functions.get(name, [])):
                return True
    return False


def hoping_sleeps(source: Source) -> Iterator[str]:
    """Sleeps in a test, or in its `play`. A stand-in for something slow is a function with another name."""
    for function in source.functions:
        if function.name == "play" or function.name.startswith("test_"):
            for sleep in _straight_sleeps(function.body):
                if "  # " not in source.lines[sleep.lineno - 1]:
                    yield source.place(sleep)


def _straight_sleeps(nodes: list[ast.stmt]) -> Iterator[ast.Call]:
    """Those that are neither in a loop nor in another function."""
    waiting: list[ast.AST] = list(nodes)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, _Function | ast.Lambda | ast.While | ast.For | ast.AsyncFor):
            continue
        if isinstance(node, ast.Call) and _is_real_sleep(node):
            yield node
        waiting[:0] = ast.iter_child_nodes(node)


def _is_real_sleep(call: ast.Call) -> bool:
    """A sleep by the machine's own clock, not one that only yields."""
    match call:
        case ast.Call(args=[ast.Constant(value=0)]):
            return False
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time" | "asyncio"), attr="sleep")):
            return True
    return False


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
