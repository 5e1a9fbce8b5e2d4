"""Whether an answer was right at some moment between question and answer, by the model."""

from collections.abc import Callable, Iterator

from lochan.errors import AlreadyExists, Conflict, Dirty, Invalid, LochanError, NotFound, PathsInTheWay, Refused
from lochan.versioning.heads.moves import PathConflicts
from tests.sim.versioning.model import Model
from tests.sim.versioning.pieces import Branch, Content
from tests.sim.versioning.three_way import Clash, base_trees, changes, three_way
from tests.sim.versioning.wish import Wish

Now = dict[str, Branch]
Test = Callable[[Now], bool]


def ever(model: Model, since: int, is_so: Test) -> bool:
    return any(is_so(now) for now in model.history[since:])


def founded(model: Model, wish: Wish, error: LochanError) -> bool:
    """Whether a refusal had a reason. What the model cannot judge is believed."""
    return ever(model, wish.since, lambda now: _reason(model, wish, error, now))


def _reason(model: Model, wish: Wish, error: LochanError, now: Now) -> bool:
    branch = now.get(wish.branch)
    match error:
        case Refused() if wish.workspace:
            return wish.workspace not in model.workspaces  # closed for ever
        case NotFound() if wish.workspace:
            return model.opened[wish.workspace] not in now
        case PathConflicts() if wish.verb != "rebase":
            return _clashes(model, wish)
        case AlreadyExists():
            return (wish.to or wish.branch) in now
        case NotFound() if wish.verb in ("restore", "pop", "forget", "copy"):
            return True
        case NotFound():
            return branch is None or (wish.source != "" and wish.source not in now)
        case Invalid() if wish.verb == "commit":
            return branch is not None and not any(map(wish.takes, effective(model, branch)))
        case Invalid() if wish.verb in ("reset", "push"):
            return branch is not None and not effective(model, branch)
        case Dirty():
            return any(at is not None and at.staged for at in (branch, now.get(wish.source)))
        case PathsInTheWay() if wish.verb == "import":
            return branch is not None and any(write.path in wish.puts for write in branch.staged)
        case Conflict() if wish.verb in ("put", "delete", "put run"):
            return False  # writers never wait for a commit, nor for anybody
    return True


def effective(model: Model, branch: Branch) -> dict[str, str | None]:
    """What is staged and makes a difference."""
    return changes(model.trees[branch.head], branch.view)


def _clashes(model: Model, wish: Wish) -> bool:
    return any(_clash(sides, wish) for sides in _sides(model, wish))


def _sides(model: Model, wish: Wish) -> Iterator[tuple[Content, Content, Content]]:
    """base, ours and theirs of every moment since the question: base by base."""
    for branch in (now[wish.branch] for now in model.history[wish.since :] if wish.branch in now):
        ours = branch.view if wish.commits_first else model.trees[branch.head]
        for base, theirs in _pairs(model, wish, branch.head):
            yield base, ours, theirs


def _pairs(model: Model, wish: Wish, head: str) -> Iterator[tuple[Content, Content]]:
    trees = model.trees
    match wish.verb:
        case "merge":
            for theirs in {now[wish.source].head for now in model.history[wish.since :] if wish.source in now}:
                yield from ((base, trees[theirs]) for base in base_trees(trees, model.parents, head, theirs))
        case "revert":
            yield trees[wish.commit], trees[model.parents[wish.commit][0]]
        case "cherry-pick":
            yield trees[model.parents[wish.commit][0]], trees[wish.commit]


def _clash(sides: tuple[Content, Content, Content], wish: Wish) -> bool:
    try:
        three_way(*sides, wish.strategy)
    except Clash:
        return True
    return False
