"""Queries of a real lake, from their text to their rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lochan.api.queries import run_query
from lochan.engines.duckdb.limits import Cancelled, LimitReached, Limits
from lochan.engines.explain import explain
from lochan.engines.run_query import RunOptions
from lochan.errors import Gone, Invalid, NothingToDo, Refused
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.query.errors import QueryError
from tests.run import run
from tests.unit.engines.lake import ANN, query_lake

FIRST: list[Any] = [{"k": 1, "host": "a", "status": 200}, {"k": 5, "host": "b", "status": 500}]
SECOND: list[Any] = [{"k": 3, "host": "c", "status": "broken"}, {"k": 10, "b": {"c": 7}}, {"status": None}]
ALL = [FIRST[0], SECOND[0], FIRST[1], SECOND[1], SECOND[2]]

QUERIES: list[tuple[str, list[Any]]] = [
    ("from logs", ALL),
    ("from logs | head 2", ALL[:2]),
    ("from logs | count()", [{"count": 5}]),
    ("from logs | status >= 300", [FIRST[1]]),
    ('from logs | status == "broken" | cut host', [{"host": "c"}]),
    ("from logs | status == null", [SECOND[2]]),
    ("from logs | b.c == 7 | cut k", [{"k": 10}]),
    ("from logs range 3 to 5", [SECOND[0], FIRST[1]]),
    ("from logs range 2.5 to 5.0 | cut k", [{"k": 3}, {"k": 5}]),
    ("from logs.$nokey", [SECOND[2]]),
    ("from logs@main~1 | count()", [{"count": 2}]),
    ("from log* | count()", [{"count": 5}]),
    ("from /^lo/ | count()", [{"count": 5}]),
    ("from logs, other | sort k | cut k", [{"k": 0}, *({"k": row["k"]} for row in ALL[:4]), {}]),
    ("from logs | k == 1 | cut b", [{}]),  # only objects that are not read have such a field
    ("from logs | k > 1000 | cut host", []),
    ("select host from logs where status = 500", [{"host": "b"}]),
    ("select count(*) as n from logs", [{"n": 5}]),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """All queries above, on one lake."""

    async def asked() -> dict[str, list[Any]]:
        async with query_lake(tmp_path_factory.mktemp("queries")) as lake:
            await lake.pool("logs", FIRST, SECOND)
            await lake.pool("other", [{"k": 0}])
            return {text: await lake.rows(text) for text, _ in QUERIES}

    return run(asked())


@pytest.mark.thorough
@pytest.mark.parametrize("text, expected", QUERIES, ids=[text for text, _ in QUERIES])
def test_rows(answers: dict[str, list[Any]], text: str, expected: list[Any]) -> None:
    assert answers[text] == expected


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text, message",
    [
        ("from lgos", "there is no pool or repository `lgos`; did you mean `logs`?"),
        ("from logs@nowhere", "no branch, tag or commit 'nowhere'"),
        ("from logs@mian | count()", "no branch, tag or commit 'mian'; did you mean `main`?"),
        ("from logs | cut k | host == 1", "unknown field `host`"),
        ("select k as n from logs where n = 1", "unknown column `n`"),
        ("from :pools | nmae == 1", "unknown field `nmae`; did you mean `name`?"),
        ("from logs range true to false", "the key k is of kind int, and True is not"),
        ("from files", "`files` is a repository of files"),
        ("from none*", "no pool matches none*"),
        ("from files:objects", "`files` is a repository of files, which has no objects"),
        ("from logs@main:branches", ":branches does not belong to a commit"),
    ],
)
def test_mistakes_point_at_their_place(tmp_path: Path, text: str, message: str) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST)
            await lake.lake.create_repository("files", actor=ANN)
            await lake.rows(text)

    with pytest.raises(QueryError) as found:
        run(asked())
    assert message in found.value.message
    assert found.value.column > 1


def test_a_query_without_a_source_means_the_pool_in_use(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST, SECOND)
            assert await lake.rows("count()", current="logs") == [{"count": 5}]
            assert await lake.rows("count()", current="logs@main~1") == [{"count": 2}]
            with pytest.raises(Invalid, match="does not say what it reads"):
                await lake.rows("count()")

    run(asked())


def test_the_order_of_a_descending_key_of_many_kinds(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            values: list[Any] = [True, 2, 1.5, "a", "b", 3]
            settings = PoolSettings((PoolKey(("k",), descending=True), PoolKey(("n",))))
            await lake.pool("pool", [{"k": each, "n": 1} for each in values], [{"k": "a", "n": 0}], settings=settings)
            found = [(row.get("k"), row.get("n")) for row in await lake.rows("from pool")]
            assert found == [("b", 1), ("a", 0), ("a", 1), (3, 1), (2, 1), (1.5, 1), (True, 1)]

    run(asked())


def test_stats_tell_what_was_read_and_why_not_more(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST, SECOND, [{"k": 50, "host": "z"}])
            for text in ("from logs | k > 40", "select * from logs where k > 40"):
                with await run_query(lake.lake, text) as result:
                    assert len(list(result.rows())) == 1
                stats = result.stats
                assert (stats.objects, stats.objects_read, stats.rows_read, stats.rows) == (3, 1, 1, 1)
                assert [(each.why, each.objects) for each in stats.skipped] == [("the span of the key", 2)]
                assert stats.bytes == stats.bytes_read + sum(each.bytes for each in stats.skipped)

    run(asked())


def test_explain(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST, SECOND)
            plan = await explain(lake.lake.queries(), 'from logs | status == "broken" | cut host', RunOptions())
            [source] = plan["sources"]
            assert (source["objects"], source["objects_read"]) == (2, 1)
            assert source["skipped"][0]["why"] == "no such value in status"
            assert [scan["columns"] for scan in plan["scans"]] == [["host", "k", "status"]]
            assert plan["sql"].startswith("SELECT")

    run(asked())


# --- results ---------------------------------------------------------------------------------------------------------
def test_forms_of_a_result(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST)
            table = (await run_query(lake.lake, "from logs")).to_arrow()
            assert table.schema.field("k").type == pa.int64()
            assert table.to_pylist() == FIRST
            frame = (await run_query(lake.lake, "from logs | cut k")).to_pandas()
            assert list(frame["k"]) == [1, 5]
            lines = b"".join((await run_query(lake.lake, "from logs")).ndjson()).splitlines()
            assert [json.loads(line) for line in lines] == FIRST

    run(asked())


# --- limits ----------------------------------------------------------------------------------------------------------
SLOW = "from pool | join (from pool) on a=a | join (from pool) on a=a | count()"  # 8 * 10^9 rows
LARGE = "from pool | join (from pool) on a=a | collect(k)"  # a list of 4 * 10^6 numbers


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text, limits, message",
    [
        (SLOW, Limits(seconds=0.2), "has not ended within its 0.2 seconds"),
        (LARGE, Limits(memory_bytes=24 << 20), "needs more than its 24 MiB of memory"),
    ],
    ids=["time", "memory"],
)
def test_limits(tmp_path: Path, text: str, limits: Limits, message: str) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", [{"k": number, "a": 1} for number in range(2_000)])
            with pytest.raises(LimitReached, match=message):  # on a busy machine even while it is compiled
                list((await run_query(lake.lake, text, RunOptions(limits=limits))).rows())

    with pytest.MonkeyPatch.context() as patched:
        temp = tmp_path / "temp"
        temp.mkdir()
        patched.setattr("tempfile.tempdir", str(temp))
        run(asked())
        assert not list(temp.iterdir())  # nothing is left on the disk


def test_a_query_is_cancelled_from_another_thread(tmp_path: Path) -> None:
    import threading

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("pool", [{"k": number, "a": 1} for number in range(2_000)])
            result = await run_query(lake.lake, SLOW)
            threading.Timer(0.2, result.cancel).start()
            with pytest.raises(Cancelled):
                list(result.rows())

    run(asked())


# --- snapshots -------------------------------------------------------------------------------------------------------
def test_a_running_query_keeps_its_snapshot(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST)
            result = await run_query(lake.lake, "from logs | cut k")
            await lake.load("logs", SECOND)
            assert list(result.rows()) == [{"k": 1}, {"k": 5}]
            assert await lake.rows("from logs | count()") == [{"count": 5}]

    run(asked())


def test_an_object_that_vanished_is_named(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST, SECOND)
            [row, _] = await lake.rows("from logs:objects")
            [commit, *_] = await lake.rows("from logs:log")
            (await lake.files("logs"))[0].unlink()
            with pytest.raises(Gone) as found:
                await lake.rows("from logs | count()")
            assert row["id"] in found.value.message
            assert commit["id"][:12] in found.value.message
            with await run_query(lake.lake, "from logs | count()", RunOptions(go_on=True)) as result:
                assert list(result.rows()) == [{"count": 3}]
                assert row["id"] in result.warnings[0]
            (await lake.files("logs"))[1].unlink()
            assert await lake.rows("from logs | count()", go_on=True) == [{"count": 0}]
            assert await lake.rows("from logs", go_on=True) == []

    run(asked())


# --- load ------------------------------------------------------------------------------------------------------------
@pytest.mark.thorough
def test_load_commits_the_result(tmp_path: Path) -> None:
    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST, SECOND)
            await lake.pool("errors")
            text = 'from logs | status == 500 | load errors message "found"'
            [result] = await lake.rows(text)
            assert (result["pool"], result["branch"], result["rows"]) == ("errors", "main", 1)
            assert await lake.rows("from errors") == [FIRST[1]]
            [commit, _] = await lake.rows("from errors:log")
            assert (commit["id"], commit["message"], commit["author"]) == (result["commit"], "found", "ann")
            with pytest.raises(NothingToDo):
                await lake.rows("from logs | status == 501 | load errors")
            with pytest.raises(Refused, match="has no actor"):
                await run_query(lake.lake, text)

    run(asked())


def test_an_int_in_an_object_against_a_float_that_is_computed(tmp_path: Path) -> None:
    """Where a file has the struct but not that member DuckDB fails, if it may read the int as a float."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            mixed = [{"k": 1, "b": {"c": 1}}, {"k": 2, "b": {"c": "x"}}, {"k": 3, "b": {"c": 5}}]
            await lake.pool("logs", mixed, [{"k": 4, "b": {"d": 1}}])
            assert [row["k"] for row in await lake.rows("from logs | b.c < float64(5)")] == [1]
            assert [row["k"] for row in await lake.rows("from logs | not (b.c < float64(5))")] == [2, 3, 4]

    run(play())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text, rows, warning",
    [
        ("from logs | hots == 1", [], "unknown field `hots`; did you mean `host`? (line 1, column 13)"),
        ("from logs | k == 1 | cut k, hots", [{"k": 1}], "unknown field `hots`"),
        ("from logs | k == 10 | yield b.cc, k", [10], "unknown field of `b` `cc`"),
        ("from logs | k == 10 | drop late, b.late", [SECOND[1]], "unknown field `late`"),
        ("from logs | k == 1 | rename x:=late | cut x", [{}], "unknown field `late`"),
        ("select k, late from logs where k = 1", [{"k": 1, "late": None}], "unknown column `late`"),
        ("select l.late, b.late as d from logs l where k = 1", [{"late": None, "d": None}], "unknown column `late`"),
        ("select late, count(*) as n from logs group by late", [{"late": None, "n": 5}], "unknown column `late`"),
    ],
)
def test_a_field_that_no_row_has_yet_is_a_warning(tmp_path: Path, text: str, rows: list[Any], warning: str) -> None:
    """A query that works today worked yesterday too, when the pool was empty."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", FIRST, SECOND)
            with await run_query(lake.lake, text) as result:
                assert list(result.rows()) == rows
                assert warning in result.warnings[0]
            await lake.pool("empty")
            assert await lake.rows(text.replace("from logs", "from empty")) in ([], [{"late": None, "n": 0}])

    run(play())


def test_what_a_pool_declares_is_there_before_its_rows(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            settings = PoolSettings((PoolKey(("id",)), PoolKey(("ts",))), times=(("ts",),))
            await lake.pool("empty", settings=settings)
            for text in ("select * from empty", "select id, ts from empty order by ts", "from empty | cut id, ts"):
                with await run_query(lake.lake, text) as result:
                    assert result.to_arrow().column_names == ["id", "ts"], text
            assert await lake.rows("select max(id) as m from empty") == [{"m": None}]
            for text in ("sort", "sort this", "count() every 1h", "top 3 ts", "join (from empty) on id"):
                assert await lake.rows(f"from empty | {text}") == [], text

    run(play())
