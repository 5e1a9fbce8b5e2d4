"""Predicts the effect of each request on the model. A request may see the state at one moment and change it later, as a
copy does, which reads its source and then stages it: `begin` and `finish`. Alone, both happen at once.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.model.versioned import predict_moves, predict_objects, predict_refs, predict_workspaces
from tests.model.versioned.requests import Request
from tests.model.versioned.state import Result, State

_ALL = (predict_objects, predict_moves, predict_refs, predict_workspaces)
_BEGIN = {verb: look for each in _ALL for verb, look in each.BEGIN.items()}
_FINISH: Mapping[str, Callable[..., list[Result]]] = {verb: land for each in _ALL for verb, land in each.FINISH.items()}


def begin(state: State, request: Request) -> Any:
    """What the request sees. Raises No."""
    look = _BEGIN.get(request.verb)
    return None if look is None else look(state, *request.words)


def finish(state: State, request: Request, seen: Any, name: str) -> list[Result]:
    """The possible effects on the state; `name` is the message of what it commits. Raises No."""
    return _FINISH[request.verb](state, seen, name, *request.words)
