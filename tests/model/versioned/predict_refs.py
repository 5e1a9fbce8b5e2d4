"""The model of branches, tags, stashes, protection and read-only repositories."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.model.versioned.requests import DEFAULT
from tests.model.versioned.state import Branch, No, Result, Stash, State, guard
from tests.sim.versioning.three_way import changes


def _create_branch(state: State, seen: None, name: str, branch: str, ref: str) -> list[Result]:
    id = state.resolve(ref)
    state.check_writable()
    _check_free(state, branch)
    return [Result(state.with_branch(branch, Branch(id)), id)]


def _delete_branch(state: State, seen: None, name: str, branch: str) -> list[Result]:
    if branch == DEFAULT:
        raise No("refused")
    found = state.branch(branch)
    state.check_writable()
    guard(state, branch, "rewrite")
    deleted = {**state.deleted, branch: (*state.deleted.get(branch, ()), found)}
    return [Result(replace(state.without_branch(branch), deleted=deleted))]


def _restore_branch(state: State, seen: None, name: str, branch: str) -> list[Result]:
    if not state.deleted.get(branch):
        raise No("not-found")
    state.check_writable()
    _check_free(state, branch)
    *kept, last = state.deleted[branch]
    restored = replace(state, deleted={**state.deleted, branch: tuple(kept)})
    return [Result(restored.with_branch(branch, last), last.head)]


def _rename_branch(state: State, seen: None, name: str, branch: str, to: str) -> list[Result]:
    if branch == DEFAULT:
        raise No("refused")
    found = state.branch(branch)
    state.check_writable()
    guard(state, branch, "rewrite")
    _check_free(state, to)
    if found.staged:  # or they would be on a branch on which nobody may stage anything
        guard(state, to, "stage")
    return [Result(state.without_branch(branch).with_branch(to, found), found.head)]


def _create_tag(state: State, seen: None, name: str, tag: str, ref: str) -> list[Result]:
    id = state.resolve(ref)
    state.check_writable()
    _check_free(state, tag)
    return [Result(replace(state, tags={**state.tags, tag: id}), id)]


def _delete_tag(state: State, seen: None, name: str, tag: str) -> list[Result]:
    state.check_writable()
    if tag not in state.tags:
        raise No("not-found")
    return [Result(replace(state, tags={key: id for key, id in state.tags.items() if key != tag}))]


def _check_free(state: State, name: str) -> None:
    if name in state.branches or name in state.tags:
        raise No("already-exists")


def _push(state: State, seen: None, name: str, branch: str) -> list[Result]:
    state.check_writable()
    found = state.branch(branch)
    if not found.staged:
        raise No("nothing-to-do")
    kept = (*state.stashes, Stash(branch, found.head, found.staged, name))
    return [Result(replace(state, stashes=kept).with_branch(branch, Branch(found.head)))]


def _see_stash(state: State, branch: str, of: str) -> tuple[Stash, str]:
    """The newest of a branch, by default of the very one that it is popped on; and the head that it would fit."""
    found = state.branch(branch)
    stash = _newest(state, of or branch)
    if found.staged:
        raise No("dirty")
    if any(path in stash.staged for path in changes(state.files(stash.head), state.files(found.head))):
        raise No("paths-in-the-way")
    return stash, found.head


def _pop(state: State, seen: tuple[Stash, str], name: str, branch: str, of: str) -> list[Result]:
    stash, head = seen
    state.check_writable()
    found = state.branch(branch)
    if stash not in state.stashes:
        raise No("not-found")
    guard(state, branch, "stage")
    if found.head != head:
        return []  # it looks anew
    if found.staged:
        raise No("dirty")
    left = tuple(each for each in state.stashes if each != stash)
    return [Result(replace(state, stashes=left).with_staged(branch, stash.staged), stash.message)]


def _drop(state: State, seen: None, name: str, branch: str) -> list[Result]:
    stash = _newest(state, branch)
    state.check_writable()
    return [Result(replace(state, stashes=tuple(each for each in state.stashes if each != stash)))]


def _newest(state: State, branch: str) -> Stash:
    found = [each for each in state.stashes if each.branch == branch]
    if not found:
        raise No("not-found")
    return found[-1]


def _protect(state: State, seen: None, name: str, pattern: str, blocked: tuple[str, ...]) -> list[Result]:
    state.check_writable()
    return [Result(replace(state, rules={**state.rules, pattern: blocked}))]


def _unprotect(state: State, seen: None, name: str, pattern: str) -> list[Result]:
    if pattern not in state.rules:
        raise No("not-found")
    state.check_writable()
    return [Result(replace(state, rules={key: each for key, each in state.rules.items() if key != pattern}))]


def _set_read_only(state: State, seen: None, name: str, on: bool) -> list[Result]:
    return [Result(replace(state, read_only=on))]


BEGIN: Mapping[str, Callable[..., Any]] = {
    "pop": _see_stash,
}
FINISH: Mapping[str, Callable[..., list[Result]]] = {
    "create_branch": _create_branch,
    "delete_branch": _delete_branch,
    "restore_branch": _restore_branch,
    "rename_branch": _rename_branch,
    "create_tag": _create_tag,
    "delete_tag": _delete_tag,
    "push": _push,
    "pop": _pop,
    "drop": _drop,
    "protect": _protect,
    "unprotect": _unprotect,
    "set_read_only": _set_read_only,
}
