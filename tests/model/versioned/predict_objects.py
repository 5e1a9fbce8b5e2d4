"""The model of objects that are put, deleted, copied and moved."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.model.versioned.state import Changes, Files, No, Result, State, guard


def _see_branch(state: State, branch: str, *_: object) -> None:
    state.branch(branch)


def _stage(state: State, branch: str, staged: Changes, value: object = "") -> list[Result]:
    state.check_writable()
    guard(state, branch, "stage")
    return [Result(state.with_staged(branch, staged), value)]


def _put(state: State, seen: None, name: str, branch: str, path: str, data: str) -> list[Result]:
    return _stage(state, branch, {path: data})


def _put_many(state: State, seen: None, name: str, branch: str, puts: Changes) -> list[Result]:
    return _stage(state, branch, puts)


def _see_visible(state: State, branch: str, paths: Sequence[str]) -> list[str]:
    state.resolve(branch)
    if branch not in state.branches:
        raise No("refused")
    return [path for path in paths if path in state.view(branch)]


def _delete(state: State, seen: list[str], name: str, branch: str, paths: object) -> list[Result]:
    if not seen:
        return [Result(state, ())]
    return _stage(state, branch, dict.fromkeys(seen), tuple(seen))


def _see_folder(state: State, ref: str, prefix: str, *_: object) -> Files:
    found = {path: data for path, data in state.view(ref).items() if path.startswith(prefix)}
    if not found:
        raise No("not-found")
    return found


def _see_own_folder(state: State, branch: str, prefix: str) -> Files:
    view = state.view(branch)
    if branch not in state.branches:
        raise No("invalid")
    return {path: data for path, data in view.items() if path.startswith(prefix)}


def _delete_folder(state: State, seen: Files, name: str, branch: str, prefix: str) -> list[Result]:
    return _stage(state, branch, dict.fromkeys(seen), len(seen)) if seen else [Result(state, 0)]


def _see_copy(state: State, ref: str, source: str, branch: str, target: str) -> str:
    view = state.view(ref)
    if source not in view:
        raise No("not-found")
    if (ref, source) == (branch, target) and ref in state.branches:
        raise No("invalid")
    return view[source]


def _copy(state: State, seen: str, name: str, ref: str, source: str, branch: str, target: str) -> list[Result]:
    return _stage(state, branch, {target: seen})


def _see_copied(state: State, ref: str, prefix: str, branch: str, to: str) -> Files:
    found = _see_folder(state, ref, prefix)
    if (ref, prefix) == (branch, to) and ref in state.branches:
        raise No("invalid")
    return found


def _copy_folder(state: State, seen: Files, name: str, ref: str, prefix: str, branch: str, to: str) -> list[Result]:
    return _stage(state, branch, _moved(seen, prefix, to), len(seen))


def _move(state: State, seen: None, name: str, branch: str, source: str, target: str) -> list[Result]:
    if source == target:
        raise No("invalid")
    view = state.view(branch)
    if source not in view:
        raise No("not-found")
    if branch not in state.branches:
        raise No("invalid")
    return _stage(state, branch, {source: None, target: view[source]})


def _move_folder(state: State, seen: None, name: str, branch: str, prefix: str, to: str) -> list[Result]:
    if prefix == to:
        raise No("invalid")
    found = _see_folder(state, branch, prefix)
    if branch not in state.branches:
        raise No("invalid")
    return _stage(state, branch, {**dict.fromkeys(found), **_moved(found, prefix, to)}, len(found))


def _moved(files: Files, prefix: str, to: str) -> Files:
    return {to + path[len(prefix) :]: data for path, data in files.items()}


def _compact(state: State, seen: None, name: str, branch: str) -> list[Result]:
    return [Result(state), Result(state.without_idle(branch))]


BEGIN: Mapping[str, Callable[..., Any]] = {
    "put": _see_branch,
    "link": _see_branch,
    "delete": _see_visible,
    "delete_folder": _see_own_folder,
    "copy": _see_copy,
    "copy_folder": _see_copied,
}
FINISH: Mapping[str, Callable[..., list[Result]]] = {
    "put": _put,
    "link": _put,
    "put_many": _put_many,
    "put_runs": _put_many,
    "delete": _delete,
    "delete_folder": _delete_folder,
    "copy": _copy,
    "copy_folder": _copy_folder,
    "move": _move,
    "move_folder": _move_folder,
    "compact": _compact,
}
