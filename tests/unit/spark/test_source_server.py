"""The process that answers the data source in the JVM, without Spark: requests and answers are lines of JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import lochan
from lochan.spark.source_server import serve
from tests.run import run
from tests.unit.engines.lake import query_lake

THREE = {"op": "=", "column": "k", "value": {"int": 3}}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("lake")

    async def made() -> None:
        async with query_lake(folder) as lake:
            await lake.pool("logs", [{"k": n} for n in range(3)], [{"k": n} for n in range(3, 6)])

    run(made())
    return str(folder / "lake")


def ask(verb: str, lake: str, path: str = "logs", more: dict[str, Any] | None = None, **options: str) -> dict[str, Any]:
    request = {"verb": verb, "options": {"lake": lake, "path": path, **options}, "s3a": False, **(more or {})}
    written = io.StringIO()
    lines = [{"verb": "open", "options": {}}, request]
    serve(io.StringIO("".join(f"{json.dumps(each)}\n" for each in lines)), written)
    [answer] = [json.loads(line) for line in written.getvalue().splitlines()]
    found: dict[str, Any] = answer
    return found


def files(planned: dict[str, Any]) -> int:
    return sum(len(scan["files"]) for scan in planned["scans"])


def test_a_frame_is_pinned_and_pruned(lake: str) -> None:
    loaded = ask("load", lake, versionAsOf="main", where="k > 0")
    with lochan.connect(lake) as opened:
        head = opened.pool("logs").ref("main").resolve().id
    assert loaded["pinned"] == {"lake": lake, "where": "k > 0", "path": f"logs@{head}"}
    assert ask("pin", lake)["pinned"]["path"] == f"logs@{head}"
    [column] = json.loads(loaded["schema"])["fields"]
    assert (column["name"], column["metadata"]["lochan.read"].partition("@")[2]) == ("k", head)
    assert files(ask("plan", lake, f"logs@{head}", {"filters": []}, where="k > 0")) == 2
    assert files(ask("plan", lake, more={"filters": [THREE]})) == 1


def test_a_type_of_the_users_own_is_no_reason_to_leave_objects_out(lake: str) -> None:
    """A float may be rounded, so that it passes a test which its value does not."""
    schema = json.dumps(
        {"type": "struct", "fields": [{"name": "k", "type": "float", "nullable": True, "metadata": {}}]}
    )
    planned = ask("plan", lake, more={"filters": [THREE], "schema": schema})
    assert files(planned) == 2
    assert "CAST(`k` AS float) AS `k`" in planned["sql"]


def test_what_is_wrong_is_said_when_it_is_read_or_written(lake: str) -> None:
    for answer, words in (
        (ask("load", lake, "nothing"), "no repository 'nothing'"),
        (ask("load", lake, "logs@main", versionAsof="main"), "name a commit each"),
        (ask("load", lake, wheer="k > 1"), "did you mean where?"),
        (ask("load", lake, message="m"), "message: a read has no such option"),
        (ask("load", lake, "logs", None, **{"metadata.a": "m"}), "a read takes no metadata"),
        (ask("check_write", lake, more={"overwrite": False}, columns="k"), "columns: a write has no such option"),
        (ask("check_write", lake, more={"overwrite": False}, ifHead="main"), "only an overwrite expects a head"),
        (ask("check_write", lake, more={"overwrite": True}, partitionOverwriteMode="some"), "static or dynamic"),
        (ask("check_write", lake, more={"overwrite": False}, saveMode="ErrorIfExists"), "there are rows at logs@main"),
    ):
        assert words in answer["error"]["message"]
    assert ask("pin", lake, "nothing") == {"pinned": {"lake": lake, "path": "nothing"}}
    assert ask("check_write", lake, more={"overwrite": False}, saveMode="Ignore") == {"done": True}
    assert ask("check_write", lake, more={"overwrite": True}, replaceWhere="k > 1") == {"done": False}


def test_a_store_that_spark_cannot_read_is_left_to_python() -> None:
    for place in ("gs://bucket/lake", "az://container/lake", "s3://bucket/lake"):
        assert ask("load", place) == ask("pin", place) == {}
