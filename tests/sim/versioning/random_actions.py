"""The actions of clients in a life, drawn at random."""

import random
from collections.abc import Sequence

from lochan.staging.compaction import CompactionLimits
from tests.sim.versioning.client import Client

# What a client does next, and how likely; a life draws its own temper from these.
ACTIONS = {
    "put": 8,
    "delete": 4,
    "put_run": 1,
    "commit": 4,
    "commit_some": 2,
    "merge": 2,
    "merge_clean": 3,
    "merge_committing": 2,
    "import": 2,
    "rebase": 1,
    "revert": 1,
    "cherry_pick": 1,
    "reset": 1,
    "hard_reset": 1,
    "drop": 1,
    "create": 1,
    "restore": 1,
    "again": 1,
    "back": 1,
    "rename": 1,
    "push": 1,
    "aside": 2,
    "pop": 2,
    "forget": 1,
    "open": 1,
    "workspace": 3,
    "whole_workspace": 1,
    "compact": 3,
    "read": 2,
    "look": 1,
    "status": 1,
    "diff": 1,
}


# Half of the lives are about one thing: a few actions that get into each other's way, on few paths and one branch.
THEMES = (
    ("put", "delete", "commit_some", "compact"),
    ("put", "put", "delete", "delete", "commit", "compact", "compact"),
    ("put", "commit", "commit_some", "again", "compact"),
    ("put", "compact", "compact", "again"),
    ("put", "put", "compact", "again"),
    ("put", "commit", "reset", "back", "compact"),
    ("put", "aside", "aside", "push", "pop", "commit"),
    ("put", "commit", "commit", "aside", "aside", "aside"),
    ("put", "delete", "import", "compact", "commit"),
    ("put", "commit", "import", "import"),
    ("put", "commit", "open", "workspace", "workspace", "workspace", "whole_workspace", "again"),
    ("open", *("workspace",) * 8),
    ("open", *("workspace",) * 8),
    ("put", "commit", "import", "merge_committing", "merge_clean"),
    ("put", "merge_clean", "merge_clean", "revert", "hard_reset"),
    ("put", "commit", "rebase", "rebase", "merge_clean"),
)


class RandomActions:
    def __init__(
        self, draw: random.Random, paths: Sequence[str], branches: Sequence[str], limits: CompactionLimits
    ) -> None:
        self.random = draw
        self.paths = paths
        self.branches = branches
        self.limits = limits

    async def do(self, client: Client, action: str) -> None:
        draw = self.random
        branch, path = draw.choice(self.branches), draw.choice(self.paths)
        other = draw.choice([name for name in ("main", "dev", "x") if name != branch])
        match action:
            case "put":
                await client.put(branch, path)
            case "delete":
                await client.delete(branch, path)
            case "put_run":
                await client.put_run(branch, (path,), tuple({*self.paths[:1]} - {path}))
            case "commit":
                await client.commit(branch)
            case "commit_some":
                await client.commit(branch, *draw.sample(self.paths, draw.randrange(1, 3)))
            case "merge":
                await client.merge(other, branch, draw.choice(("default", "source-wins", "dest-wins")))
            case "merge_clean":
                await client.commit(branch)
                await client.commit(other)
                await client.merge(other, branch, draw.choice(("default", "source-wins", "dest-wins")))
            case "merge_committing":
                await client.put(other, path)
                await client.commit(other)
                await client.put(branch, draw.choice(self.paths))
                await client.merge_committing(other, branch, draw.choice(("default", "source-wins", "dest-wins")))
            case "import":
                await client.bring_in(branch, *draw.sample(self.paths, draw.randrange(1, 3)))
            case "rebase":
                await client.commit(branch)
                await client.rebase(branch, other)
            case "aside":
                await client.push(branch)
                await client.pop(branch)
            case "push":
                await client.push(branch)
            case "pop":
                await client.pop(branch)
            case "forget":
                await client.forget(branch)
            case "open":
                await client.open_workspace(branch)
            case "whole_workspace":
                if await client.open_workspace(branch):
                    workspace = client.place.workspaces[-1]
                    await client.put_in(workspace, path)
                    await client.commit_workspace(workspace)
            case "workspace" if client.place.workspaces:
                await self._with_workspace(client, draw.choice(client.place.workspaces[-2:]), path)
            case "revert" | "cherry_pick" | "hard_reset":
                await self._with_commit(client, action, branch, other)
            case "reset":
                await client.reset(branch)
            case "drop" if branch != "main" or draw.random() < 0.3:
                await client.drop(branch)
            case "create":
                await client.create(branch, other)
            case "restore":
                await client.restore(branch)
            case "again":
                await client.drop(branch)
                await client.create(branch, other)
                await client.put(branch, path)
            case "back":
                await client.drop(branch)
                await client.restore(branch)
            case "rename" if branch != "main":
                await client.rename(branch, draw.choice(("dev", "x")))
            case "compact":
                await client.compact(branch, self.limits)
            case "read":
                await client.read(branch)
            case "look":
                await client.look(branch, path)
            case "status":
                await client.status(branch)
            case "diff":
                await client.diff(other, branch)

    async def _with_workspace(self, client: Client, workspace: str, path: str) -> None:
        match self.random.randrange(12):
            case 0:
                await client.drop_workspace(workspace)
            case 1 | 2:
                await client.delete_in(workspace, path)
            case 3 | 4 | 5:
                await client.commit_workspace(workspace)
            case 6 | 7 | 8:
                await client.put_file(workspace)
            case _:
                await client.put_in(workspace, path)

    async def _with_commit(self, client: Client, action: str, branch: str, other: str) -> None:
        """With some commit that the client knows."""
        known = client.repository.folded()
        at = [found.head for name in (branch, other) if (found := known.find_branch(name)) is not None]
        with_parents = [id for id in at if known.commit(id).parents]
        if not with_parents:
            return
        id = self.random.choice(with_parents)
        match action:
            case "revert":
                await client.revert(branch, id)
            case "cherry_pick":
                await client.cherry_pick(branch, id)
            case "hard_reset":
                await client.hard_reset(branch, self.random.choice([id, known.commit(id).parents[0]]))
