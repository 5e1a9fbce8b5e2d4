"""A branch with many staged entries, as a smart client makes them: python -m bench.fill LAKE REPOSITORY BRANCH COUNT"""

import asyncio
import sys

import numpy as np
import pyarrow as pa

from lochan.formats.entry import RUN_SCHEMA
from lochan.formats.record import Actor
from lochan.formats.repository_events import RunsStaged
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning.branches import create_branch

ACTOR = Actor("bench", "bench", "")
_FOLDERS = 1_000


def changes(count: int, mint: int, folders: int = _FOLDERS) -> pa.Table:
    """Paths `d/<folder>/<file>`; the bytes they name are not there, and are not asked for."""
    numbers = np.arange(count)
    each = max(1, count // folders)
    paths = pa.array([f"d/{number // each:05d}/{number % each:07d}" for number in range(count)])
    block = {"address": f"repo/data/{mint:020d}-bench/body", "offset": 0, "size": 1024, "sha256": b"0" * 32}
    md5 = pa.array([f"{number:032x}" for number in numbers])
    empty = pa.array([[]] * count, pa.map_(pa.string(), pa.string()))
    columns = {
        "path": paths,
        "blocks": pa.array([[block]] * count, RUN_SCHEMA.field("blocks").type),
        "size": pa.array(np.full(count, 1024)),
        "checksum": md5,
        "etag": md5,
        "mtime": pa.array(np.full(count, 1_700_000_000_000_000)),
        "content_type": pa.array([""] * count),
        "checksums": empty,
        "parts": pa.array([[]] * count, pa.list_(pa.int64())),
        "headers": empty,
        "metadata": empty,
        "deleted": pa.array(np.zeros(count, bool)),
    }
    return pa.table([columns[name] for name in RUN_SCHEMA.names], schema=RUN_SCHEMA)


async def fill(lake_path: str, name: str, branch: str, count: int) -> None:
    lake = await Lake.open(open_store(lake_path, {}))
    repository = await lake.open_repository(name)
    await create_branch(repository, branch, "main", actor=ACTOR)
    _, mint = await repository.refs()
    runs = await repository.runs.adopt(changes(count, mint), mint)
    await repository.submit(ACTOR, RunsStaged(branch, runs, mint=mint))
    await repository.close()
    await lake.close()


if __name__ == "__main__":
    asyncio.run(fill(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
