"""Ref expressions: `main`, `v1~2`, `main^2~1`, `main@{2026-11-01T10:00Z}`, `main@`, `main$`, a commit's prefix.

name        a branch, else a tag, else a unique prefix of a commit's id
~N          N first parents back (~ is ~1)
^N          the N-th parent (^ is ^1, ^0 the commit itself)
@{time}     where the branch was at that moment, by the journal
@           of a branch: what is committed only
$           of a branch: what is staged too
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from lochan.errors import Invalid

_NAME = re.compile(r"[\w][-\w.]*", re.ASCII)
_STEP = re.compile(r"([~^])(\d*)")
_TIME = re.compile(r"@\{([^}]*)\}")
_STEPS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Expression:
    name: str
    time: int | None = None  # microseconds since 1970
    steps: tuple[tuple[str, int], ...] = ()  # ("~", 2), ("^", 1) …
    only: str = ""  # "@": committed only, "$": staged too, "": as the caller likes


def parse(text: str) -> Expression:
    """Raises Invalid, saying what was expected where."""
    name = _NAME.match(text)
    if name is None:
        raise Invalid(f"{text!r} is no ref", hint="give a branch, a tag or a commit, such as main, v1 or main~2")
    rest = text[name.end() :]
    time = None
    at = _TIME.match(rest)
    if at is not None:
        time, rest = _moment(at[1], text), rest[at.end() :]
    only = ""
    if rest in ("@", "$"):
        only, rest = rest, ""
    steps = []
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise Invalid(
                f"{text!r} is no ref: {rest!r} was not understood", hint="after a name come ~N, ^N or @{time}"
            )
        count = int(step[2] or 1)
        if count > _STEPS_MAX:
            raise Invalid(f"{text!r} goes back further than {_STEPS_MAX:,} commits")
        steps.append((step[1], count))
        rest = rest[step.end() :]
    return Expression(name[0], time, tuple(steps), only)


def _moment(text: str, whole: str) -> int:
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise Invalid(f"{whole!r}: {text!r} is no time", hint="write it as 2026-11-01T10:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000_000)
