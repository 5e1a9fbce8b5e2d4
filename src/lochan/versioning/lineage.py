"""The origin of a commit's data: the program that made it, and its inputs. They are in the commit's metadata, under
names that begin with `lineage.`; stored on disk.

    lineage.git        the commit of the Git repository that the program is in
    lineage.job        the run of a scheduler or of a CI
    lineage.notebook   the notebook
    lineage.spark      the id of the Spark application
    lineage.inputs     what was read, as JSON: [{"repository": …, "commit": …, "path": …}, …]

A trace belongs to the task that runs, so that commits of others know nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.revisions.resolve import ResolvedRef

PREFIX = "lineage."
INPUTS = f"{PREFIX}inputs"
ORIGINS = tuple(f"{PREFIX}{name}" for name in ("git", "job", "notebook", "spark"))
INPUTS_MAX = 100  # the inputs of one commit: they stay in memory
_OF_ONE_COMMIT_MAX = 20  # if one commit has more, they become the folder that holds them all
_TEXT_MAX = 500


class LineageInput(NamedTuple):
    """An input that was read. `staged` says that the branch had uncommitted changes, so the data may differ from the
    commit."""

    repository: str  # its name at that time
    commit: str
    path: str = ""  # the path of an object, of a folder (with a slash at its end), or empty for everything
    staged: bool = False

    def as_json(self) -> dict[str, Any]:
        found = {"repository": self.repository, "commit": self.commit, "path": self.path}
        return {**found, "staged": True} if self.staged else found


class Trace:
    """Records what was read since it began. `lochan.trace()` makes one."""

    def __init__(self, origin: Mapping[str, str] | None = None) -> None:
        self._inputs: dict[LineageInput, None] = {}
        self._origin = origin  # None for the origin of this process

    @property
    def inputs(self) -> tuple[LineageInput, ...]:
        return tuple(self._inputs)

    @property
    def origin(self) -> Mapping[str, str]:
        return own_origin() if self._origin is None else self._origin

    @property
    def given(self) -> tuple[tuple[str, str], ...] | None:
        """The origin that was given, or None for that of this process."""
        return None if self._origin is None else tuple(sorted(self._origin.items()))

    def add(self, read: LineageInput) -> None:
        self._inputs[read] = None


_current: ContextVar[Trace | None] = ContextVar("lochan_trace", default=None)
_find_origin: list[Callable[[], Mapping[str, str]]] = []  # at most one: the origin of this process


def set_origin(find: Callable[[], Mapping[str, str]] | None) -> None:
    """Sets what commits of this process say about the program that makes them; with None, they say nothing. `find` is
    called at each commit, because a program may start Spark later."""
    _find_origin[:] = [] if find is None else [find]


def own_origin() -> Mapping[str, str]:
    return {name: clean(text) for find in _find_origin for name, text in find().items() if name in ORIGINS and text}


def current() -> Trace | None:
    return _current.get()


async def note(repository: OpenRepository, ref: str, path: str, resolved: ResolvedRef) -> None:
    """Adds what was read at that commit to the trace, if there is one."""
    found = _current.get()
    if found is not None:
        found.add((await pin_input(repository, ref, path, resolved))[1])


async def pin_input(
    repository: OpenRepository, ref: str, path: str, resolved: ResolvedRef | None = None
) -> tuple[str, LineageInput]:
    """Returns the ref at which exactly the input is read, and the input."""
    found = resolved or await repository.resolve(ref, workspaces=True)
    branch = found.branch
    is_staged = found.workspace is not None or (branch is not None and not branch.layers.empty)
    read = LineageInput(repository.repository.name, found.commit_id, path, is_staged)
    return (ref if is_staged else found.commit_id), read


@contextmanager
def trace(found: Trace | None = None) -> Iterator[Trace]:
    """Records the inputs that are read inside. Commits that are made inside, after a read, name them."""
    made = Trace() if found is None else found
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)


@contextmanager
def without_trace() -> Iterator[None]:
    """Suspends the trace, because what hooks read is no input of the commit that they judge."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def lineage_metadata(more: tuple[LineageInput, ...] = ()) -> dict[str, str]:
    """Returns the lineage metadata of a commit that is made now. `more` was read too."""
    found = _current.get()
    inputs = dict.fromkeys((*(found.inputs if found is not None else ()), *more))
    origin = own_origin() if found is None else found.origin
    return {**origin, **({INPUTS: inputs_text(tuple(inputs))} if inputs else {})}


def trace_key() -> tuple[object, ...]:
    """Returns a key that is equal for commits of this process that would name the same origin now."""
    found = _current.get()
    return () if found is None else (found.given, found.inputs)


def inputs_text(inputs: tuple[LineageInput, ...]) -> str:
    """Returns the inputs as JSON, never longer than a commit should be: many inputs of one commit become the folder
    that holds them, and if that is not enough, the commit as a whole. Inputs that are left out then are counted."""
    by_commit: dict[tuple[str, str], list[LineageInput]] = {}
    for each in inputs:
        by_commit.setdefault((each.repository, each.commit), []).append(each)
    found = [each for several in by_commit.values() for each in _gather(several, _OF_ONE_COMMIT_MAX)]
    if len(found) > INPUTS_MAX:
        found = [each for several in by_commit.values() for each in _gather(several, 1)]
    rows = [each.as_json() for each in found[:INPUTS_MAX]]
    if len(found) > INPUTS_MAX:
        rows.append({"left_out": len(found) - INPUTS_MAX})
    return msgspec.json.encode(rows).decode()


def _gather(several: list[LineageInput], most: int) -> list[LineageInput]:
    if len(several) <= most:
        return several
    paths = [each.path for each in several]
    common = paths[0]
    for path in paths[1:]:
        while not path.startswith(common):
            common = common[:-1]
    folder = common[: common.rfind("/") + 1]
    return [several[0]._replace(path=folder, staged=any(each.staged for each in several))]


def parsed_inputs(metadata: Mapping[str, str]) -> list[dict[str, Any]]:
    """Parses the inputs that a commit names. Anybody may write anything there, so what is not a list of inputs counts
    as none."""
    try:
        found = msgspec.json.decode(metadata.get(INPUTS, "[]"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    rows = found if isinstance(found, list) else []
    return [each for each in rows if isinstance(each, dict) and _is_input(each)]


def _is_input(row: dict[str, Any]) -> bool:
    return isinstance(row.get("repository"), str) or isinstance(row.get("left_out"), int)


def clean(text: str) -> str:
    """Returns one line of printable characters, because the text comes from an environment."""
    return "".join(each if each.isprintable() else " " for each in text).strip()[:_TEXT_MAX]
