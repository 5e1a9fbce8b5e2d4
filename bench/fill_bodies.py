"""A branch with many staged objects that have bodies of 1 KiB, in packs as the gateway writes them:
python -m bench.fill_bodies LAKE REPOSITORY BRANCH COUNT"""

import asyncio
import sys
from hashlib import md5, sha256

import numpy as np
import pyarrow as pa

from lochan.formats.entry import RUN_SCHEMA
from lochan.formats.record import Actor
from lochan.formats.repository_events import RunsStaged
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning.branches import create_branch
from lochan.versioning.open_repository import OpenRepository

ACTOR = Actor("bench", "bench", "")
BODY_BYTES = 1024
_BODIES_MAX = 100_000  # beyond that, several objects share a body: a million would be a gigabyte
_PACKED = 64  # bodies in a file
_SECONDS = 10_000_000  # over which the objects' times are spread


async def fill(lake_path: str, name: str, branch: str, count: int) -> None:
    lake = await Lake.open(open_store(lake_path, {}))
    repository = await lake.open_repository(name)
    await create_branch(repository, branch, "main", actor=ACTOR)
    _, mint = await repository.refs()
    runs = await repository.runs.adopt(await _changes(repository, count, mint), mint)
    await repository.submit(ACTOR, RunsStaged(branch, runs, mint=mint))
    await repository.close()
    await lake.close()


async def _changes(repository: OpenRepository, count: int, mint: int) -> pa.Table:
    """Paths `k/<number>`."""
    numbers = np.arange(count)
    bodies = await _bodies(repository, min(count, _BODIES_MAX), mint)
    which = pa.array(numbers % len(bodies))
    texts = pa.array(np.zeros(count + 1, np.int32))
    no_texts = pa.MapArray.from_arrays(texts, pa.array([], pa.string()), pa.array([], pa.string()))
    sums = bodies["md5"].combine_chunks().take(which)
    columns = {
        "path": pa.array([f"k/{number:08d}" for number in range(count)]),
        "blocks": _blocks(bodies, which, count),
        "size": pa.array(np.full(count, BODY_BYTES)),
        "checksum": sums,
        "etag": sums,
        "mtime": pa.array((1_700_000_000 + numbers * 7_919 % _SECONDS) * 1_000_000),
        "content_type": pa.array(["application/octet-stream"]).take(pa.array(np.zeros(count, np.int64))),
        "checksums": no_texts,
        "parts": pa.ListArray.from_arrays(texts, pa.array([], pa.int64())),
        "headers": no_texts,
        "metadata": no_texts,
        "deleted": pa.array(np.zeros(count, bool)),
    }
    table = pa.table([columns[name] for name in RUN_SCHEMA.names], names=RUN_SCHEMA.names)
    return table.cast(RUN_SCHEMA)


def _blocks(bodies: pa.Table, which: pa.Array, count: int) -> pa.ListArray:
    fields = ("address", "offset", "size", "sha256")
    structs = pa.StructArray.from_arrays([bodies[name].combine_chunks().take(which) for name in fields], fields)
    return pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), structs)


async def _bodies(repository: OpenRepository, count: int, mint: int) -> pa.Table:
    rows = []
    for first in range(0, count, _PACKED):
        address = repository.bodies.address("pack", mint)
        pack = [f"{number:08d}".encode() * (BODY_BYTES // 8) for number in range(first, min(first + _PACKED, count))]
        await repository.store.put(address, b"".join(pack))
        for at, data in enumerate(pack):
            block = {"address": address, "offset": at * BODY_BYTES, "size": BODY_BYTES, "sha256": sha256(data).digest()}
            rows.append({**block, "md5": md5(data).hexdigest()})
    return pa.Table.from_pylist(rows)


if __name__ == "__main__":
    asyncio.run(fill(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
