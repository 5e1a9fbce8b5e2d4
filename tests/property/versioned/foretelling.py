"""What each wish makes of the dictionaries. A wish may see the state in one moment and change it in a later one, as a
copy does, which reads its source and then stages it: `begin` and `finish`. Alone, both happen at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, NamedTuple

from tests.property.versioned.dictionaries import Branch, Changes, Commit, Files, No, Stash, State, Workspace, applied
from tests.property.versioned.wishes import DEFAULT, FOLDERS, Wish
from tests.sim.versioning.three_way import Clash, ancestors, base_trees, changes, three_way

HALF = "half"  # what nobody is ever told, but what may be left by somebody who failed


class Result(NamedTuple):
    state: State
    value: object = ""


def begin(state: State, wish: Wish) -> Any:
    """What it sees; raises No."""
    look = _BEGIN.get(wish.verb)
    return None if look is None else look(state, *wish.words)


def finish(state: State, wish: Wish, seen: Any, name: str) -> list[Result]:
    """What it may make of the state, `name` being the message of what it commits; raises No."""
    return _FINISH[wish.verb](state, seen, name, *wish.words)


# --- objects ---------------------------------------------------------------------------------------------------------
def _see_branch(state: State, branch: str, *_: object) -> None:
    state.branch(branch)


def _stage(state: State, branch: str, staged: Changes, value: object = "") -> list[Result]:
    state.check_writable()
    _guard(state, branch, "stage")
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


# --- commits ---------------------------------------------------------------------------------------------------------
def _commit(
    state: State, seen: None, name: str, branch: str, patterns: tuple[str, ...], allow_empty: bool
) -> list[Result]:
    after = _committed(state, branch, patterns, allow_empty, name)
    return [Result(after, after.branches[branch].head)]


def _committed(state: State, name: str, patterns: tuple[str, ...], allow_empty: bool, message: str) -> State:
    branch = state.branch(name)
    if not branch.staged and not allow_empty:
        raise No("nothing-to-do")
    state.check_writable()
    _guard(state, name, "commit")
    taken = {path: data for path, data in branch.staged.items() if _fits(path, patterns)}
    if patterns and not taken:
        raise No("nothing-to-do")
    files = applied(state.files(branch.head), taken)
    if files == state.files(branch.head) and not allow_empty:
        raise No("nothing-to-do")
    left = {path: data for path, data in branch.staged.items() if path not in taken}
    return _landed(state, name, files, (branch.head,), message, left)


def _landed(state: State, name: str, files: Files, parents: tuple[str, ...], message: str, staged: Changes) -> State:
    commit = Commit(message, parents, files)
    return state.with_commit(commit).with_branch(name, Branch(commit.id, staged))


def _fits(path: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(_ONE[pattern](path) for pattern in patterns)


_ONE: Mapping[str, Callable[[str], bool]] = {
    "a/**": lambda path: path.startswith("a/"),
    "?": lambda path: len(path) == 1,
    "b": lambda path: path == "b",
    "z": lambda path: path == "z",
}


# --- head moves ------------------------------------------------------------------------------------------------------
class _On(NamedTuple):
    """What a move is computed on."""

    state: State
    branch: str
    name: str

    @property
    def head(self) -> str:
        return self.state.branches[self.branch].head

    @property
    def files(self) -> Files:
        return self.state.files(self.head)

    def landed(self, files: Files, *others: str) -> State:
        if files == self.files and not others:
            raise No("nothing-to-do")
        staged = self.state.branches[self.branch].staged
        if any(path in staged for path in changes(self.files, files)):
            raise No("paths-in-the-way")
        after = _landed(self.state, self.branch, files, (self.head, *others), self.name, staged)
        after.check_writable()
        return after


def seal(state: State, wish: Wish, name: str) -> tuple[State, Wish] | None:
    """What is to be committed first, committed, and the move that is left: between the two others may stage something.
    Nobody sees the one without the other. None: this is no such wish."""
    if wish.verb not in ("merge", "revert", "cherry_pick") or wish.words[-1] in (None, SEALED):
        return None
    branch = str(wish.words[1 if wish.verb == "merge" else 0])
    if branch not in state.branches or not state.branches[branch].staged:
        return None
    first: Any = wish.words[-1]
    return _committed(state, branch, first, False, f"first {name}"), Wish(wish.verb, (*wish.words[:-1], SEALED))


SEALED = ("sealed",)


def _clean(state: State, branch: str, name: str, first: tuple[str, ...] | None) -> _On:
    """After what is staged was committed, if that was asked for."""
    if state.branch(branch).staged and first != SEALED:
        if first is None:
            raise No("dirty")
        state = _committed(state, branch, first, False, f"first {name}")
    return _On(state, branch, name)


def _moves(on: _On, trees: Sequence[Files], *others: str) -> list[Result]:
    states = [on.landed(files, *others) for files in trees]
    return [Result(state, state.branches[on.branch].head) for state in states]


def _see_source(state: State, ref: str, branch: str, strategy: str, squash: bool, staged: bool, first: object) -> str:
    id = state.resolve(ref)
    if ref in state.branches and ref == branch:
        raise No("same-ref")
    if ref in state.branches and state.branches[ref].staged and not staged:
        raise No("dirty")
    return id


def _merge(
    state: State,
    theirs: str,
    name: str,
    ref: str,
    branch: str,
    strategy: str,
    squash: bool,
    staged: bool,
    first: tuple[str, ...] | None,
) -> list[Result]:
    on = _clean(state, branch, name, first)
    if theirs in ancestors(on.state.parents, on.head):
        raise No("nothing-to-do")
    bases = base_trees(on.state.trees, on.state.parents, on.head, theirs)
    trees = [_three_way(base, on.files, on.state.files(theirs), strategy) for base in bases]
    return _moves(on, trees, *(() if squash else (theirs,)))


def _see_commit(state: State, branch: str, ref: str, *_: object) -> str:
    return state.resolve(ref)


def _revert(state: State, seen: str, name: str, branch: str, ref: str, first: tuple[str, ...] | None) -> list[Result]:
    on = _clean(state, branch, name, first)
    before, after = _of(state, seen)
    return _moves(on, [_three_way(after, on.files, before)])


def _cherry_pick(
    state: State, seen: str, name: str, branch: str, ref: str, first: tuple[str, ...] | None
) -> list[Result]:
    on = _clean(state, branch, name, first)
    before, after = _of(state, seen)
    return _moves(on, [_three_way(before, on.files, after)])


def _of(state: State, id: str) -> tuple[Files, Files]:
    """Before and after a commit."""
    commit = state.commits[id]
    if not commit.parents:
        raise No("invalid")
    return state.files(commit.parents[0]), commit.files


def _three_way(base: Files, ours: Files, theirs: Files, strategy: str = "default") -> Files:
    try:
        return three_way(base, ours, theirs, strategy)
    except Clash:
        raise No("paths-in-the-way") from None


def _bring_in(state: State, seen: None, name: str, branch: str, url: str, to: str, whole: bool) -> list[Result]:
    head = state.files(state.branch(branch).head)
    files = {to + path: data for path, data in FOLDERS[url].items()}
    gone = {path for path in head if path.startswith(to) and path not in files} if whole else set()
    after = applied({**head, **files}, dict.fromkeys(gone))
    made = _On(state, branch, name).landed(after)
    _guard(state, branch, "commit")
    return [Result(made, made.branches[branch].head)]


def _see_onto(state: State, branch: str, ref: str) -> str:
    id = state.resolve(ref)
    if ref in state.branches and ref == branch:
        raise No("same-ref")
    return id


def _rebase(state: State, onto: str, name: str, branch: str, ref: str) -> list[Result]:
    head = state.branch(branch).head
    if state.branch(branch).staged:
        raise No("dirty")
    own = ancestors(state.parents, head) - ancestors(state.parents, onto)
    lines = islice(_lines(state.parents, own), _LINES_MAX)
    return [_rebased(state, branch, onto, list(line)) for line in lines]


def _rebased(state: State, branch: str, onto: str, line: list[str]) -> Result:
    """`line` is oldest first."""
    head = state.branches[branch].head
    if (line or head == onto) and [state.parents[id] for id in line] == [(below,) for below in [onto, *line][:-1]]:
        raise No("nothing-to-do")
    new, tip = state, onto
    for id in line:
        commit = state.commits[id]
        if len(commit.parents) != 1:
            continue  # of a merge, what it brought in is replayed
        before, files = state.files(commit.parents[0]), new.files(tip)
        made = Commit(commit.message, (tip,), _three_way(before, files, commit.files))
        if made.files != files or commit.files == before:
            new, tip = new.with_commit(made), made.id
    new.check_writable()
    if tip != head:
        _guard(state, branch, "rewrite")
    return Result(new.with_branch(branch, Branch(tip)), tip)


def _lines(parents: Mapping[str, tuple[str, ...]], left: set[str]) -> Iterator[tuple[str, ...]]:
    """Every order in which parents come before their children."""
    if not left:
        yield ()
    for id in sorted(left):
        if not any(parent in left for parent in parents[id]):
            for rest in _lines(parents, left - {id}):
                yield (id, *rest)


_LINES_MAX = 24


def _see_target(state: State, branch: str, ref: str) -> tuple[str, str]:
    head = state.branch(branch).head
    return head, state.resolve(ref)


def _hard_reset(state: State, seen: tuple[str, str], name: str, branch: str, ref: str) -> list[Result]:
    head, id = seen
    if state.branch(branch).head != head:
        return []  # it looks anew
    state.check_writable()
    if id != head:
        _guard(state, branch, "rewrite")
    return [Result(state.with_branch(branch, Branch(id)), id)]


def _reset_staged(state: State, seen: None, name: str, branch: str) -> list[Result]:
    found = state.branch(branch)
    if not found.staged:
        raise No("nothing-to-do")
    state.check_writable()
    return [Result(state.with_branch(branch, Branch(found.head)))]


# --- branches and tags -----------------------------------------------------------------------------------------------
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
    _guard(state, branch, "rewrite")
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
    _guard(state, branch, "rewrite")
    _check_free(state, to)
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


# --- stashes ---------------------------------------------------------------------------------------------------------
def _push(state: State, seen: None, name: str, branch: str) -> list[Result]:
    state.check_writable()
    found = state.branch(branch)
    if not found.staged:
        raise No("nothing-to-do")
    kept = (*state.stashes, Stash(branch, found.head, found.staged, name))
    return [Result(replace(state, stashes=kept).with_branch(branch, Branch(found.head)))]


def _see_stash(state: State, branch: str, of: str) -> Stash:
    """The newest of a branch; by default of the very one that it is popped on."""
    found = state.branch(branch)
    stash = _newest(state, of or branch)
    if found.staged:
        raise No("dirty")
    return stash


def _pop(state: State, seen: Stash, name: str, branch: str, of: str) -> list[Result]:
    found = state.branch(branch)
    changed = changes(state.files(seen.head), state.files(found.head))
    if any(path in seen.staged for path in changed):
        raise No("paths-in-the-way")
    state.check_writable()
    if seen not in state.stashes:
        raise No("not-found")
    _guard(state, branch, "stage")
    if found.staged:
        raise No("dirty")
    left = tuple(each for each in state.stashes if each != seen)
    return [Result(replace(state, stashes=left).with_staged(branch, seen.staged), seen.message)]


def _drop(state: State, seen: None, name: str, branch: str) -> list[Result]:
    stash = _newest(state, branch)
    state.check_writable()
    return [Result(replace(state, stashes=tuple(each for each in state.stashes if each != stash)))]


def _newest(state: State, branch: str) -> Stash:
    found = [each for each in state.stashes if each.branch == branch]
    if not found:
        raise No("not-found")
    return found[-1]


# --- workspaces ------------------------------------------------------------------------------------------------------
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
    fork, on = state.files(found.fork), _On(state, found.branch, name)
    theirs = applied(fork, found.changes)
    if theirs == fork:
        raise No("nothing-to-do")
    try:
        files = three_way(fork, on.files, theirs)
    except Clash:
        raise No("concurrent-commit") from None
    made = on.landed(files)
    _guard(state, found.branch, "commit")
    return [Result(made.without_workspace(seen), made.branches[found.branch].head)]


def _drop_workspace(state: State, seen: str, name: str) -> list[Result]:
    state.check_writable()
    return [Result(state.without_workspace(_workspace(state, seen).note))]


# --- what may be done at all -----------------------------------------------------------------------------------------
def _guard(state: State, branch: str, action: str) -> None:
    if any(action in blocked and fnmatchcase(branch, pattern) for pattern, blocked in state.rules.items()):
        raise No("protected")


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


_BEGIN: Mapping[str, Callable[..., Any]] = {
    "put": _see_branch,
    "link": _see_branch,
    "delete": _see_visible,
    "delete_folder": _see_own_folder,
    "copy": _see_copy,
    "copy_folder": _see_copied,
    "merge": _see_source,
    "revert": _see_commit,
    "cherry_pick": _see_commit,
    "pop": _see_stash,
    "rebase": _see_onto,
    "hard_reset": _see_target,
    "put_workspace": _see_writable_workspace,
    "delete_workspace": _see_file,
    "commit_workspace": _see_workspace,
    "drop_workspace": _see_workspace,
}
_FINISH: Mapping[str, Callable[..., list[Result]]] = {
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
    "commit": _commit,
    "create_branch": _create_branch,
    "delete_branch": _delete_branch,
    "restore_branch": _restore_branch,
    "rename_branch": _rename_branch,
    "create_tag": _create_tag,
    "delete_tag": _delete_tag,
    "reset_staged": _reset_staged,
    "hard_reset": _hard_reset,
    "merge": _merge,
    "revert": _revert,
    "cherry_pick": _cherry_pick,
    "rebase": _rebase,
    "open_workspace": _open_workspace,
    "put_workspace": _put_workspace,
    "delete_workspace": _delete_workspace,
    "commit_workspace": _commit_workspace,
    "drop_workspace": _drop_workspace,
    "push": _push,
    "pop": _pop,
    "drop": _drop,
    "bring_in": _bring_in,
    "protect": _protect,
    "unprotect": _unprotect,
    "set_read_only": _set_read_only,
    "compact": _compact,
}
