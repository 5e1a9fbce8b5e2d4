"""Estimates how long a regular expression may take where it is matched by backtracking, as in Java and Python.

A text of n letters that can be cut in two ways at every step has 2ⁿ ways: `(a+)+`, `(a|a)*`, `(a?b?)*`. One that can
be cut anywhere between two loops has n ways, between three n²: `.*.*`, `a*b?a*`. All are tried before it is refused.

    growth(r"(a+)+b")      EXPONENTIAL
    growth(r".*b.*c.*d")   2: the number of ways grows with the square of the length
    growth(r"a+b+")        0: there is one way at most

The expression becomes an automaton without empty steps: a state for each letter or class that is written in it, an edge
for each way to go on from there. Two edges between the same two states are two ways. Look-around counts as empty; a
bounded repetition counts as a few of its turns if it is short, and as endless if not. Texts are made of the letters
below; no expression that people write distinguishes more of them.
"""

from __future__ import annotations

import re
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

EXPONENTIAL = 1 << 30
STATES_MAX = 2_000
_PAIRS_MAX = 40_000
_CHOICES_MAX = 1 << 20
_STEPS_MAX = 50_000
_TURNS_MAX = 3  # the turns of a bounded repetition that are counted
_LONG = 16  # of one letter: two such repetitions in a row are as bad as two endless ones
_SINGLE = ("LITERAL", "NOT_LITERAL", "IN", "ANY")
_LETTERS = "".join(map(chr, range(128))) + "\x85\xa0é\u0130\u017f\u2028\u212aＡ中"


class TooLarge(Exception):
    """The pattern is too large to be examined."""


def growth(pattern: str, flags: int = 0) -> int:
    """Returns the power of a text's length by which the ways to match it grow, or EXPONENTIAL for more than any power.
    Raises TooLarge, and re.error for a malformed expression."""
    parsed = parser.parse(_separate_branches(pattern), flags)
    automaton = _Automaton(parsed.state.flags)
    automaton.whole(parsed)
    loops = _components(automaton.edges)
    if automaton.has_empty_turns or _is_exponential(automaton, loops):
        return EXPONENTIAL
    return _longest_chain(automaton, loops)


def _separate_branches(pattern: str) -> str:
    """Adds a test that is always true after each `|`. Without it Python's reader makes one class of `a|a`, and one
    beginning of `ab|ac`, which Java does not."""
    out, at = "", 0
    while at < len(pattern):
        stop = _TOKEN.match(pattern, at).end()  # type: ignore[union-attr]  # one of them always fits
        out += pattern[at:stop] + ("(?=)" if pattern[at] == "|" else "")
        at = stop
    return out


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)


@dataclass
class _Part:
    """A piece of an expression: where it begins, where it ends, and in how many ways it may be empty, up to two."""

    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    empty: int = 1


class _Automaton:
    def __init__(self, flags: int) -> None:
        self._flags = flags
        self.letters: list[int] = []  # for each state, a bit for each of _LETTERS
        self.edges: list[dict[int, int]] = []  # for each state, the states after it, with the number of ways
        self.choices = 1  # the choices that short repetitions leave: `a?a?a?` has 8
        self.has_empty_turns = False  # whether a repetition with a minimum of many turns may have empty ones

    def whole(self, parsed: Any) -> _Part:
        return self._sequence(parsed, self._flags)

    def _sequence(self, items: Iterable[Any], flags: int) -> _Part:
        made = _Part()
        for op, argument in items:
            made = self._join_parts(made, self._item(str(op), argument, flags))
        return made

    def _item(self, op: str, argument: Any, flags: int) -> _Part:
        if op in _SINGLE:
            return self._state(op, argument, flags)
        if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = argument
            return self._repeat_part(least, most, inner, flags)
        if op == "SUBPATTERN":
            _, added, removed, inner = argument
            return self._sequence(inner, (flags | added) & ~removed)
        if op == "ATOMIC_GROUP":
            return self._sequence(argument, flags)
        if op == "BRANCH":
            return self._either([self._sequence(each, flags) for each in argument[1]])
        if op in ("ASSERT", "ASSERT_NOT", "AT"):
            return _Part()
        if op == "GROUPREF_EXISTS":
            _, yes, no = argument
            return self._either([self._sequence(each or (), flags) for each in (yes, no)])
        return self._any()  # a back-reference is any text

    def _state(self, op: str, argument: Any, flags: int) -> _Part:
        if len(self.letters) >= STATES_MAX:
            raise TooLarge
        self.letters.append(_letters(op, argument, flags))
        self.edges.append({})
        at = len(self.letters) - 1
        return _Part([at], [at], 0)

    def _any(self) -> _Part:
        return self._loop_part(self._state("ANY", None, re.DOTALL), may_be_empty=True)

    def _repeat_part(self, least: int, most: Any, inner: Any, flags: int) -> _Part:
        endless = _counts_as_endless(least, most, inner)
        made = _Part()
        for _ in range(min(least, _TURNS_MAX) - (1 if endless and least else 0)):
            made = self._join_parts(made, self._sequence(inner, flags))
        if endless:
            part = self._sequence(inner, flags)
            self.has_empty_turns |= bool(part.empty and least > _TURNS_MAX)
            return self._join_parts(made, self._loop_part(part, may_be_empty=not least))
        self.choices *= most - least + 1
        if self.choices > _CHOICES_MAX:
            raise TooLarge
        rest = _Part()
        for _ in range(min(most - least, _TURNS_MAX)):
            rest = self._join_parts(self._sequence(inner, flags), rest)
            rest.empty = 1
        return self._join_parts(made, rest)

    def _loop_part(self, part: _Part, *, may_be_empty: bool) -> _Part:
        self._join(part.last, part.first)
        return _Part(part.first, part.last, min(part.empty + may_be_empty, 2))

    def _join_parts(self, left: _Part, right: _Part) -> _Part:
        self._join(left.last, right.first)
        return _Part(
            [*left.first, *(right.first * left.empty)],
            [*right.last, *(left.last * right.empty)],
            min(left.empty * right.empty, 2),
        )

    def _either(self, parts: list[_Part]) -> _Part:
        return _Part(
            [each for part in parts for each in part.first],
            [each for part in parts for each in part.last],
            min(sum(part.empty for part in parts), 2),
        )

    def _join(self, ends: Iterable[int], starts: Iterable[int]) -> None:
        for end, start in product(ends, starts):
            self.edges[end][start] = self.edges[end].get(start, 0) + 1


def _counts_as_endless(least: int, most: Any, inner: Any) -> bool:
    """Returns whether a repetition counts as endless. `(a?){30}` has 2³⁰ ways, and needs no endless loop for that."""
    if most == parser.MAXREPEAT:
        return True
    if len(inner) == 1 and str(inner[0][0]) in _SINGLE:
        return bool(least < most and most > _LONG)
    return bool(most > _TURNS_MAX)


def _letters(op: str, argument: Any, flags: int) -> int:
    text = "." if op == "ANY" else _class_text(op, argument)
    one = re.compile(text, flags & (re.IGNORECASE | re.ASCII | re.DOTALL))
    fitting = [1 << at for at, letter in enumerate(_LETTERS) if one.fullmatch(letter)]
    return sum(fitting) or 1 << len(_LETTERS)


def _class_text(op: str, argument: Any) -> str:
    """Converts a class or a letter back to text."""
    if op == "LITERAL":
        return re.escape(chr(argument))
    if op == "NOT_LITERAL":
        return f"[^{_escape(argument)}]"
    parts = []
    for kind, value in argument:
        match str(kind):
            case "NEGATE":
                parts.append("^")
            case "LITERAL":
                parts.append(_escape(value))
            case "RANGE":
                parts.append(f"{_escape(value[0])}-{_escape(value[1])}")
            case "CATEGORY":
                parts.append(_CATEGORIES[str(value)])
    return f"[{''.join(parts)}]"


def _escape(code: int) -> str:
    return f"\\U{code:08x}"


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


# ── how many ways ────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_exponential(automaton: _Automaton, loops: list[int]) -> bool:
    """Returns whether some state can return to itself by one text in two ways: by two edges at one step, or by two
    states that are left and reached again together."""
    for state, edges in enumerate(automaton.edges):
        if any(ways > 1 and loops[state] == loops[to] for to, ways in edges.items()):
            return True
    members: dict[int, list[int]] = {}
    for state, loop in enumerate(loops):
        members.setdefault(loop, []).append(state)
    return any(_meet_again(automaton, each) for each in members.values() if len(each) > 1)


def _meet_again(automaton: _Automaton, states: list[int]) -> bool:
    """Returns whether two different paths through the states of one loop can meet again."""
    size = len(automaton.edges)
    if len(states) ** 2 > _PAIRS_MAX:
        raise TooLarge
    pairs = {
        one * size + other: [first * size + second for first, second in _both(automaton, one, other)]
        for one, other in product(states, repeat=2)
    }
    found = _components_of(pairs)
    same = {found[state * size + state] for state in states}
    return any(found[pair] in same for pair in pairs if pair // size != pair % size)


def _both(automaton: _Automaton, one: int, other: int) -> Iterator[tuple[int, int]]:
    """Yields the pairs of states that two states can reach by the same letter."""
    letters = automaton.letters
    for first in automaton.edges[one]:
        for second in automaton.edges[other]:
            if letters[first] & letters[second]:
                yield first, second


def _longest_chain(automaton: _Automaton, loops: list[int]) -> int:
    """Returns the length of the longest chain of loops that one text can pass through, going around in each."""
    steps = [_STEPS_MAX]
    looping = [at for at in range(len(automaton.edges)) if _is_loop(automaton, loops, at)]
    chained: dict[int, set[int]] = {}
    for one in looping:
        reached = _reachable(automaton.edges, one)
        for other in looping:
            if loops[other] in chained.get(loops[one], ()) or loops[one] == loops[other] or other not in reached:
                continue
            if _share(automaton, loops, one, other, steps):
                chained.setdefault(loops[one], set()).add(loops[other])
    return _longest(chained)


def _longest(chained: dict[int, set[int]]) -> int:
    """Returns the length of the longest chain. Chains have no cycles: two loops that lead to each other are one
    loop."""
    length: dict[int, int] = {}
    left = list(chained)
    while left:
        at = left[-1]
        missing = [each for each in chained.get(at, ()) if each not in length]
        if missing:
            left += missing
        else:
            length[at] = max((1 + length[each] for each in chained.get(at, ())), default=0)
            left.pop()
    return max(length.values(), default=0)


def _is_loop(automaton: _Automaton, loops: list[int], state: int) -> bool:
    return any(loops[to] == loops[state] for to in automaton.edges[state])


def _share(automaton: _Automaton, loops: list[int], one: int, other: int, steps: list[int]) -> bool:
    """Returns whether a text leads from `one` back to itself, from `one` to `other`, and from `other` back to itself.
    `steps` is how many steps are left for all calls together."""
    start, goal = (one, one, other), (one, other, other)
    seen, left = {start}, [start]
    letters, edges = automaton.letters, automaton.edges
    while left:
        first, second, third = left.pop()
        for a in edges[first]:
            if loops[a] != loops[one]:
                continue
            for b in edges[second]:
                both = letters[a] & letters[b]
                if not both:
                    continue
                for c in edges[third]:
                    if loops[c] != loops[other] or not both & letters[c]:
                        continue
                    there = (a, b, c)
                    if there == goal:
                        return True
                    if there not in seen:
                        seen.add(there)
                        left.append(there)
                        steps[0] -= 1
                        if steps[0] < 0:
                            raise TooLarge
    return False


def _reachable(edges: list[dict[int, int]], start: int) -> set[int]:
    seen: set[int] = set()
    left = [start]
    while left:
        for to in edges[left.pop()]:
            if to not in seen:
                seen.add(to)
                left.append(to)
    return seen


def _components(edges: list[dict[int, int]]) -> list[int]:
    """Returns for each state a number that it shares with the states that it can reach and be reached from."""
    found = _components_of({at: list(each) for at, each in enumerate(edges)})
    return [found[at] for at in range(len(edges))]


def _components_of(edges: dict[int, list[int]]) -> dict[int, int]:
    """Computes the components by Tarjan's algorithm, without recursion."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    component: dict[int, int] = {}
    path: list[int] = []
    for root in edges:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        path.append(root)
        work = [(root, iter(edges[root]))]
        while work:
            at, following = work[-1]
            for to in following:
                if to not in edges:
                    continue
                if to not in number:
                    number[to] = low[to] = len(number)
                    path.append(to)
                    work.append((to, iter(edges[to])))
                    break
                if to not in component:
                    low[at] = min(low[at], number[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == number[at]:
                    while True:
                        each = path.pop()
                        component[each] = number[at]
                        if each == at:
                            break
    return component
