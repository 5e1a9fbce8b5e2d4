"""Resolves ref expressions: to a branch, otherwise a tag, otherwise a unique prefix of a commit id; or to the head of a
branch at an earlier time."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from lochan.errors import Ambiguous, Invalid, NotFound
from lochan.formats.commit import Commit
from lochan.versioning.state.branch import BranchState
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.uri import Expression, parse_ref

_PREFIX_MIN = 4


class ResolvedRef(NamedTuple):
    commit_id: str
    commit: Commit
    branch: BranchState | None  # set if the ref names the branch itself, and not a commit behind it
    committed_only: bool = False
    workspace: WorkspaceState | None = None  # set if the ref names one; then the commit is the one it was opened on
    staged_only: bool = False


def resolve(refs: Refs, text: str, *, workspaces: bool = False, now: int | None = None) -> ResolvedRef:
    """Resolves a ref. Raises NotFound if there is no such ref, and Invalid for text that is no ref or names several
    commits. A workspace can be read and written, but is no commit: it is Invalid too, unless `workspaces` are allowed.
    `now`, in microseconds since 1970, is what "2 hours ago" is relative to."""
    expression = parse_ref(text)
    if expression.workspace:
        return _workspace(refs, expression, text, workspaces)
    time = _time(expression, text, now)
    if time is not None:
        id = _follow_steps(refs, _at(refs, expression.name, time, text), expression.steps, text)
        return ResolvedRef(id, refs.commit(id), None)
    branch = refs.find_branch(expression.name)
    id = branch.head if branch else refs.find_tag(expression.name) or _by_prefix(refs, expression.name)
    if expression.only and branch is None:
        raise Invalid(f"{text!r}: only a branch has staged changes")
    id = _follow_steps(refs, id, expression.steps, text)
    plain = branch is not None and not expression.steps
    only = expression.only
    return ResolvedRef(id, refs.commit(id), branch if plain else None, only == "@", staged_only=only == "$")


def _workspace(refs: Refs, expression: Expression, text: str, allowed: bool) -> ResolvedRef:
    if not allowed:
        raise Invalid(f"{text!r} is a workspace, but a commit is needed here", hint="commit the workspace first")
    found = refs.workspaces.get(expression.workspace)
    if found.branch != expression.name:
        raise Invalid(f"{text!r}: this is a workspace of branch {found.branch!r}", hint=f"write {found.ref}")
    return ResolvedRef(found.fork, refs.commit(found.fork), None, workspace=found)


def _by_prefix(refs: Refs, name: str) -> str:
    found = refs.commits_with(name) if len(name) >= _PREFIX_MIN else []
    if not found:
        hint = "`lochan branch list REPO`, `lochan tag list REPO` and `lochan log REPO` show what is there"
        raise NotFound(f"no branch, tag or commit {name!r}", hint=hint).named(name, refs.names)
    if len(found) > 1:
        raise Ambiguous(f"{name!r} is the beginning of {len(found)} commits", hint="give more digits")
    return found[0]


def _time(expression: Expression, text: str, now: int | None) -> int | None:
    if expression.only == "$" and (expression.time, expression.ago) != (None, None):
        raise Invalid(f"{text!r}: changes that were staged at an earlier time are not kept", hint="leave out the $")
    if expression.ago is None:
        return expression.time
    if now is None:
        raise Invalid(f"{text!r}: a time counted from now cannot be given here", hint="write it as 2026-11-01T10:00Z")
    return now - expression.ago


def _at(refs: Refs, name: str, time: int, text: str) -> str:
    """Returns the head of the branch of that name at that time. A time in the future means now."""
    head = refs.reflog.at(name, time)
    if head:
        return head
    if head == "":
        raise NotFound(f"{text!r}: branch {name!r} had been deleted by then", hint=_MOVES)
    first = refs.reflog.first(name)
    if first is not None:
        made = (_1970 + timedelta(microseconds=first)).isoformat(timespec="microseconds").replace("+00:00", "Z")
        raise NotFound(f"{text!r}: branch {name!r} was created later, at {made}", hint=_MOVES)
    if refs.find_branch(name) is not None:  # its checkpoint is older than the log of moves
        raise NotFound(f"{text!r}: where branch {name!r} was is not known so far back", hint=_MOVES)
    if refs.find_tag(name) is not None:
        raise Invalid(f"{text!r}: {name!r} is a tag, and only branches move", hint=f"{name} alone names its commit")
    hint = "`lochan branch list REPO` shows those there are"
    raise NotFound(f"{text!r}: there never was a branch {name!r}", hint=hint).named(name, refs.names)


_MOVES = "`lochan events REPO` shows what happened when"
_1970 = datetime(1970, 1, 1, tzinfo=UTC)


def _follow_steps(refs: Refs, id: str, steps: tuple[tuple[str, int], ...], text: str) -> str:
    for step, count in steps:
        id = _step(refs, id, step, count, text)
    return id


def _step(refs: Refs, id: str, step: str, count: int, text: str) -> str:
    if step == "^" and count > 1:
        parents = refs.recorded(id).parents
        if len(parents) < count:
            raise NotFound(f"{text!r}: commit {id[:12]} has {len(parents)} parents")
        return parents[count - 1]
    for _ in range(count):
        parents = refs.recorded(id).parents
        if not parents:
            raise NotFound(f"{text!r} goes back beyond the first commit")
        id = parents[0]
    return id
