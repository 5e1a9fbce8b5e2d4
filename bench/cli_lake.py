"""The lake of the benchmarks of commands: 1,000,000 committed entries in folders of 200, 100,000 staged over them one
by one, as clients of S3 put them, and a pool of 1,000 rows.

    python -m bench.cli_lake FOLDER [COMMITTED STAGED]
"""

import asyncio
import sys

from bench.fill import ACTOR, changes
from lochan.api.pool import load_rows
from lochan.formats.entry import Block, Entry
from lochan.formats.repository_events import RunsStaged, Staged
from lochan.lake import Lake
from lochan.pools.settings import parse
from lochan.store.local import LocalStore
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository

COMMITTED, STAGED = 1_000_000, 100_000
_FOLDER = 200  # files in each
_AT_ONCE = 64  # clients that put
_COMMITS = 20
_ROWS = 1_000


async def make(folder: str, committed: int = COMMITTED, staged: int = STAGED) -> None:
    lake = await Lake.create(LocalStore(folder, create=True))
    try:
        await lake.create_repository("demo", actor=ACTOR)
        repository = await lake.open_repository("demo")
        await _commit(repository, committed)
        for number in range(_COMMITS):
            await _put(repository, f"notes/{number:02d}.md")
            await commit(repository, "main", CommitRequest(f"notes {number}"), actor=ACTOR)
        await _stage(repository, committed, staged)
        await repository.close()
        await lake.create_pool("logs", parse(("n",)), actor=ACTOR)
        await load_rows(lake, "logs", [{"n": n, "host": f"h{n % 7}"} for n in range(_ROWS)], actor=ACTOR)
    finally:
        await lake.close()


def path(number: int) -> str:
    """Of the committed entry with that number."""
    return f"d/{number // _FOLDER:05d}/{number % _FOLDER:07d}"


async def _commit(repository: OpenRepository, count: int) -> None:
    _, mint = await repository.refs()
    runs = await repository.runs.adopt(changes(count, mint, count // _FOLDER), mint)
    await repository.submit(ACTOR, RunsStaged("main", runs, mint=mint))
    await commit(repository, "main", CommitRequest("all of it"), actor=ACTOR)


async def _stage(repository: OpenRepository, committed: int, staged: int) -> None:
    every = committed // staged
    for first in range(0, staged, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, staged))
        await asyncio.gather(*(_put(repository, path(number * every)) for number in numbers))


async def _put(repository: OpenRepository, path: str) -> None:
    """As the gateway does, but for the bytes: they are not there, and not asked for."""
    mint = repository.journal.tail.state.number
    block = Block(f"{repository.repository.id}/data/{mint:020d}-bench/body", 0, 1024, b"0" * 32)
    await repository.submit(ACTOR, Staged("main", (Entry(path, (block,), 1024, "0" * 32, "0" * 32, 1),)))
    repository.staged("main")


if __name__ == "__main__":
    asyncio.run(make(sys.argv[1], *map(int, sys.argv[2:])))
