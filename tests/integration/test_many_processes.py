"""Several processes append to one journal at once: on disk, on S3, in PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from lochan.formats.record import SealedRecord
from lochan.journal.mirror import read_mirror
from lochan.lake import LAKE_JOURNAL, Lake
from lochan.store.open import open_store
from lochan.versioning.repositories import Repository
from tests.run import run
from tests.servers.minio import MinioServer
from tests.servers.postgres import PostgresServer

PROCESSES = 4
REQUESTS = 300
CONTENDED = 60

_prefixes = count()


def test_on_disk(tmp_path: Path) -> None:
    _play(f"file://{tmp_path}/lake", {})


def test_on_s3(minio_server: MinioServer) -> None:
    _play(f"s3://{minio_server.bucket('many')}/{next(_prefixes)}", minio_server.options)


def test_in_postgres(postgres_server: PostgresServer, tmp_path: Path) -> None:
    store = f"file://{tmp_path}/lake"
    records = _play(store, {}, postgres_server.url)

    async def mirrored() -> list[SealedRecord]:
        return [sealed async for sealed in read_mirror(open_store(store), LAKE_JOURNAL)]

    assert [sealed.data for sealed in run(mirrored())] == [sealed.data for sealed in records]


def _play(store: str, options: Mapping[str, str], journal_url: str = "") -> list[SealedRecord]:
    run(_create(store, options, journal_url))
    task = {"store": store, "options": dict(options), "journal_url": journal_url}
    acknowledged = _processes({**task, "requests": REQUESTS, "contended": CONTENDED})
    repositories, records = run(_read(store, options, journal_url))

    claims = [claim for one in acknowledged for claim in one.items()]
    assert {one.name: one.id for one in repositories} == dict(claims), "what was acknowledged is there, and no more"
    assert len(claims) == len(repositories) == PROCESSES * REQUESTS + CONTENDED, "each name has one owner"
    entries = [entry for sealed in records for entry in sealed.record.entries]
    assert len(entries) == len(claims), "each is in the journal once"
    assert [sealed.record.number for sealed in records] == list(range(1, len(records) + 1))
    writers = Counter(sealed.record.writer for sealed in records)
    assert len(writers) == PROCESSES, "they all wrote"
    return records


def _processes(task: dict[str, object]) -> list[dict[str, str]]:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.integration.append_worker", json.dumps({**task, "worker": worker})],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
        )
        for worker in range(PROCESSES)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES
    return [json.loads(output) for output in outputs]


async def _create(store: str, options: Mapping[str, str], journal_url: str) -> None:
    journal = "postgres" if journal_url else "store"
    opened = open_store(store, options, create=store.startswith("file:"))
    await (await Lake.create(opened, journal=journal, journal_url=journal_url)).close()


async def _read(
    store: str, options: Mapping[str, str], journal_url: str
) -> tuple[list[Repository], list[SealedRecord]]:
    lake = await Lake.open(open_store(store, options), journal_url=journal_url)
    journal = await lake.journal()
    records = [sealed async for sealed in journal.records()]  # from the first on, link by link
    repositories = await lake.repositories()
    await lake.close()
    return repositories, records
