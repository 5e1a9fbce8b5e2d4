"""Dedupe on Spark finds and does what the embedded engine does, and the driver gets the equal blocks alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lochan.engines.spark import session
from lochan.formats.entry import Block
from lochan.formats.record import Actor
from lochan.formats.repository_events import Staged
from lochan.jobs.collection import spark_dedupe
from lochan.jobs.collection.run import CollectJobOptions, dedupe, dedupe_report, plan, sweep
from lochan.jobs.record import jobs
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning import branches, objects
from lochan.versioning.bodies.body import ready
from lochan.versioning.collection.equal_blocks import DuplicateBlocks
from lochan.versioning.collection.plan import CollectionLimits
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.spark.local_spark import HERE, LEFT_SOCKETS

pytestmark = LEFT_SOCKETS
ANN = Actor("ann", "test", "here")
SPARK, EMBEDDED = CollectJobOptions("spark", spark=HERE), CollectJobOptions("duckdb")
AT_ONCE = CollectionLimits(grace_s=-1e9, share_max=1)
SAME = bytes(range(256)) * 40


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    session.stop()


async def body(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def played(folder: Path) -> tuple[Lake, OpenRepository]:
    """Equal blocks in commits, on another branch, staged, and in packs; and others that are there once."""
    lake = await Lake.create(open_store(str(folder), create=True))
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    for path in ("a", "b"):
        await objects.put(repository, "main", path, body(SAME), actor=ANN)
        await objects.put(repository, "main", f"{path}-alone", body(path.encode() * 100), actor=ANN)
        await commit(repository, "main", CommitRequest(path), actor=ANN)
    await branches.create_branch(repository, "dev", "main", actor=ANN)
    _, mint = await repository.refs()
    for pack in ({"x": b"x" * 500, "y": b"y" * 700, "z": b"x" * 500}, {"v": b"y" * 700}):
        entries = await repository.bodies.write_pack([ready(path, data) for path, data in pack.items()], mint=mint)
        await repository.submit(ANN, Staged("dev", tuple(entries)))
    await commit(repository, "dev", CommitRequest("packs"), actor=ANN)
    await objects.put(repository, "main", "staged", body(SAME), actor=ANN)
    return lake, repository


async def bodies(repository: OpenRepository) -> dict[tuple[str, str], bytes]:
    found = {}
    for branch in ("main", "dev"):
        for entry in (await objects.list_objects(repository, branch, limit=100)).entries:
            found[branch, entry.path] = await repository.reader.read_all(entry)
    return found


def rows(found: DuplicateBlocks) -> list[dict[str, object]]:
    table = found.aliases.sort_by([("address", "ascending"), ("offset", "ascending")])
    made: list[dict[str, object]] = table.to_pylist()
    return made


def test_both_engines_find_the_same_and_every_object_reads_as_before(tmp_path: Path) -> None:
    async def story() -> None:
        lake, repository = await played(tmp_path / "lake")
        before = await bodies(repository)
        here = await dedupe_report(repository, lake.place, actor=ANN, options=EMBEDDED)
        assert (here.blocks, len(here.aliases), here.duplicate_bytes) == (9, 4, 2 * len(SAME) + 500 + 700)
        made = await dedupe(repository, lake.place, actor=ANN, options=SPARK)
        assert rows(made) == rows(here)
        assert made._replace(aliases=here.aliases) == here
        assert await bodies(repository) == before
        again = await dedupe_report(repository, lake.place, actor=ANN, options=EMBEDDED)
        assert len(again.aliases) == 0
        assert (again.blocks, again.bytes) == (here.blocks - 4, here.bytes - here.duplicate_bytes)
        for _ in range(2):
            await plan(repository, lake.id, lake.place, AT_ONCE, actor=ANN, options=EMBEDDED)
            freed = await sweep(repository, lake.id, lake.place, AT_ONCE, actor=ANN, options=EMBEDDED)
        assert freed.bytes >= here.freed_bytes
        assert await bodies(repository) == before
        assert {each.kind for each in await jobs(lake.store, lake.clock.wall(), 10)} == {"dedupe"}
        await repository.close()
        await lake.close()

    run(story())


@pytest.mark.full
def test_a_damaged_block_is_never_the_one_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_dedupe, "_TASK_BLOCKS", 1)  # more than one task

    async def story() -> None:
        lake, repository = await played(tmp_path / "lake")
        found = await dedupe_report(repository, lake.place, actor=ANN, options=EMBEDDED)
        target = next(row["target"] for row in rows(found) if row["size"] == len(SAME))
        (tmp_path / "lake" / str(target)).write_bytes(b"!" + SAME[1:])
        made = await dedupe(repository, lake.place, actor=ANN, options=SPARK)
        assert [each.address for each in made.damaged] == [target]
        assert all(row["target"] != target for row in rows(made))
        assert {row["address"] for row in rows(made)} >= {target}, "its own bytes are read elsewhere now"
        assert set((await bodies(repository)).values()) == {SAME, *(each * 100 for each in (b"a", b"b")), *_PACKED}
        await repository.close()
        await lake.close()

    run(story())


_PACKED = (b"x" * 500, b"y" * 700)


def test_bodies_are_shared_out_by_their_size() -> None:
    blocks = [Block(str(number), 0, 100 << 20, b"") for number in range(5)]
    assert [len(each) for each in spark_dedupe.split_blocks(blocks)] == [2, 2, 1]
