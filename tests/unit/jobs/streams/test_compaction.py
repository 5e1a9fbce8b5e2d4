"""Small objects are merged behind a stream; if that fails, the stream goes on."""

import logging
from pathlib import Path

import pytest

from lochan.jobs.compaction_plan import CompactRequest
from lochan.jobs.streams.compaction import FAN, CompactionSchedule, compact_stream
from lochan.pools.settings import settings_of
from tests.run import run
from tests.unit.engines.lake import ANN
from tests.unit.jobs.place import JobPool, job_pool


async def objects(pool: JobPool) -> int:
    return len(await pool.lake.rows("from logs:objects"))


async def landed(pool: JobPool, first: int) -> int:
    """A commit of ten rows; how many bytes it brought."""
    messages = await pool.write([{"k": number} for number in range(first, first + 10)])
    return (await pool.land(messages)).size_bytes


@pytest.mark.thorough
def test_eight_commits_become_one_object_and_the_rest_at_the_end(tmp_path: Path) -> None:
    async def work() -> None:
        async with job_pool(tmp_path) as pool:
            rhythm = CompactionSchedule(settings_of(pool.repository.repository).size_bytes)
            at = pool.lake.lake.queries()
            for number in range(2 * FAN + 3):
                request = rhythm.landed(await landed(pool, number * 10))
                if request is not None:
                    done = await compact_stream(at, "logs", "main", request, actor=ANN)
                    assert done is not None and done.after == 1
            assert 4 <= await objects(pool) <= 5
            assert await compact_stream(at, "logs", "main", CompactRequest(), actor=ANN, last=True) is not None
            assert await objects(pool) == 1
            await landed(pool, 1_000)
            assert await compact_stream(at, "logs", "main", CompactRequest(), actor=ANN, last=True) is None, (
                "two are not too many"
            )
            assert await pool.lake.rows("from logs | count()") == [{"count": 200}]

    run(work())


def test_what_cannot_be_done_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with job_pool(tmp_path) as pool:
            with caplog.at_level(logging.WARNING, "lochan.ingest"):
                assert (
                    await compact_stream(pool.lake.lake.queries(), "logs", "gone", CompactRequest(), actor=ANN) is None
                )
            assert "could not compact logs@gone" in caplog.text

    run(work())
