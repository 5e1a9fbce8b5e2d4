"""Checks whether the answers that several clients got, and the state that is there now, can result from doing one step
after another.

It tries every order of the steps: that is what "linearizable" means. A request that failed with an unknown outcome may
have happened or not, but never by half.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.model.versioned.predict import begin, finish
from tests.model.versioned.predict_moves import seal
from tests.model.versioned.requests import Request
from tests.model.versioned.state import No, State, same
from tests.model.versioned.verbs import NOT_DONE, Answer


class SentRequest(NamedTuple):
    request: Request
    name: str  # of what it commits
    answer: Answer


class _Step(NamedTuple):
    asked: SentRequest
    begun: bool = False
    seen: Any = None
    sealed: bool = False  # must land now


def linearized(before: State, asked: list[SentRequest], after: State) -> State | None:
    """A possible state that equals `after`, or None if no order of the requests leads there."""
    return next((state for state in ends(before, asked) if same(state, after)), None)


def ends(before: State, asked: list[SentRequest]) -> Iterator[State]:
    """Every state that may have come about; some of them more than once."""
    steps = tuple(_Step(one) for one in asked if one.answer.kind != NOT_DONE)
    return _ends(before, steps, len(asked) > 1)


def works(state: State, request: Request) -> bool:
    """Whether it would change something, even if only the layout on the store."""
    if request.verb == "compact":
        return request.words[0] in state.branches and bool(state.branches[str(request.words[0])].staged)
    try:
        return not same(state, finish(state, request, begin(state, request), "new")[-1].state)
    except No:
        return False


def predicted(before: State, asked: list[SentRequest]) -> list[str]:
    """For an error message: what the model would have answered."""
    lines = []
    for one in asked:
        try:
            values = [result.value for result in finish(before, one.request, begin(before, one.request), one.name)]
            lines.append(f"{one.request}: {values}, and was {one.answer}")
        except No as no:
            lines.append(f"{one.request}: refused, {no.kind}, and was {one.answer}")
    return lines


def _ends(state: State, steps: tuple[_Step, ...], crowded: bool) -> Iterator[State]:
    if all(step.asked.answer.is_open and not step.sealed for step in steps):
        yield state  # what has no answer need not happen any more
    for at, step in enumerate(steps):
        others = steps[:at] + steps[at + 1 :]
        for after, left in _next(state, step, crowded):
            yield from _ends(after, (*others, *left), crowded)


def _next(state: State, step: _Step, crowded: bool) -> Iterator[tuple[State, tuple[_Step, ...]]]:
    """The state after one step, and what is left of the request."""
    request, name, answer = step.asked
    if crowded and _commits_first(request) and answer.kind == "paths-in-the-way":
        yield state, ()  # somebody staged a path after the seal: it is no order of requests, and right
    try:
        if not step.begun:
            yield state, (_Step(step.asked, True, begin(state, request)),)
            return
        sealed = seal(state, request, name) if crowded else None
        if sealed is not None:
            yield sealed[0], (_Step(SentRequest(sealed[1], name, answer), True, step.seen, True),)
        results = finish(state, request, step.seen, name)
    except No as no:
        if (answer.kind == no.kind or answer.is_open) and not step.sealed:
            yield state, ()
        return
    for result in results:
        if answer.is_open or answer == Answer("", result.value):
            yield result.state, ()


def _commits_first(request: Request) -> bool:
    return request.verb in ("merge", "revert", "cherry_pick") and request.words[-1] is not None
