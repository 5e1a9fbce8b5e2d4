"""A PUT through the gateway on a lake in a bucket, one client: is it the put of the data and one append of the journal?

Both are taken bare, with the library that the gateway uses, in turns with the gateway in the same run.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from time import perf_counter

import obstore
from obstore.store import S3Store

from bench.gateway import _build, _load
from bench.table import middle, show
from tests.servers.lochan import lochan_server
from tests.servers.minio import MinioServer, minio

_ROUNDS = 7
_EACH = 100
_RECORD_BYTES = 600  # of a record with one staged entry
_numbers = count()


def main() -> None:
    _build()
    with minio() as place:
        env = {
            "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
            "LOCHAN_BLOCKSTORE__S3__ENDPOINT": place.endpoint,
            "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": place.access_key,
            "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": place.secret_key,
        }
        with lochan_server(f"s3://{place.bucket('bench')}/lake", env=env) as server:
            server.lochan("repo", "create", "bench")
            rows = []
            for size in (1 << 10, 1 << 20):
                _load(server, op="put", n=_EACH, c=1, keys=_EACH, size=size)  # warm
                ours, data, append = [], [], []
                for turn in range(_ROUNDS):
                    given = {"op": "put", "n": _EACH, "c": 1, "keys": _EACH, "size": size}
                    ours.append(_load(server, prefix=f"main/{size}/{turn}/", **given)["p50_ms"])
                    bare = asyncio.run(_bare(place, size))
                    data.append(bare[0])
                    append.append(bare[1])
                both = middle(data) + middle(append)
                rows.append([f"{size >> 10:,} KiB", middle(ours), middle(data), middle(append), middle(ours) / both])
    head = ["PUT", "gateway p50 ms", "bare put p50 ms", "put-if-absent p50 ms", "gateway / both"]
    show(f"latency on MinIO, one client, median of {_ROUNDS} rounds of {_EACH}", head, rows)


async def _bare(place: MinioServer, size: int) -> tuple[float, float]:
    """p50 in milliseconds: of a put of the data, and of one put-if-absent of a record."""
    store = S3Store(
        "bench",
        prefix="bare",
        endpoint=place.endpoint,
        access_key_id=place.access_key,
        secret_access_key=place.secret_key,
        region="us-east-1",
        client_options={"allow_http": True},
    )
    body, record = b"x" * size, b"r" * _RECORD_BYTES
    data = await _p50(lambda name: obstore.put_async(store, name, body, use_multipart=False))
    append = await _p50(lambda name: obstore.put_async(store, name, record, mode="create", use_multipart=False))
    return data, append


async def _p50(call: Callable[[str], Awaitable[object]]) -> float:
    times = []
    for _ in range(_EACH):
        begun = perf_counter()
        await call(f"{next(_numbers):08d}")
        times.append((perf_counter() - begun) * 1_000)
    return middle(times)
