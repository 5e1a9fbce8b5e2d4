"""The names that users write: `repo@ref/path`, and ref expressions.

    demo                    the default branch of demo
    demo@main~1             any ref expression
    demo@main/data/a.csv    a path there; it begins behind the first slash after the ref, and is kept as it is
    demo@main+17-9f3a6c21   a workspace of main, wherever a branch or a ref can be read or objects can be written

URIs of other tools mean the same: `lakefs://demo/main/data/a.csv`, `lakefs://demo@main/data/a.csv`, `lochan://…`.

A ref expression:

    name        a branch, else a tag, else a unique prefix of a commit's id
    ~N          N first parents back (~ is ~1)
    ^N          the N-th parent (^ is ^1, ^0 the commit itself)
    @{time}     where the branch was at that time, by the journal: 2026-11-01, 2026-11-01T10:00Z, 2 hours ago, yesterday
    @           of a branch: only what is committed
    $           of a branch: only what is staged
    +id         of a branch: one of its workspaces, `main+17-9f3a6c21`; nothing may follow
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from lochan.errors import Invalid
from lochan.versioning.names import check_known_name

SCHEMES = ("lakefs", "lochan")
HINT = "write it as repository@ref/path, such as demo@main/data/a.csv"
_NAME = re.compile(r"[\w][-\w.]*", re.ASCII)
_STEP = re.compile(r"([~^])(\d*)")
_TIME = re.compile(r"@\{([^}]*)\}")
_WORKSPACE = re.compile(r"\+(\d{1,20}-[0-9a-f]{8})", re.ASCII)
_STEPS_MAX = 1_000_000
_AGO = re.compile(r"(\d{1,9})[ .](second|minute|hour|day|week)s?[ .]ago", re.ASCII)
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_1970 = datetime(1970, 1, 1, tzinfo=UTC)


class Uri(NamedTuple):
    repository: str
    ref: str  # empty for the default branch
    path: str

    def __str__(self) -> str:
        ref = f"@{self.ref}" if self.ref else ""
        return f"{self.repository}{ref}/{self.path}" if self.path else f"{self.repository}{ref}"


def prefix_uri(text: str) -> Uri:
    """Parses a URI with or without a path. Raises Invalid."""
    where, _, path = _plain(text).partition("/")
    repository, at, ref = where.partition("@")
    if not repository or (at and not ref):
        missing = "the repository" if not repository else "the ref behind the @"
        raise Invalid(f"{text!r}: {missing} is missing", hint=HINT)
    steps = re.search(r"[~^].*", repository)
    if steps is not None and not at:
        raise Invalid(
            f"{text!r}: {steps[0]} comes after a ref, not after a repository",
            hint=f"name the branch too, such as {repository[: steps.start()]}@main{steps[0]}",
        )
    check_known_name(repository)
    if ref:
        parse_ref(ref)
    return Uri(repository, ref, path)


def _plain(text: str) -> str:
    """Returns the URI without a scheme. With a scheme, the ref may also follow a slash."""
    scheme, found, rest = text.partition("://")
    if not found or scheme not in SCHEMES:
        return text
    repository, slash, behind = rest.partition("/")
    return rest if "@" in repository or not slash or not behind else f"{repository}@{behind}"


def writable(uri: Uri) -> Uri:
    """Checks that objects can be written there: the ref is a branch or a workspace. Raises Invalid."""
    return uri if uri.ref and parse_ref(uri.ref).workspace else on_branch(uri)


def on_branch(uri: Uri) -> Uri:
    """Checks that the ref is no more than a name, and returns the URI. Does not check that the branch exists. Raises
    Invalid."""
    if uri.ref and parse_ref(uri.ref).name != uri.ref:
        raise Invalid(f"{uri.ref!r} is not a branch, and only branches can be changed", hint="such as demo@main")
    return uri


@dataclass(frozen=True, slots=True)
class Expression:
    name: str
    time: int | None = None  # microseconds since 1970
    ago: int | None = None  # the alternative: microseconds before now
    steps: tuple[tuple[str, int], ...] = ()  # ("~", 2), ("^", 1) …
    only: str = ""  # "@" for committed only, "$" for staged only, "" if the caller decides
    workspace: str = ""  # the id of the workspace


@lru_cache(maxsize=4096)
def parse_ref(text: str) -> Expression:
    """Parses a ref expression. Raises Invalid, which says what was expected and where."""
    name = _NAME.match(text)
    if name is None:
        raise Invalid(f"{text!r} is not a ref", hint="give a branch, a tag or a commit, such as main, v1 or main~2")
    rest = text[name.end() :]
    if rest.startswith("+"):
        return Expression(name[0], workspace=_workspace(rest, text))
    time = ago = None
    at = _TIME.match(rest)
    if at is not None:
        ago, rest = _ago(at[1].strip()), rest[at.end() :]
        time = _moment(at[1].strip(), text) if ago is None else None
    only = ""
    if rest in ("@", "$"):
        only, rest = rest, ""
    steps = []
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise Invalid(
                f"{text!r} is not a ref: {rest!r} is not understood", hint="after a name come ~N, ^N or @{time}"
            )
        count = int(step[2] or 1)
        if count > _STEPS_MAX:
            raise Invalid(f"{text!r} goes back further than {_STEPS_MAX:,} commits")
        steps.append((step[1], count))
        rest = rest[step.end() :]
    return Expression(name[0], time, ago, tuple(steps), only)


def _workspace(rest: str, text: str) -> str:
    found = _WORKSPACE.fullmatch(rest)
    if found is None:
        raise Invalid(
            f"{text!r} is not a ref: {rest[1:]!r} is not a workspace id",
            hint="write a branch, a plus and an id, such as main+17-9f3a6c21, and nothing after it",
        )
    return found[1]


def parse_time(text: str, now: int) -> int:
    """Parses a time such as `2026-11-01T10:00Z`, `2 hours ago`, `yesterday` or `now`, and returns it in microseconds
    since 1970. Raises Invalid."""
    ago = _ago(text.strip())
    return _moment(text.strip(), text) if ago is None else now - ago


def _ago(text: str) -> int | None:
    """Returns the microseconds before now, or None for a text that is no relative time."""
    if text in ("now", "yesterday"):
        return 0 if text == "now" else 1_000_000 * _SECONDS["day"]
    match = _AGO.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2]] * 1_000_000 if match else None


def _moment(text: str, whole: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(
            f"{whole!r}: {text!r} is not a time", hint="write it as 2026-11-01T10:00Z, or as 2 hours ago"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _1970) // timedelta(microseconds=1)
