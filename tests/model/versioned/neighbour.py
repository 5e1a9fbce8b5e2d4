"""One of several processes that work on one lake at once, each on its own paths and all on one branch. At its end it
reports what it has left there, and which commits were acknowledged.
"""

import asyncio
import random
import sys

import msgspec

from lochan.clock import SystemClock
from lochan.errors import NothingToDo
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.store.open import open_store, stack
from lochan.versioning import branches, copy, objects, stash, upkeep
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces import commit as workspace_commit
from lochan.versioning.workspaces import write
from lochan.versioning.workspaces import write as registry
from tests.model.versioned.verbs import ANN, TINY, once

_CHOICE = ("put", "put", "put", "delete", "move", "commit", "commit", "merge", "merge", "workspace", "stash", "compact")


class Order(msgspec.Struct, frozen=True):
    folder: str
    who: str
    steps: int


class Left(msgspec.Struct):
    """What is left on `main` under this process's own prefix."""

    files: dict[str, str] = {}
    commits: list[str] = []


class Neighbour:
    def __init__(self, repository: OpenRepository, who: str) -> None:
        self._at = repository
        self._who = who
        self._random = random.Random(who)
        self._left = Left({}, [])
        self._own: dict[str, str] = {}  # on the branch of its own
        self._count = 0

    async def work(self, steps: int) -> Left:
        await branches.create_branch(self._at, self._who, "main", actor=ANN)
        for _ in range(steps):
            self._count += 1
            await getattr(self, f"_{self._random.choice(_CHOICE)}")()
        return self._left

    async def _put(self) -> None:
        path, data = self._path("main"), self._data()
        await objects.put(self._at, "main", path, once(data), actor=ANN)
        self._left.files[path] = data

    async def _delete(self) -> None:
        path = self._path("main")
        there = self._left.files.pop(path, None) is not None
        assert bool(await objects.delete(self._at, "main", [path], actor=ANN)) == there

    async def _move(self) -> None:
        """A path that nobody else touches is always where it was left."""
        mine = sorted(path for path in self._left.files if "/main/" in path)
        target = f"{self._who}/main/moved"
        if mine and mine[0] != target:
            await copy.move(self._at, "main", mine[0], target, actor=ANN)
            self._left.files[target] = self._left.files.pop(mine[0])

    async def _commit(self) -> None:
        try:
            id, _ = await commit(self._at, "main", CommitRequest(f"{self._who} {self._count}"), actor=ANN)
        except NothingToDo:
            return  # somebody else has just committed it
        self._left.commits.append(id)

    async def _merge(self) -> None:
        path, data = self._path("branch"), self._data()
        await objects.put(self._at, self._who, path, once(data), actor=ANN)
        await commit(self._at, self._who, CommitRequest("mine"), actor=ANN)
        self._own[path] = data
        first = CommitRequest(f"before {self._who} {self._count}", allow_empty=True)
        self._left.commits.append(await head_moves.merge(self._at, self._who, "main", actor=ANN, commit_first=first))
        self._left.files.update(self._own)

    async def _workspace(self) -> None:
        path, data = self._path("workspace"), self._data()
        opened = await registry.open_workspace(self._at, "main", actor=ANN)
        await write.put(self._at, opened.id, path, once(data), actor=ANN)
        id, _ = await workspace_commit.commit(
            self._at, opened.id, CommitRequest("workspace"), actor=ANN, everything=True
        )
        self._left.commits.append(id)
        self._left.files[path] = data

    async def _stash(self) -> None:
        await objects.put(self._at, self._who, "aside", once(self._data()), actor=ANN)
        await stash.push(self._at, self._who, actor=ANN)
        await stash.drop(self._at, self._who, actor=ANN)

    async def _compact(self) -> None:
        await upkeep.compact(self._at, "main", TINY)
        await upkeep.cover(self._at, "main", TINY)

    def _path(self, kind: str) -> str:
        return f"{self._who}/{kind}/{self._random.randrange(4)}"

    def _data(self) -> str:
        return f"{self._who} {self._count}"  # never the same twice, so that no commit of it changes nothing


async def _main(order: Order) -> Left:
    store = stack(open_store(order.folder), clock=SystemClock(), ids=Ids())
    lake = await Lake.open(store, alarm=_alarm)
    repository = await lake.open_repository("demo-repo")
    left = await Neighbour(repository, order.who).work(order.steps)
    await repository.close()
    await lake.close()
    return left


def _alarm(text: str) -> None:
    sys.exit(text)


if __name__ == "__main__":
    print(msgspec.json.encode(asyncio.run(_main(msgspec.json.decode(sys.argv[1], type=Order)))).decode())
