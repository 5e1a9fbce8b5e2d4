"""The process that is killed while it versions files: one client, one thing after the other, told before and after."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from io import FileIO
from pathlib import Path

import msgspec

from lochan import failpoints
from lochan.errors import AlreadyExists, Invalid, LochanError
from lochan.formats.record import Actor
from lochan.staging.compaction import Limits
from lochan.versioning import branching, moving, objects, upkeep
from lochan.versioning.commit import Wish, commit
from lochan.versioning.moving import PathConflicts
from lochan.versioning.open_repository import OpenRepository
from tests.kill import place
from tests.kill.child import Order, Trap

ANN = Actor("ann", "kill", "here")
BRANCHES = ("main", "dev")
_STEPS = 30


class Line(msgspec.Struct, frozen=True):
    verb: str
    branch: str
    path: str = ""
    data: str = ""
    done: bool = False  # False: about to be asked for
    result: str = ""  # a commit's id; "-" for what was refused


async def work(order: Order, told: FileIO) -> None:
    store = place.lake_store(order.folder)
    await place.make_lake(store, "")
    lake = await place.open_lake(store, "", lambda text: None)
    with suppress(AlreadyExists):
        await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    refs, _ = await repository.refs()
    if refs.find_branch("dev") is None:
        await branching.create_branch(repository, "dev", "main", actor=ANN)
    draw = random.Random(f"{order.seed}-{order.life}")
    for step in range(_STEPS):
        verb = ("put", "put", "delete", "compact", "commit", "put", "compact", "commit", "merge", "revert")[step % 10]
        wish = Line(verb, BRANCHES[step // 10 % 2], draw.choice("abc"), f"{order.life}-{step}")
        await _one(repository, wish, told)
    await repository.close()
    await lake.close()


async def _one(repository: OpenRepository, wish: Line, told: FileIO) -> None:
    told.write(msgspec.json.encode(wish) + b"\n")
    try:
        result = await _VERBS[wish.verb](repository, wish)
    except (Invalid, PathConflicts, LochanError) as error:
        if error.kind in ("unknown", "transient", "corrupt"):
            raise
        result = "-"
    told.write(msgspec.json.encode(msgspec.structs.replace(wish, done=True, result=result)) + b"\n")


async def _put(repository: OpenRepository, wish: Line) -> str:
    await objects.put(repository, wish.branch, wish.path, _once(wish.data.encode()), actor=ANN)
    return ""


async def _delete(repository: OpenRepository, wish: Line) -> str:
    await objects.delete(repository, wish.branch, [wish.path], actor=ANN)
    return ""


async def _commit(repository: OpenRepository, wish: Line) -> str:
    return (await commit(repository, wish.branch, Wish(wish.data), actor=ANN))[0]


async def _merge(repository: OpenRepository, wish: Line) -> str:
    source = "dev" if wish.branch == "main" else "main"
    return await moving.merge(repository, source, wish.branch, actor=ANN, staged_source=True)


async def _revert(repository: OpenRepository, wish: Line) -> str:
    return await moving.revert(repository, wish.branch, wish.branch, actor=ANN)


async def _compact(repository: OpenRepository, wish: Line) -> str:
    await upkeep.compact(repository, wish.branch, Limits(inline_count=1))
    return ""


_VERBS = {"compact": _compact, "put": _put, "delete": _delete, "commit": _commit, "merge": _merge, "revert": _revert}


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Order)
    trap = Trap(given)
    failpoints.arm(trap)
    with Path(given.told).open("ab", buffering=0) as told:
        asyncio.run(work(given, told))
    print(msgspec.json.encode(dict(trap.passed)).decode())
