"""Workspaces, in dictionaries."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.model.versioned.dictionaries import No, State, Workspace, applied
from tests.model.versioned.foretold_moves import On
from tests.model.versioned.result import HALF, Result, guard
from tests.sim.versioning.three_way import Clash, three_way


def _open_workspace(state: State, seen: None, name: str, branch: str) -> list[Result]:
    state.check_writable()
    return [Result(state.with_workspace(Workspace(name, branch, False, state.branch(branch).head)))]


def _see_workspace(state: State, *_: object) -> str:
    """The newest."""
    if not state.workspaces:
        raise No("not-found")
    return state.workspaces[-1].note


def _workspace(state: State, note: str) -> Workspace:
    for each in state.workspaces:
        if each.note == note:
            return each
    raise No("refused")  # it was closed


def _see_writable_workspace(state: State, *_: object) -> str:
    note = _see_workspace(state)
    state.check_writable()
    return note


def _put_workspace(state: State, seen: str, name: str, path: str, data: str) -> list[Result]:
    found = _workspace(state, seen)
    return [Result(state.with_workspace(found._replace(files={**found.files, path: data})))]


def _see_file(state: State, path: str) -> tuple[str, bool, bool]:
    """Whether there is such a file, and something below it."""
    found = _workspace(state, _see_workspace(state))
    return found.note, path in found.files, path in applied(state.files(found.fork), found.staged)


def _delete_workspace(state: State, seen: tuple[str, bool, bool], name: str, path: str) -> list[Result]:
    """The one that is not done as a whole: first the file goes, and then what it lay over."""
    note, is_file, is_below = seen
    if not is_file and not is_below:
        return [Result(state, ())]
    state.check_writable()
    found = _workspace(state, note)
    left = {each: data for each, data in found.files.items() if each != path} if is_file else found.files
    staged = {**found.staged, path: None} if is_below else found.staged
    half = state.with_workspace(found._replace(files=left))
    return [Result(half.with_workspace(found._replace(files=left, staged=staged)), (path,)), Result(half, HALF)]


def _commit_workspace(state: State, seen: str, name: str) -> list[Result]:
    found = _workspace(state, seen)
    if found.is_stale:
        raise No("concurrent-commit")
    fork, on = state.files(found.fork), On(state, found.branch, name)
    theirs = applied(fork, found.changes)
    if theirs == fork:
        raise No("nothing-to-do")
    try:
        files = three_way(fork, on.files, theirs)
    except Clash:
        raise No("concurrent-commit") from None
    made = on.landed(files)
    guard(state, found.branch, "commit")
    return [Result(made.without_workspace(seen), made.branches[found.branch].head)]


def _drop_workspace(state: State, seen: str, name: str) -> list[Result]:
    state.check_writable()
    return [Result(state.without_workspace(_workspace(state, seen).note))]


BEGIN: Mapping[str, Callable[..., Any]] = {
    "put_workspace": _see_writable_workspace,
    "delete_workspace": _see_file,
    "commit_workspace": _see_workspace,
    "drop_workspace": _see_workspace,
}
FINISH: Mapping[str, Callable[..., list[Result]]] = {
    "open_workspace": _open_workspace,
    "put_workspace": _put_workspace,
    "delete_workspace": _delete_workspace,
    "commit_workspace": _commit_workspace,
    "drop_workspace": _drop_workspace,
}
