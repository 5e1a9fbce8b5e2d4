"""The model of commits and of everything that moves a head."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tests.model.versioned.requests import FOLDERS, Request
from tests.model.versioned.state import Branch, Changes, Commit, Files, No, Result, State, applied, guard
from tests.sim.versioning.three_way import Clash, ancestors, base_trees, changes, three_way


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
    guard(state, name, "commit")
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


class On(NamedTuple):
    """The state that a move is computed on."""

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


def seal(state: State, request: Request, name: str) -> tuple[State, Request] | None:
    """The commit that comes first, and the move that is left: others may stage something between the two. Nobody sees
    the one without the other. None if this is not such a request."""
    if request.verb not in ("merge", "revert", "cherry_pick") or request.words[-1] in (None, SEALED):
        return None
    branch = str(request.words[1 if request.verb == "merge" else 0])
    if branch not in state.branches or not state.branches[branch].staged:
        return None
    first: Any = request.words[-1]
    return _committed(state, branch, first, False, f"first {name}"), Request(
        request.verb, (*request.words[:-1], SEALED)
    )


SEALED = ("sealed",)


def _clean(state: State, branch: str, name: str, first: tuple[str, ...] | None) -> On:
    """The branch after its staged changes were committed, if the request asks for that."""
    if state.branch(branch).staged and first != SEALED:
        if first is None:
            raise No("dirty")
        state = _committed(state, branch, first, False, f"first {name}")
    return On(state, branch, name)


def _moves(on: On, trees: Sequence[Files], *others: str) -> list[Result]:
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
    made = On(state, branch, name).landed(after)
    guard(state, branch, "commit")
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
        guard(state, branch, "rewrite")
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
        guard(state, branch, "rewrite")
    return [Result(state.with_branch(branch, Branch(id)), id)]


def _reset_staged(state: State, seen: None, name: str, branch: str) -> list[Result]:
    found = state.branch(branch)
    if not found.staged:
        raise No("nothing-to-do")
    state.check_writable()
    return [Result(state.with_branch(branch, Branch(found.head)))]


def _unstage(
    state: State, seen: None, name: str, branch: str, paths: tuple[str, ...], prefix: str | None
) -> list[Result]:
    found = state.branch(branch)
    kept = {
        path: change
        for path, change in found.staged.items()
        if path not in paths and (prefix is None or not path.startswith(prefix))
    }
    if len(kept) == len(found.staged):
        raise No("nothing-to-do")
    state.check_writable()
    if kept:
        guard(state, branch, "stage")
    return [Result(state.with_branch(branch, Branch(found.head, kept)))]


BEGIN: Mapping[str, Callable[..., Any]] = {
    "merge": _see_source,
    "revert": _see_commit,
    "cherry_pick": _see_commit,
    "rebase": _see_onto,
    "hard_reset": _see_target,
}
FINISH: Mapping[str, Callable[..., list[Result]]] = {
    "commit": _commit,
    "reset_staged": _reset_staged,
    "unstage": _unstage,
    "hard_reset": _hard_reset,
    "merge": _merge,
    "revert": _revert,
    "cherry_pick": _cherry_pick,
    "rebase": _rebase,
    "bring_in": _bring_in,
}
