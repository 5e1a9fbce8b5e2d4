"""The possible effect of a request on the model."""

from fnmatch import fnmatchcase
from typing import NamedTuple

from tests.model.versioned.state import No, State


class Result(NamedTuple):
    state: State
    value: object = ""


def guard(state: State, branch: str, action: str) -> None:
    if any(action in blocked and fnmatchcase(branch, pattern) for pattern, blocked in state.rules.items()):
        raise No("protected")
