"""Which rows differ between two commits: as multisets and by key, of pools and of files."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.engines.duckdb.diff_rows import diff_rows
from lochan.engines.duckdb.load.load import load_rows
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.session import DuckSession
from lochan.engines.row_diff.lines import object_lines, one_line
from lochan.engines.row_diff.result import RowDiff
from lochan.engines.row_diff.sides import RowDiffRequest, sides_of
from lochan.errors import Gone, Invalid, NotFound
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.jobs.compaction import compact
from lochan.pools.json_row import FAIL, Faults
from lochan.versioning.branches import create_branch
from lochan.versioning.heads.commit import CommitRequest as Commit
from lochan.versioning.heads.commit import commit
from lochan.versioning.objects import delete, put
from tests.run import run
from tests.unit.engines.lake import ANN, BY_K, QueryLake, query_lake
from tests.unit.pools.place import once
from tests.unit.pools.rows import ROWS

pytestmark = pytest.mark.thorough

Rows = list[dict[str, Any]]
KEYED = PoolSettings((PoolKey(("k",)),), primary_key=(("k",),))
TIMED = PoolSettings((PoolKey(("k",)),), times=(("t",),))
BODY = {"k": 9, **{f"f{n}": n for n in range(1_100)}}  # more columns than a file is given


async def compared(lake: QueryLake, name: str, request: RowDiffRequest, **how: Any) -> RowDiff:
    repository = await lake.lake.open_repository(name)
    try:
        return await diff_rows(repository, await sides_of(repository, request), lake.lake.queries().files, **how)
    finally:
        await repository.close()


async def two_sides(lake: QueryLake, left: list[Rows], right: list[Rows], settings: PoolSettings = BY_K) -> None:
    """Branches left and right of the pool `logs`, with a load for each of these lots."""
    await lake.pool("logs", settings=settings)
    repository = await lake.lake.open_repository("logs")
    for name, loads in (("left", left), ("right", right)):
        await create_branch(repository, name, "main", actor=ANN)
        for rows in loads:
            if rows:
                await load_rows(repository, name, rows, actor=ANN)
    await repository.close()


def of_pool(
    folder: Path, left: list[Rows], right: list[Rows], key: list[str] | None = None, settings: PoolSettings = BY_K
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    async def scenario() -> tuple[dict[str, int], list[dict[str, Any]]]:
        async with query_lake(folder) as lake:
            await two_sides(lake, left, right, settings)
            with await compared(lake, "logs", RowDiffRequest("left", "right", key=key)) as found:
                assert sum(found.to_arrow()["times"].to_pylist()) == sum(found.counts.values())
                return dict(found.counts), [each.record() for each in found.sample]

    return run(scenario())


# --- whole rows ------------------------------------------------------------------------------------------------------
A, B = {"k": 1, "v": "a"}, {"k": 2, "v": "b"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "left, right, counts",
    [
        pytest.param([[A], [B]], [[B, A]], {}, id="the same rows in other objects"),
        pytest.param([[A, A, A]], [[A]], {"removed": 2}, id="three times and once"),
        pytest.param([[A]], [[A, B, B]], {"added": 2}, id="added twice"),
        pytest.param([[A]], [[]], {"removed": 1}, id="nothing on the right"),
        pytest.param([[{"k": 1}]], [[{"k": 1, "v": None}]], {"added": 1, "removed": 1}, id="missing is not null"),
        pytest.param([[{"k": 1}]], [[{"k": 1.0}]], {"added": 1, "removed": 1}, id="1 is not 1.0"),
        pytest.param([[{"k": 1}]], [[{"k": "1"}]], {"added": 1, "removed": 1}, id="1 is not a text"),
        pytest.param([[{"k": 1, "v": 2}]], [[{"v": 2, "k": 1}]], {}, id="the order of fields is no difference"),
        pytest.param([[{"k": 1, "v": []}]], [[{"k": 1, "v": [None]}]], {"added": 1, "removed": 1}, id="lists"),
        pytest.param(
            [[{"k": 1, "v": [1.5]}]],
            [[{"k": 1, "v": [1.5]}, {"k": 2, "v": ["x", 1]}]],
            {"added": 1},
            id="a list as text",
        ),
        pytest.param(
            [[{"k": 1, "o": [{"b": 1, "a": 1e22}]}]],
            [[{"k": 1, "o": [{"a": 1e22, "b": 1}]}, {"k": 2, "o": 7}]],
            {"added": 1},
            id="names in lists, as text and not",
        ),
        pytest.param([[BODY, A]], [[BODY]], {"removed": 1}, id="rows that are text"),
        pytest.param(
            [[{"k": 1, "v": {"x": 0.5}}, BODY]], [[{"k": 1, "v": {"x": 0.5}}]], {"removed": 1}, id="text and columns"
        ),
        pytest.param([[{}]], [[{}, {}]], {"added": 1}, id="rows without a field"),
    ],
)
def test_whole_rows(tmp_path: Path, left: list[Rows], right: list[Rows], counts: dict[str, int]) -> None:
    assert of_pool(tmp_path, left, right)[0] == counts


def test_nan_the_infinities_and_null_are_four_values(tmp_path: Path) -> None:
    values = [float("nan"), float("inf"), float("-inf"), None]
    table = pa.table({"k": [1] * 4, "v": values, "l": [[value, 1.0] for value in values]})

    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await two_sides(lake, [], [])
            await lake.load("logs", table, "left")
            await lake.load("logs", table.slice(0, 1), "right")
            with await compared(lake, "logs", RowDiffRequest("left", "right")) as found:
                assert dict(found.counts) == {"removed": 3}
                assert found.to_arrow()["before"].to_pylist()[0].startswith('{"k":1,"l":[')

    run(scenario())


def test_a_time_is_what_it_is_written_as(tmp_path: Path) -> None:
    one, other = {"k": 1, "t": "2026-11-01T10:00:00Z"}, {"k": 1, "t": "2026-11-01T10:00:00.0Z"}
    assert of_pool(tmp_path, [[one]], [[other]], settings=TIMED)[0] == {"added": 1, "removed": 1}


def texts_of(rows: Rows) -> Counter[str]:
    """As rows in columns are written, or as text if no columns hold them."""
    with DuckSession(ordered=False) as session:
        loader = Loader(session, BY_K, Faults(FAIL))
        loader.take_rows(rows)
        made = list(loader.objects())
        found = [batch for each in made for batch in object_lines(each.file, each.facts, ())]
        return Counter(line for batch in found for line in batch.column("line").to_pylist())


@pytest.mark.thorough
@settings(max_examples=15, deadline=None)
@given(st.lists(ROWS, max_size=5), st.lists(ROWS, max_size=5))
def test_any_row_has_one_text_wherever_it_lies(some: Rows, more: Rows) -> None:
    expected = Counter(map(one_line, some + more))
    assert texts_of(some + more) == expected
    assert texts_of(some) + texts_of(more) == expected
    assert len(expected) == len({json.dumps(row, sort_keys=True) for row in some + more})


def test_a_sample_tells_rows_and_how_often(tmp_path: Path) -> None:
    _, sample = of_pool(tmp_path, [[A, A]], [[B]])
    assert sample == [
        {"change": "removed", "times": 2, "key": None, "before": A, "after": None},
        {"change": "added", "times": 1, "key": None, "before": None, "after": B},
    ]


# --- by key ----------------------------------------------------------------------------------------------------------
def test_a_key_tells_which_rows_changed(tmp_path: Path) -> None:
    left: Rows = [A, B, {"k": 3}]
    right: Rows = [A, {"k": 2, "v": 5}, {"k": 4}]
    counts, sample = of_pool(tmp_path, [left], [right], settings=KEYED)
    assert counts == {"changed": 1, "removed": 1, "added": 1}
    assert sample[0] == {"change": "changed", "times": 1, "key": {"k": 2}, "before": B, "after": {"k": 2, "v": 5}}


@pytest.mark.parametrize("row", [{"id": {"x": 1, "y": "é"}, "v": 1}, {**BODY, "id": {"x": 1, "y": "é"}, "v": 1}])
def test_keys_of_several_fields_inside_of_others(tmp_path: Path, row: dict[str, Any]) -> None:
    counts, sample = of_pool(tmp_path, [[row]], [[row | {"v": 2}]], key=["id.x", "id.y"])
    assert counts == {"changed": 1}
    assert sample[0]["key"] == {"id.x": 1, "id.y": "é"}


def test_a_key_in_what_is_kept_as_text(tmp_path: Path) -> None:
    rows: Rows = [{"o": {"id": 1}, "v": 1}, {"o": {"id": 2}, "v": 1}]
    mixed: Rows = [{"o": {"id": 1}, "v": 2}, {"o": {"id": 3, "l": [1, "x"]}}]
    counts, _ = of_pool(tmp_path, [rows], [mixed], key=["o.id"])
    assert counts == {"changed": 1, "removed": 1, "added": 1}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "left, right, message",
    [
        ([A, {"v": 7}], [A], r"1 row of logs@left lacks the key k, .* such as \{\"v\":7\}"),
        ([A], [A, {"k": None}, {"x": 1}], r"2 rows of logs@right lack the key k"),
        ([A, {"k": 1, "v": 2}], [A], r"2 rows of logs@left have the key \{\"k\":1\}"),
        ([A], [B, B, B], r"3 rows of logs@right have the key \{\"k\":2\}"),
        ([A, A], [A, A], r"2 rows of logs@left have the key \{\"k\":1\}"),
    ],
)
def test_keys_that_do_not_tell_rows_apart(tmp_path: Path, left: Rows, right: Rows, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        of_pool(tmp_path, [left], [right], settings=KEYED)


def test_whole_rows_of_a_pool_with_a_primary_key(tmp_path: Path) -> None:
    assert of_pool(tmp_path, [[A, A]], [[A]], key=[], settings=KEYED)[0] == {"removed": 1}


def test_the_whole_row_cannot_be_the_key(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="name a field"):
        of_pool(tmp_path, [[A]], [[B]], key=["this"])


# --- what is read ----------------------------------------------------------------------------------------------------
def test_objects_that_both_have_are_not_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [A], [B])
            await lake.load("logs", [{"k": 3}])
            first, second, _ = await lake.files("logs")
            first.unlink()
            second.unlink()
            with await compared(lake, "logs", RowDiffRequest("main~1", "main")) as found:
                assert (found.added, found.removed) == (1, 0)
                assert [len(side) for side in found.sides.entries] == [0, 1]
            with pytest.raises(Gone):
                await compared(lake, "logs", RowDiffRequest("main~2", "main"))

    run(scenario())


def test_a_compaction_changes_no_row(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("logs", [A, B, BODY], [{"k": 1.5}, A])
            repository = await lake.lake.open_repository("logs")
            await compact(repository, "main", lake.lake.queries(), actor=ANN)
            await repository.close()
            with await compared(lake, "logs", RowDiffRequest("main~1", "main")) as found:
                assert found.same and found.sides.size_bytes > 0

    run(scenario())


# --- files of a repository -------------------------------------------------------------------------------------------
def parquet(rows: Rows) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


BEFORE = {
    "t/a.csv": b"id,v\n1,7\n2,8\n3,\n",
    "t/b.ndjson": b'{"id": 4, "v": 1}\n',
    "t/c.parquet": parquet([{"id": 5, "v": 1.5}]),
    "t/same.csv": b"id,v\n1,1\n",
    "t2/d.csv": b"id\n1\n",
}
AFTER = {
    "t/a.csv": b"id,v\n1,7\n2,n/a\n3,\n",  # so the column is no longer one of ints
    "t/b.ndjson": b'{"v":1,"id":4}\n{"id":6}\n',
    "t/c.parquet": parquet([{"id": 5, "v": 2.5}]),
    "t2/d.csv": b"id\n2\n",
}


async def files(lake: QueryLake) -> None:
    await lake.lake.create_repository("demo", actor=ANN)
    demo = await lake.lake.open_repository("demo")
    for each in (BEFORE, AFTER):
        for path, data in each.items():
            await put(demo, "main", path, once(data), actor=ANN)
        await commit(demo, "main", Commit("files"), actor=ANN)
    await put(demo, "main", "t/moved.csv", once(BEFORE["t/same.csv"]), actor=ANN)
    await put(demo, "main", "t/b.ndjson", once(AFTER["t/b.ndjson"]), metadata={"only": "a note"}, actor=ANN)
    await delete(demo, "main", ["t/same.csv"], actor=ANN)
    await commit(demo, "main", Commit("moved"), actor=ANN)
    await demo.close()


CASES: dict[str, tuple[RowDiffRequest, dict[str, int]]] = {
    "csv": (RowDiffRequest("main~2", "main~1", "t/a.csv"), {"added": 1, "removed": 1}),
    "csv by key": (RowDiffRequest("main~2", "main~1", "t/a.csv", ["id"]), {"changed": 1}),
    "ndjson": (RowDiffRequest("main~2", "main~1", "t/b.ndjson"), {"added": 1}),
    "parquet by key": (RowDiffRequest("main~2", "main~1", "t/c.parquet", ["id"]), {"changed": 1}),
    "a folder": (RowDiffRequest("main~2", "main~1", "t"), {"added": 3, "removed": 2}),
    "a folder with its slash": (RowDiffRequest("main~2", "main~1", "t/"), {"added": 3, "removed": 2}),
    "everything": (RowDiffRequest("main~2", "main~1"), {"added": 4, "removed": 3}),
    "a file that moved": (RowDiffRequest("main~1", "main", "t"), {}),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RowDiff]:
    async def asked() -> dict[str, RowDiff]:
        async with query_lake(tmp_path_factory.mktemp("files")) as lake:
            await files(lake)
            found = {name: await compared(lake, "demo", request) for name, (request, _) in CASES.items()}
            for each in found.values():
                each.close()
            return found

    return run(asked())


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_files(answers: dict[str, RowDiff], name: str) -> None:
    found = answers[name]
    assert dict(found.counts) == CASES[name][1]
    read = {entry.path for side in found.sides.entries for entry in side}
    assert not read & ({"t/same.csv"} if CASES[name][0].left == "main~2" else {"t/a.csv", "t/b.ndjson"})


def test_invalid_and_missing_files(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with query_lake(tmp_path) as lake:
            await files(lake)
            demo = await lake.lake.open_repository("demo")
            await put(demo, "main", "t/broken.ndjson", once(b'{"a":'), actor=ANN)
            await commit(demo, "main", Commit("broken"), actor=ANN)
            await demo.close()
            with pytest.raises(Invalid, match=r"t/broken\.ndjson:1"):
                await compared(lake, "demo", RowDiffRequest("main~1", "main", "t"))
            with pytest.raises(NotFound, match="has 'nowhere'"):
                await compared(lake, "demo", RowDiffRequest("main~1", "main", "nowhere"))
            await lake.pool("logs", [A])
            with pytest.raises(Invalid, match="is a pool"):
                await compared(lake, "logs", RowDiffRequest("main", "main", "t"))

    run(scenario())
