"""Checks, by the model, whether an answer was right at some moment between the request and the answer."""

from collections.abc import Callable, Iterator

from lochan.errors import AlreadyExists, Conflict, Dirty, Invalid, LochanError, NotFound, PathsInTheWay, Refused
from lochan.versioning.heads.moves import PathConflicts
from tests.sim.versioning.model import Model
from tests.sim.versioning.model_values import Branch, Content
from tests.sim.versioning.request import ClientRequest
from tests.sim.versioning.three_way import Clash, base_trees, changes, three_way

Now = dict[str, Branch]
Test = Callable[[Now], bool]


def ever(model: Model, since: int, is_so: Test) -> bool:
    return any(is_so(now) for now in model.history[since:])


def founded(model: Model, request: ClientRequest, error: LochanError) -> bool:
    """Whether a refusal had a reason. What the model cannot judge is believed."""
    return ever(model, request.since, lambda now: _reason(model, request, error, now))


def _reason(model: Model, request: ClientRequest, error: LochanError, now: Now) -> bool:
    branch = now.get(request.branch)
    match error:
        case Refused() if request.workspace:
            return request.workspace not in model.workspaces  # closed for ever
        case NotFound() if request.workspace:
            return model.opened[request.workspace] not in now
        case PathConflicts() if request.verb != "rebase":
            return _clashes(model, request)
        case AlreadyExists():
            return (request.to or request.branch) in now
        case NotFound() if request.verb in ("restore", "pop", "forget", "copy"):
            return True
        case NotFound():
            return branch is None or (request.source != "" and request.source not in now)
        case Invalid() if request.verb == "commit":
            return branch is not None and not any(map(request.takes, effective(model, branch)))
        case Invalid() if request.verb in ("reset", "push"):
            return branch is not None and not effective(model, branch)
        case Dirty():
            return any(at is not None and at.staged for at in (branch, now.get(request.source)))
        case PathsInTheWay() if request.verb == "import":
            return branch is not None and any(write.path in request.puts for write in branch.staged)
        case Conflict() if request.verb in ("put", "delete", "put run"):
            return False  # writers never wait for a commit, nor for anybody
    return True


def effective(model: Model, branch: Branch) -> dict[str, str | None]:
    """The staged changes that make a difference."""
    return changes(model.trees[branch.head], branch.view)


def _clashes(model: Model, request: ClientRequest) -> bool:
    return any(_clash(sides, request) for sides in _sides(model, request))


def _sides(model: Model, request: ClientRequest) -> Iterator[tuple[Content, Content, Content]]:
    """base, ours and theirs of every moment since the question: base by base."""
    for branch in (now[request.branch] for now in model.history[request.since :] if request.branch in now):
        ours = branch.view if request.commits_first else model.trees[branch.head]
        for base, theirs in _pairs(model, request, branch.head):
            yield base, ours, theirs


def _pairs(model: Model, request: ClientRequest, head: str) -> Iterator[tuple[Content, Content]]:
    trees = model.trees
    match request.verb:
        case "merge":
            for theirs in {now[request.source].head for now in model.history[request.since :] if request.source in now}:
                yield from ((base, trees[theirs]) for base in base_trees(trees, model.parents, head, theirs))
        case "revert":
            yield trees[request.commit], trees[model.parents[request.commit][0]]
        case "cherry-pick":
            yield trees[model.parents[request.commit][0]], trees[request.commit]


def _clash(sides: tuple[Content, Content, Content], request: ClientRequest) -> bool:
    try:
        three_way(*sides, request.strategy)
    except Clash:
        return True
    return False
