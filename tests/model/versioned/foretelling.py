"""What each wish makes of the dictionaries. A wish may see the state in one moment and change it in a later one, as a
copy does, which reads its source and then stages it: `begin` and `finish`. Alone, both happen at once.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.model.versioned import foretold_moves, foretold_objects, foretold_refs, foretold_workspaces
from tests.model.versioned.dictionaries import State
from tests.model.versioned.result import Result
from tests.model.versioned.wishes import Wish

_ALL = (foretold_objects, foretold_moves, foretold_refs, foretold_workspaces)
_BEGIN = {verb: look for each in _ALL for verb, look in each.BEGIN.items()}
_FINISH: Mapping[str, Callable[..., list[Result]]] = {verb: land for each in _ALL for verb, land in each.FINISH.items()}


def begin(state: State, wish: Wish) -> Any:
    """What it sees; raises No."""
    look = _BEGIN.get(wish.verb)
    return None if look is None else look(state, *wish.words)


def finish(state: State, wish: Wish, seen: Any, name: str) -> list[Result]:
    """What it may make of the state, `name` being the message of what it commits; raises No."""
    return _FINISH[wish.verb](state, seen, name, *wish.words)
