"""The meaning of a head move on the head that it landed on."""

from typing import TYPE_CHECKING

from lochan.formats.commit import Commit
from tests.sim.versioning.model_values import Branch, Broken, Content
from tests.sim.versioning.request import ClientRequest
from tests.sim.versioning.three_way import Clash, base_trees, patched, three_way

if TYPE_CHECKING:
    from tests.sim.versioning.model import Model


def expected_trees(model: "Model", commit: Commit, branch: Branch, request: ClientRequest) -> list[dict[str, str]]:
    """What the new commit may hold: one answer, except for merges with several bases."""
    ours = model.trees[branch.head]
    match request.verb:
        case "merge":
            model.check_source(commit.parents[1], request)
            bases = base_trees(model.trees, model.parents, branch.head, commit.parents[1])
            sides = [(base, model.trees[commit.parents[1]]) for base in bases]
        case "revert":
            sides = [(model.trees[request.commit], model.trees[model.parents[request.commit][0]])]
        case "cherry-pick":
            sides = [(model.trees[model.parents[request.commit][0]], model.trees[request.commit])]
        case "import":
            return [{**ours, **request.puts}]
        case "retention":
            # What was staged when it looked stays, though it may no longer be staged. Nothing else does.
            [prefix], left = request.paths, model.tree_of(commit)
            return [{path: ours[path] for path in ours if path in left or not path.startswith(prefix)}]
        case "workspace":
            workspace = model.workspaces[request.workspace]
            fork = model.trees[workspace.fork]
            # A file that is on its way may be in it or not; those that were acknowledged are asked for at the end.
            there = model.tree_of(commit).items()
            files = [
                asked.puts
                for asked in model.files
                if asked.workspace == request.workspace and asked.puts.items() <= there
            ]
            theirs = patched(fork, {**workspace.changed, **{path: put[path] for put in files for path in put}})
            sides = [(fork, theirs)]
        case _:
            raise Broken(f"MOVE: nobody asked for {request.verb!r}")
    answers = []
    for base, theirs_tree in sides:
        try:
            answers.append(three_way(base, ours, theirs_tree, request.strategy))
        except Clash:
            continue
    return answers


def replayed(model: "Model", line: list[str], onto: str) -> Content | None:
    """Returns None on a conflict: then nothing should have moved."""
    content = model.trees[onto]
    for id in line:
        try:
            content = three_way(model.trees[model.parents[id][0]], content, model.trees[id])
        except Clash:
            return None
    return content
