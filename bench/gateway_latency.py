"""A PUT through the gateway on a lake in a bucket, one client: is it the put of the data and one append of the journal?

Both are taken bare, with the library that the gateway uses, in turns with the gateway in the same run; and so is a bare
gateway that only does these two for each PUT it gets (`bare_relay.py`): the client's own request is in that, too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from time import perf_counter
from typing import Any

import obstore
from obstore.store import S3Store

from bench.gateway import Bare, _build, _load, bare_app
from bench.table import middle, show
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import MinioServer, minio

_ROUNDS = 7
_EACH = 100
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
        bucket = place.bucket("bench")
        where = {
            "LOCHAN_BENCH_BUCKET": bucket,
            "LOCHAN_BENCH_ENDPOINT": place.endpoint,
            "LOCHAN_BENCH_KEY": place.access_key,
            "LOCHAN_BENCH_SECRET": place.secret_key,
        }
        with (
            lochan_server(f"s3://{bucket}/lake", env=env) as server,
            bare_app("bare_relay:app", **where) as relay,
        ):
            server.lochan("repo", "create", "bench")
            rows = [_compared(place, server, relay, size) for size in (1 << 10, 1 << 20)]
    head = ["PUT", "gateway p50 ms", "bare put", "put-if-absent", "gateway / both", "bare gateway", "gateway / bare"]
    show(f"latency on MinIO, one client, median of {_ROUNDS} rounds of {_EACH}", head, rows)


def _compared(place: MinioServer, server: LochanServer, relay: Bare, size: int) -> list[Any]:
    given = {"op": "put", "n": _EACH, "c": 1, "keys": _EACH, "size": size}
    for at in (server, relay):
        _load(at, **given)  # warm
    ours: list[float] = []
    bare: list[float] = []
    data: list[float] = []
    append: list[float] = []
    for turn in range(_ROUNDS):
        for at, times in ((server, ours), (relay, bare)):
            times.append(_load(at, prefix=f"main/{size}/{turn}/", **given)["p50_ms"])
        for times, p50 in zip((data, append), asyncio.run(_bare(place, size)), strict=True):
            times.append(p50)
    put, create, both = middle(data), middle(append), middle(data) + middle(append)
    rest = [middle(ours) / both, middle(bare), middle(ours) / middle(bare)]
    return [f"{size >> 10:,} KiB", middle(ours), put, create, *rest]


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
    body, record = b"x" * size, b"r" * 600  # a record with one staged entry
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
