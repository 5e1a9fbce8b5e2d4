"""PUTs of 1 KiB through the gateway on a lake in MinIO, near by and behind a relay that adds 20 ms to each request.

Three claims: one client waits for the put of its data and one append (both are taken bare beside it, through the same
relay); more clients get more PUTs a second; and small PUTs share their files, so that a PUT costs fewer requests to the
store the more clients there are.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from itertools import count
from time import perf_counter
from typing import Any

import obstore
from obstore.store import S3Store

from bench.delay_relay import delayed
from bench.gateway import _build, _load
from bench.gateway_servers import minio_settings
from bench.table import middle, show
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import MinioServer, minio

_DELAY_MS = 20.0
_CLIENTS = (1, 4, 16, 64)
_ROUNDS = 3
_SECONDS = 4.0
_BARE = 40
_numbers = count()


def main() -> None:
    _build()
    with minio() as place:
        _run(place, "near", 0.0)
        _run(place, "far", _DELAY_MS)


def _run(place: MinioServer, name: str, delay_ms: float) -> None:
    bucket = place.bucket(f"bench-{name}")
    with ExitStack() as stack:
        endpoint = place.endpoint
        if delay_ms:
            endpoint = f"http://{stack.enter_context(delayed(endpoint.removeprefix('http://'), delay_ms))}"
        lake = f"s3://{bucket}/lake"
        servers = {}
        for workers in (1, 2):
            env = minio_settings(place, endpoint)
            servers[workers] = stack.enter_context(lochan_server(f"{lake}-{workers}", env=env, workers=workers))
            servers[workers].lochan("repo", "create", "bench")
        for workers, server in servers.items():
            title = f"{delay_ms:.0f} ms added, workers: {workers}"
            _growth(place, server, bucket, f"{lake}-{workers}", title, endpoint)


def _growth(place: MinioServer, server: LochanServer, bucket: str, lake: str, title: str, endpoint: str) -> None:
    near, far = (_store(place, bucket, at) for at in (place.endpoint, endpoint))
    prefix = lake.removeprefix(f"s3://{bucket}/")
    _load(server, op="put", n=64, c=16, keys=64)  # warm
    rows: list[list[Any]] = []
    for clients in _CLIENTS:
        turns = [_turn(server, near, prefix, clients) for _ in range(_ROUNDS)]
        rows.append([clients, *(middle(list(column)) for column in zip(*turns, strict=True))])
        rows[-1].insert(2, rows[-1][1] / rows[0][1])
    put, append = asyncio.run(_bare(far))
    head = ["clients", "per second", "of one", "p50 ms", "p99 ms", "PUTs in a pack", "PUTs in a record"]
    show(f"PUT of 1 KiB on MinIO, {title}; median of {_ROUNDS}", head, rows)
    both, alone = put + append, rows[0][3]
    show(
        "one client",
        ["put ms", "append ms", "both", "gateway p50", "ratio"],
        [[put, append, both, alone, alone / both]],
    )


def _turn(server: LochanServer, store: S3Store, prefix: str, clients: int) -> tuple[float, float, float, float, float]:
    before = _files(store, prefix)
    result = _load(server, op="put", n=10_000_000, c=clients, keys=20_000, **{"for": _SECONDS})
    packs, records = (now - then for now, then in zip(_files(store, prefix), before, strict=True))
    done = result["requests"]
    return result["per_second"], result["p50_ms"], result["p99_ms"], done / max(1, packs), done / max(1, records)


def _files(store: S3Store, prefix: str) -> tuple[int, int]:
    """Data files and records of repositories."""
    data = records = 0
    for page in store.list(prefix):
        for each in page:
            parts = each["path"].removeprefix(f"{prefix}/").split("/")
            data += "data" in parts
            records += parts[0] != "_lake" and parts[-2:-1] == ["journal"] and parts[-1].isdigit()
    return data, records


def _store(place: MinioServer, bucket: str, endpoint: str) -> S3Store:
    return S3Store(
        bucket,
        endpoint=endpoint,
        access_key_id=place.access_key,
        secret_access_key=place.secret_key,
        region="us-east-1",
        client_options={"allow_http": True},
    )


async def _bare(store: S3Store) -> tuple[float, float]:
    """p50 in milliseconds: of a put of the data, and of one put-if-absent of a record."""
    body, record = b"x" * 1024, b"r" * 600
    data = await _p50(lambda name: obstore.put_async(store, name, body, use_multipart=False))
    append = await _p50(lambda name: obstore.put_async(store, name, record, mode="create", use_multipart=False))
    return data, append


async def _p50(call: Callable[[str], Awaitable[object]]) -> float:
    times = []
    for _ in range(_BARE):
        begun = perf_counter()
        await call(f"bare/{next(_numbers):08d}")
        times.append((perf_counter() - begun) * 1_000)
    return middle(times)
