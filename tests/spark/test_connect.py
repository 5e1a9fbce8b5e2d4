"""Queries on a Spark that is elsewhere, behind Spark Connect: no JVM runs where they are asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lochan.engines.asking import How
from lochan.engines.duckdb.limits import Cancelled, LimitReached, Limits
from lochan.engines.row_diff.sides import Wish
from lochan.engines.spark import session
from lochan.engines.spark.place import SparkPlace
from lochan.errors import Gone
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.compact.compact import How as CompactHow
from lochan.jobs.compact.compact import compact
from lochan.jobs.diffing import How as DiffHow
from lochan.jobs.listing import jobs
from tests.spark.connect import connect_server
from tests.spark.here import LEFT_SOCKETS
from tests.unit.engines.lake import ANN, query_lake

pytestmark = [LEFT_SOCKETS, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")]
SLOW = "from pool | join (from pool) on a=a | join (from pool) on a=a | count()"  # 8 * 10^9 rows


@pytest.fixture(scope="module")
def how() -> Iterator[How]:
    with connect_server() as url:
        yield How(engine="spark", spark=SparkPlace(remote=url), actor=ANN)
        session.stop()


def test_rows_limits_and_what_is_gone(how: How, tmp_path: Path) -> None:
    rows = [{"k": number, "a": 1, "s": f"{number}"} for number in range(2_000)]

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", rows[::2], rows[1::2])
            with await lake.lake.query("from pool", how) as result:
                assert list(result.rows()) == rows
            with await lake.lake.query("from pool:objects | count()", how) as result:  # a table of ours
                assert list(result.rows()) == [{"count": 2}]
            result = await lake.lake.query(SLOW, how._replace(limits=Limits(seconds=1)))
            with pytest.raises(LimitReached, match="has not ended within its 1 seconds"):
                list(result.rows())
            result = await lake.lake.query(SLOW, how)
            threading.Timer(1, result.cancel).start()
            with pytest.raises(Cancelled):
                list(result.rows())
            (await lake.files("pool"))[0].unlink()
            with pytest.raises(Gone, match="is gone"):
                await lake.lake.query("from pool", how)
            found = await jobs(lake.lake.store, lake.lake.clock.wall(), 9)
            assert [each.state for each in found] == ["failed", "cancelled", "failed", "done", "done"]
            assert {each.where for each in found} == {how.spark.remote}

    asyncio.run(asked())


def test_a_compaction_and_a_diff_of_rows(how: How, tmp_path: Path) -> None:
    rows = [{"k": number, "s": f"{number * 2654435761 % (1 << 32):x}"} for number in range(2_000)]

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool(
                "pool", rows[::2], rows[1::2], settings=PoolSettings((PoolKey(("k",)),), size_bytes=4 << 10)
            )
            repository = await lake.lake.open_repository("pool")
            at = lake.lake.queries().files, lake.lake.place
            done = await compact(repository, "main", *at, actor=ANN, how=CompactHow("spark", spark=how.spark))
            await repository.close()
            assert done.after > 2
            await lake.load("pool", rows[:2])
            with await lake.lake.diff_rows("pool", Wish("main~2", "main"), DiffHow("spark", spark=how.spark)) as found:
                assert (found.added, found.removed) == (2, 0)
                assert found.frame.count() == 2

    asyncio.run(asked())
