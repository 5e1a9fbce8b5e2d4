"""The model of workspaces."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.model.versioned.predict_moves import On
from tests.model.versioned.state import No, Result, State, Workspace, applied, guard
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
    return [Result(state.with_workspace(found._replace(changes={**found.changes, path: data})))]


def _see_path(state: State, path: str) -> tuple[str, str | None]:
    """What is at the path."""
    found = _workspace(state, _see_workspace(state))
    return found.note, applied(state.files(found.fork), found.changes).get(path)


def _delete_workspace(state: State, seen: tuple[str, str | None], name: str, path: str) -> list[Result]:
    """A file that was put after the look may stay: it was put at the same time."""
    note, there = seen
    if there is None:
        return [Result(state, ())]
    state.check_writable()
    found = _workspace(state, note)
    fork = state.files(found.fork)
    left = {each: data for each, data in found.changes.items() if each != path}
    after = state.with_workspace(found._replace(changes={**left, path: None} if path in fork else left))
    now = applied(fork, found.changes).get(path)
    return [Result(after, (path,)), *([Result(state, (path,))] if now != there else [])]


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
    "delete_workspace": _see_path,
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
