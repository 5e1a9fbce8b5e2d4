"""Which faults there are, which fit which verb, and who chooses: by odds, or by replaying an earlier run.

A chooser is asked once for each call, with the verb and the path, and answers with a fault or None.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple


class Fault(StrEnum):
    UNAVAILABLE = "unavailable"  # a 5xx at once, nothing done
    TIMEOUT = "timeout"  # no answer for a while, nothing done
    SLOW = "slow"  # done, after a while
    LOST = "lost"  # done, but the answer is lost
    CONFLICT = "conflict"  # a 409, which looks like AlreadyExists: nothing was created
    FULL = "full"  # no room, nothing done
    SHORT = "short"  # the end of the object is missing, and nobody says so
    CORRUPT = "corrupt"  # one byte is another
    BROKEN = "broken"  # an error in the middle of a stream or a list
    HIDDEN = "hidden"  # the newest objects are not seen yet
    SHOWN = "shown"  # deleted objects are still listed


_ANY = {Fault.UNAVAILABLE, Fault.TIMEOUT, Fault.SLOW}
_WRITE = _ANY | {Fault.LOST, Fault.FULL}
FITTING: Mapping[str, set[Fault]] = {
    "get": _ANY | {Fault.SHORT, Fault.CORRUPT},
    "get_range": _ANY | {Fault.CORRUPT},
    "get_stream": _ANY | {Fault.SHORT, Fault.CORRUPT, Fault.BROKEN},
    "head": _ANY | {Fault.HIDDEN},
    "put": _WRITE,
    "put_if_absent": _WRITE | {Fault.CONFLICT},
    "put_stream": _WRITE,
    "delete": _ANY | {Fault.LOST},
    "list": _ANY | {Fault.BROKEN, Fault.HIDDEN, Fault.SHOWN},
}

Chooser = Callable[[str, str], Fault | None]


class Shot(NamedTuple):
    """One call and what was chosen for it; a list of them replays the run."""

    verb: str
    path: str
    fault: Fault | None


def by_odds(odds: Mapping[str, Mapping[Fault, float]], fraction: Callable[[], float]) -> Chooser:
    """For each verb the probability of each fault; one number in [0, 1) is drawn for each call."""
    for verb, chances in odds.items():
        if not chances.keys() <= FITTING[verb] or sum(chances.values()) > 1:
            raise ValueError(f"these odds do not fit {verb}: {dict(chances)}")

    def choose(verb: str, path: str) -> Fault | None:
        drawn = fraction()
        for fault, chance in odds.get(verb, {}).items():
            if drawn < chance:
                return fault
            drawn -= chance
        return None

    return choose


def replaying(shots: Iterable[Shot]) -> Chooser:
    """The choices of an earlier run; raises AssertionError where this run does something else."""
    left = deque(shots)

    def choose(verb: str, path: str) -> Fault | None:
        shot = left.popleft() if left else Shot("nothing", "", None)
        assert (shot.verb, shot.path) == (verb, path), f"replay: {verb} {path} instead of {shot.verb} {shot.path}"
        return shot.fault

    return choose
