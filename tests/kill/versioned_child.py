"""The process that is killed while it versions files. It has its lake open twice, as two independent writers, and
reports before and after each request.
"""

import asyncio
import sys
from contextlib import suppress
from io import FileIO
from pathlib import Path

import msgspec

from lochan import failpoints
from lochan.errors import AlreadyExists
from lochan.lake import Lake, LakeOptions
from lochan.store.open import open_store
from lochan.versioning.heads import branch_queue
from lochan.versioning.open_repository import OpenRepository
from tests.kill import place
from tests.kill.child import Order, Trap
from tests.kill.workload import workload
from tests.model.versioned.requests import FOLDERS, Request
from tests.model.versioned.verbs import ANN, NewCommit, play


class Line(msgspec.Struct, frozen=True):
    life: int
    step: int
    at: int  # place in the step
    done: bool = False  # False: about to be asked for
    kind: str = ""
    commit: str = ""  # the answer: a commit's id
    value: str | int | tuple[str, ...] = ""  # or something else

    @property
    def name(self) -> str:
        return f"{self.life}.{self.step}.{self.at}"


# What waits for the dead waits for long, and a test has little time.
HASTENED = ((branch_queue, "SILENT_S", 0.4), (branch_queue, "RENEW_S", 0.1))


async def live(life: int, repositories: list[OpenRepository], reports: FileIO) -> None:
    for number, step in enumerate(workload(life)):
        await asyncio.gather(
            *(
                _ask(repositories[at % len(repositories)], request, Line(life, number, at), reports)
                for at, request in enumerate(step)
            )
        )


async def _ask(repository: OpenRepository, request: Request, line: Line, reports: FileIO) -> None:
    reports.write(msgspec.json.encode(line) + b"\n")
    answer = await play(repository, request, line.name)
    line = msgspec.structs.replace(line, done=True, kind=answer.kind)
    if isinstance(answer.value, NewCommit):
        line = msgspec.structs.replace(line, commit=str(answer.value))
    else:
        line = msgspec.structs.replace(line, value=answer.value)
    reports.write(msgspec.json.encode(line) + b"\n")


async def opened(folder: Path) -> tuple[list[Lake], list[OpenRepository]]:
    """Twice; made, if no life before this one has."""
    store = place.lake_store(str(folder / "lake"))
    outside = open_store(str(folder / "outside"), create=True)
    for url, files in FOLDERS.items():
        for path, data in files.items():
            file = folder / "outside" / url.removeprefix("s3://out/") / path
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(data)
    await place.make_lake(store, "")
    world = LakeOptions(lambda url: outside)
    lakes = [await place.open_lake(store, "", _alarm, world) for _ in range(2)]
    with suppress(AlreadyExists):
        await lakes[0].create_repository("demo-repo", actor=ANN)
    return lakes, [await lake.open_repository("demo-repo") for lake in lakes]


def _alarm(text: str) -> None:
    raise AssertionError(text)


async def close(lakes: list[Lake], repositories: list[OpenRepository]) -> None:
    for repository in repositories:
        await repository.close()
    for lake in lakes:
        await lake.close()


async def _main(order: Order, reports: FileIO) -> None:
    lakes, repositories = await opened(Path(order.folder))
    await live(order.life, repositories, reports)
    await close(lakes, repositories)


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Order)
    for module, name, value in HASTENED:
        setattr(module, name, value)
    trap = Trap(given)
    failpoints.arm(trap)
    with Path(given.reports).open("ab", buffering=0) as reports:
        asyncio.run(_main(given, reports))
    print(msgspec.json.encode(dict(trap.passed)).decode())
