"""A lake from plain Python, without an event loop."""

from pathlib import Path

import pytest

import lochan
from lochan.errors import Invalid, NotFound
from lochan.query.errors import QueryError
from tests.run import run
from tests.unit.engines.lake import query_lake


async def filled(folder: Path) -> None:
    async with query_lake(folder) as lake:
        await lake.pool("logs", [{"k": 1, "host": "a"}, {"k": 2, "host": "b"}])


def test_queries_and_loads(tmp_path: Path) -> None:
    run(filled(tmp_path))
    with lochan.connect(tmp_path / "lake") as lake:
        frame = lake.query("from logs | count() by host | sort host").to_pandas()
        assert frame.to_dict("records") == [{"host": "a", "count": 1}, {"host": "b", "count": 1}]
        commit = lake.pool("logs").load([{"k": 3}], "one more").commit
        assert [row["k"] for row in lake.query("from logs").rows()] == [1, 2, 3]
        assert list(lake.query(f"from logs@{commit}:log | head 1 | cut message").rows()) == [{"message": "one more"}]
        asked = lake.query("from logs | hots == 1")
        assert list(asked.rows()) == [] and "did you mean `host`" in asked.warnings[0]
        with pytest.raises(QueryError, match="line 1, column 14"):
            lake.query("from logs | !")
    lake.close()  # once more


def test_no_lake_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        lochan.connect(tmp_path)


@pytest.mark.parametrize("url", ["http://[x", "https://x:99999", "http://x:port", "http://"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(Invalid, match="not the URL of a server"):
        lochan.connect(url, access_key="a", secret_key="b")
    with pytest.raises(Invalid, match="is not an http:// or https:// address"):
        lochan.connect("s3://bucket/lake", options={"endpoint": url})


def test_the_doctor_examines_the_lake_that_is_open(tmp_path: Path) -> None:
    run(filled(tmp_path))
    with lochan.connect(tmp_path / "lake") as lake:
        checks = {each.check: each for each in lake.doctor()}
    assert checks["store"].status == checks["lake"].status == "ok"
    assert checks["lake"].found.startswith(f"file://{tmp_path}/lake: format 1, ")
