"""Where declared times are in a file, value by value, and that objects of earlier versions are read the same."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.api.lake import compare_rows
from lochan.api.queries import run_query
from lochan.engines.duckdb.delete import delete_where
from lochan.engines.duckdb.load.load import load_rows
from lochan.engines.duckdb.merge_rows import RowConflicts, merge_rows
from lochan.engines.row_diff.sides import RowDiffRequest as Refs
from lochan.formats.entry_table import entries_of
from lochan.jobs.compaction import compact
from lochan.pools import times
from lochan.pools.merge import RowMerge
from lochan.pools.objects import entries
from lochan.pools.settings import parse
from lochan.tree.merge import Strategy
from lochan.versioning.branches import create_branch
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.engines.time_layouts import earlier_version

Rows = list[dict[str, Any]]
BY_TS = parse(["ts:time"])
PLAIN, OFFSET, NANOS, SMALL = (
    "2026-11-01T10:00:00Z",
    "2026-11-01T12:30:00+02:30",
    "2026-11-01T10:00:00.000000001Z",
    "2026-11-01t10:00:01z",
)
DAY, NONE = "2026-11-02", "2026-02-30T10:00:00Z"
EVERY = (PLAIN, OFFSET, NANOS, SMALL, DAY, NONE)


def rows_of(*texts: Any) -> Rows:
    return [{"ts": text, "n": number} for number, text in enumerate(texts)]


def column_names(folder: Path, rows: Rows) -> dict[str, pa.DataType]:
    """The columns of the one object that they make."""

    async def written() -> pa.Schema:
        async with query_lake(folder) as lake:
            await lake.pool("p", rows, settings=BY_TS)
            [file] = await lake.files("p")
            return pq.read_schema(file)

    schema = run(written())
    return {field.name: field.type for field in schema if field.name not in ("_shape", "n")}


MOMENT = pa.timestamp("us", "UTC")
LAYOUTS: list[tuple[tuple[Any, ...], dict[str, pa.DataType]]] = [
    ((PLAIN,), {"ts": MOMENT}),
    ((PLAIN, DAY, None), {"ts": MOMENT}),
    ((OFFSET,), {"ts": MOMENT, "ts#o": pa.string()}),
    ((PLAIN, NANOS), {"ts": MOMENT, "ts#o": pa.string()}),
    ((NONE,), {"ts": pa.string()}),
    ((PLAIN, NONE), {"ts#s": pa.string(), "ts#t": MOMENT}),
    (EVERY, {"ts#s": pa.string(), "ts#t": MOMENT, "ts#o": pa.string()}),
]


@pytest.mark.parametrize(("texts", "columns"), LAYOUTS)
def test_columns_of_the_file(texts: Sequence[Any], columns: dict[str, pa.DataType], tmp_path: Path) -> None:
    assert column_names(tmp_path, rows_of(*texts)) == columns


def test_inside_of_objects(tmp_path: Path) -> None:
    rows: Rows = [{"k": 1, "o": {"t": OFFSET}}, {"k": 2, "o": {"t": NONE}}, {"k": 3, "o": {}}, {"k": 4, "o": None}]

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("p", rows, settings=parse(["k"], times=["o.t"]))
            [file] = await lake.files("p")
            assert [field.name for field in pq.read_schema(file).field("o").type] == ["t#s", "t#t", "t#o"]
            assert await lake.rows("from p | sort k") == rows
            assert await lake.rows("from p | where o.t == 2026-11-01T10:00:00Z | cut k") == [{"k": 1}]

    run(play())


@pytest.mark.thorough
def test_neighbours_decide_nothing(tmp_path: Path) -> None:
    async def stored(lake: QueryLake, name: str, rows: Rows) -> Counter[Any]:
        await lake.pool(name, rows, settings=BY_TS)
        found: Counter[Any] = Counter()
        for file in await lake.files(name):
            for row in pq.read_table(file).to_pylist():
                found[row.get("ts#t") or (row.get("ts") if row.get("ts") != NONE else None), row.get("ts#o")] += 1
        return found

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            together = await stored(lake, "together", rows_of(*EVERY))
            alone: Counter[Any] = Counter()
            for number, text in enumerate(EVERY):
                alone += await stored(lake, f"p{number}", rows_of(text))
            assert together == alone

    run(play())


def test_rows_that_are_kept_as_text(tmp_path: Path) -> None:
    wide = {f"f{number}": number for number in range(1_100)}
    rows = [{**row, **wide} for row in rows_of(*EVERY)]

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("p", rows, settings=BY_TS)
            [file] = await lake.files("p")
            assert pq.read_schema(file).names == ["_shape", "_body", "ts#s", "ts#t", "ts#o"]
            assert [row["ts"] for row in await lake.rows("from p | cut ts | head 10")] == in_order(EVERY)
            assert [row["n"] for row in await lake.rows("from p | where ts > 2026-11-01T10:00:00Z | sort n")] == [
                2,
                3,
                4,
            ]

    run(play())


# ── both layouts ─────────────────────────────────────────────────────────────────────────────────────────────────────

FIRST = rows_of(PLAIN, OFFSET, NANOS, NONE)
SECOND = rows_of("2026-11-01T10:00:00.000000002+00:00", SMALL, DAY, None, "2026-10-31T23:00:00-11:00")
THIRD = rows_of("2026-11-01T09:59:59.9999999Z", "2026-11-01T10:00:00.0000000+00:00", "n/a", 7)
LOADS = (FIRST, SECOND, THIRD)
QUERIES = [
    "from p | sort n, string(ts)",
    "from p | cut ts | head 5",
    "from p | sort -r ts | cut ts | head 3",
    "from p range 2026-11-01T10:00:00Z to 2026-11-01T10:00:00.000000001Z | sort n, string(ts)",
    "from p | where ts > 2026-11-01T10:00:00Z | sort n, string(ts)",
    "from p | where ts >= 2026-11-01T10:00:00.000000001Z | sort n, string(ts)",
    "from p | where not (ts <= 2026-11-01T10:00:00Z) | sort n, string(ts)",
    "from p | where ts != 2026-11-01T10:00:00Z | sort n, string(ts)",
    "from p | count() by ts | sort count, ts",
    "from p | count() by every(1h) | sort every",
    "from p | where kind(ts) == 'time' | min(ts), max(ts)",
    "from p | where kind(ts) == 'string' | cut ts | sort ts",
    "from p | put late := ts > 2026-11-01T10:00:00Z | count() by late | sort late",
    "select ts, count(*) as c from p group by ts order by ts, c",
    "select ts from p where ts < timestamp '2026-11-01 10:00:00' order by ts",
    "select distinct ts from p order by ts",
]


async def loaded(lake: QueryLake, earlier: Sequence[bool], loads: Sequence[Rows] = LOADS) -> None:
    await lake.pool("p", settings=BY_TS)
    for is_earlier, rows in zip(earlier, loads, strict=True):
        with earlier_version() if is_earlier else nullcontext():
            await lake.load("p", rows)


async def answers(lake: QueryLake) -> dict[str, Any]:
    """With each time as its moment: of equal ones any may come first."""
    found: dict[str, Any] = {query: [placed(row) for row in await lake.rows(query)] for query in QUERIES}
    return {**found, "texts": Counter((row["n"], row["ts"]) for row in await lake.rows("from p"))}


def placed(row: dict[str, Any]) -> dict[str, Any]:
    return {name: place(value) if name == "ts" else value for name, value in row.items()}


LAYOUTS_OF_LOADS = [(True, True, True), (True, False, True), (False, True, False)]


@pytest.mark.parametrize("earlier", LAYOUTS_OF_LOADS)
@pytest.mark.thorough
def test_the_same_answers_of_both_layouts(earlier: Sequence[bool], tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path / "old") as old, query_lake(tmp_path / "new") as new:
            await loaded(old, earlier)
            await loaded(new, (False, False, False))
            assert await answers(old) == await answers(new)

    run(play())


@pytest.mark.parametrize("texts", [EVERY, (PLAIN, OFFSET, NANOS)], ids=["with strings", "times alone"])
@pytest.mark.thorough
def test_the_same_tables_and_texts_of_both_layouts(texts: Sequence[str], tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path / "old") as old, query_lake(tmp_path / "new") as new:
            await loaded(old, (True,), [rows_of(*texts)])
            await loaded(new, (False,), [rows_of(*texts)])
            for query in (
                "from p | sort n",
                "from p | sort n | cut said := string(ts), ts",
                "select ts from p order by n",
            ):
                tables = []
                for lake in (old, new):
                    with await run_query(lake.lake, query) as result:
                        tables.append(result.to_arrow())
                assert tables[0].schema == tables[1].schema
                assert tables[0].to_pylist() == tables[1].to_pylist()
                assert all(text in json.dumps(tables[1].to_pylist()) for text in texts)

    run(play())


@pytest.mark.parametrize("earlier", [*LAYOUTS_OF_LOADS, (False, False, False)])
@pytest.mark.thorough
def test_rewritten_they_are_the_same(earlier: Sequence[bool], tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await loaded(lake, earlier)
            before = await answers(lake)
            repository = await lake.lake.open_repository("p")
            at = lake.lake.queries()
            await compact(repository, "main", at, actor=ANN)
            assert await answers(lake) == before
            assert await strings_that_say_times(lake) == []
            with await compare_rows(lake.lake, "p", Refs("main~1", "main")) as difference:
                assert difference.same
            done = await delete_where(
                repository, "main", "ts > 2026-11-01T10:00:00.000000001Z and n < 3", at.files, actor=ANN
            )
            assert done.rows == 3
            gone = ("2026-11-01T10:00:00.000000002+00:00", SMALL, DAY)
            expected = [row["ts"] for rows in LOADS for row in rows if row["ts"] not in gone]
            assert Counter(row["ts"] for row in await lake.rows("from p")) == Counter(expected)
            await repository.close()

    run(play())


async def strings_that_say_times(lake: QueryLake) -> list[str]:
    """In the files of the pool."""
    tables = [pq.read_table(file) for file in await lake.files("p")]
    strings = [
        text for table in tables for name in ("ts", "ts#s") if name in table.column_names for text in table[name]
    ]
    return [text.as_py() for text in strings if isinstance(text.as_py(), str) and place(text.as_py())[0] == 1]


@pytest.mark.thorough
def test_objects_of_earlier_versions_are_pruned_once_they_are_compacted(tmp_path: Path) -> None:
    texts = [f"2026-11-0{day}T10:00:00+01:00" for day in range(1, 6)]

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            loads = [rows_of(text, "n/a", text) for text in texts]
            await lake.pool("p", settings=parse(["n"], times=["ts"]))
            with earlier_version():
                for rows in loads:
                    await lake.load("p", rows)
            repository = await lake.lake.open_repository("p")
            await compact(repository, "main", lake.lake.queries(), actor=ANN)
            await repository.close()
            assert await strings_that_say_times(lake) == []
            assert Counter(row["ts"] for row in await lake.rows("from p")) == Counter([*texts, *texts, *["n/a"] * 5])
            with await run_query(lake.lake, "from p | where ts < 2026-11-01T00:00:00Z") as result:
                assert list(result.rows()) == []
                assert result.stats.objects_read == 0

    run(play())


@pytest.mark.parametrize("earlier", [(True, False, True), (False, False, False), (True, True, False)])
@pytest.mark.thorough
def test_both_sides_of_a_merge_mean_one_moment(earlier: Sequence[bool], tmp_path: Path) -> None:
    """By its moment a row is the same, also where one side was written by an earlier version."""
    by_ts = parse(["ts:time"], primary_key=["ts"])
    sides = [[{"ts": OFFSET, "v": value}, {"ts": NANOS, "v": 0}] for value in (1, 2, 3)]

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("p", settings=by_ts)
            repository = await lake.lake.open_repository("p")
            found = []
            for number, (is_earlier, rows) in enumerate(zip(earlier, sides, strict=True)):
                await create_branch(repository, f"side{number}", "main", actor=ANN)
                with earlier_version() if is_earlier else nullcontext():
                    await load_rows(repository, f"side{number}", rows, actor=ANN)
                tree = await repository.tree((await repository.resolve(f"side{number}")).commit)
                found.append(entries_of(await entries(tree)))
            _, mint = await repository.refs()
            base, ours, theirs = found
            merge = RowMerge(base, ours, theirs, by_ts, Strategy("default"))
            with pytest.raises(RowConflicts) as conflict:
                await merge_rows(repository, merge, mint, lake.lake.queries().files)
            assert conflict.value.count == 1
            await repository.close()

    run(play())


# ── order and pruning ────────────────────────────────────────────────────────────────────────────────────────────────


def place(text: Any) -> tuple[Any, ...]:
    """The position in the order of keys: numbers, times, strings, null."""
    if not isinstance(text, str):
        return (3,) if text is None else (0, text)
    if times.format_of(text) is None and times.micros_in(text) is None:
        return 2, text
    micros = times.micros_in(text)
    fraction = text.partition(".")[2]
    digits = fraction[: len(fraction) - len(fraction.lstrip("0123456789"))]
    return 1, times.parse(text) if micros is None else micros, digits[6:].rstrip("0")


def in_order(texts: Sequence[Any]) -> list[Any]:
    return sorted(texts, key=place)


ONE = "2026-11-01T10:00:00"
BORDER = [
    f"{ONE[:-1]}{second}{fraction}{zone}"
    for second, fraction in (
        ("0", ""),
        ("0", ".000000000"),
        ("0", ".0000001"),
        ("0", ".000000999"),
        ("0", ".000001"),
        ("0", ".0000010000001"),
        ("1", ".999999"),
        ("1", ".9999999"),
    )
    for zone in ("Z", "+00:00")
]
OPS = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
}


def comparisons(bound: str) -> Iterator[tuple[str, Any]]:
    for op, holds in OPS.items():
        yield f"ts {op} {bound}", lambda text, holds=holds: holds(place(text), place(bound))
        yield f"not (ts {op} {bound})", lambda text, holds=holds: not holds(place(text), place(bound))


@pytest.mark.parametrize("key", ["ts:time", "n"])
@pytest.mark.thorough
def test_nothing_is_pruned_away_within_a_microsecond(key: str, tmp_path: Path) -> None:
    """An object for each value, so that least and greatest are the same."""

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            loads = [[{"ts": text, "n": number}] for number, text in enumerate(BORDER)]
            await lake.pool("p", *loads, settings=parse([key], times=["ts"]))
            for bound in [text for text in BORDER if text.endswith("Z")]:
                for test, holds in comparisons(bound):
                    found = await lake.rows(f"from p | where {test} | cut ts")
                    assert Counter(row["ts"] for row in found) == Counter(filter(holds, BORDER)), test

    run(play())


@pytest.mark.thorough
def test_objects_are_pruned_though_strings_are_among_them(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            days = [rows_of(f"2026-11-0{day}T10:00:00+01:00", "n/a") for day in range(1, 6)]
            await lake.pool("p", *days, settings=parse(["n"], times=["ts"]))
            with await run_query(lake.lake, "from p | where ts < 2026-11-02T00:00:00Z | cut ts") as result:
                assert list(result.rows()) == [{"ts": "2026-11-01T10:00:00+01:00"}]
                assert result.stats.objects_read == 1

    run(play())


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.thorough
def test_a_second_part_of_the_key(descending: bool, tmp_path: Path) -> None:
    """Of rows within one microsecond the time's own digits come first."""
    chance = random.Random(7)
    texts = [f"{ONE}.00000000{digit}Z" for digit in range(10)] * 3 + [f"{ONE}Z"] * 3
    rows = [{"ts": text, "n": chance.randrange(100)} for text in texts]
    expected = sorted(rows, key=lambda row: (place(row["ts"]), row["n"]), reverse=descending)

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            way = ":desc" if descending else ""
            loads = [rows[begin::4] for begin in range(4)]
            await lake.pool("p", *loads, settings=parse([f"ts:time{way}", f"n{way}"]))
            key = [(place(row["ts"]), row["n"]) for row in await lake.rows("from p | head 99")]
            assert key == [(place(row["ts"]), row["n"]) for row in expected]
            for row in rows:
                found = await lake.rows(f"from p | where ts == {row['ts']} and n == {row['n']} | count()")
                assert found[0]["count"] == rows.count(row)

    run(play())


def written(micros: int, offset: int, digits: str, marks: str) -> str:
    """One moment, written in some way."""
    local = times.render(micros + offset * 60_000_000, "YYYY-MM-DDTHH:MM:SS")
    sign, minutes = "-" if offset < 0 else "+", abs(offset)
    zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}" if offset else marks[1:]
    return f"{local[:10]}{marks[0]}{local[11:]}{f'.{digits}' if digits else ''}{zone}"


_BEGIN, _END = -315_619_200, 4_102_444_800  # from 1960 to 2100, in seconds
WRITTEN = st.builds(
    written,
    st.one_of(st.integers(_BEGIN // 1_000_000, _END // 1_000_000), st.integers(0, 2)).map(
        lambda each: each * 1_000_000
    ),
    st.one_of(st.just(0), st.integers(-23 * 60, 23 * 60)),
    st.text("0129", max_size=10),
    st.sampled_from(["TZ", "tZ", "Tz", " Z", "T+00:00", "T-00:00", "T", " "]),
)
TEXTS = st.one_of(WRITTEN, WRITTEN, st.sampled_from(EVERY), st.text("2T:-0 Z", max_size=25), st.none())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(TEXTS, min_size=1, max_size=12), st.booleans())
@pytest.mark.thorough
def test_what_is_loaded_comes_back(texts: list[Any], as_table: bool) -> None:
    async def play() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with query_lake(Path(folder)) as lake:
                await lake.pool("p", settings=BY_TS)
                rows: Any = rows_of(*texts)
                await lake.load("p", pa.Table.from_pylist(rows, RAW) if as_table else rows)
                found = [row["ts"] for row in await lake.rows("from p | head 99")]
                assert Counter(found) == Counter(texts)
                assert [place(each) for each in found] == sorted(map(place, texts))
                assert all(one <= other for one, other in pairwise(map(place, found)))

    run(play())


RAW = pa.schema([("ts", pa.string()), ("n", pa.int64())])


@pytest.mark.thorough
def test_many_lines_of_all_ways(tmp_path: Path) -> None:
    """Enough of them that the engine reads most by itself."""
    chance = random.Random(11)
    ways = ["TZ", "T+00:00", "tz", " Z", "T"]
    texts = [
        written(
            chance.randrange(0, 2_000_000_000) * 1_000_000,
            chance.choice([0, 0, 60, -330]),
            "".join(chance.choices("0123456789", k=chance.choice([0, 3, 6, 9]))),
            chance.choice(ways),
        )
        for _ in range(5_000)
    ]
    odd = ("n/a", "", NONE, "2026-11-01 10:00", "2026-11-01T24:00:00Z", "2026-11-01T10:00:00+24:00")
    for number, text in enumerate(odd * 200):
        texts[number * 4] = text
    file = tmp_path / "rows.ndjson"
    file.write_text("".join(f'{{"n":{number},"ts":"{text}"}}\n' for number, text in enumerate(texts)))

    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("p", settings=BY_TS)
            repository = await lake.lake.open_repository("p")
            done = await load_rows(repository, "main", str(file), actor=ANN)
            await repository.close()
            assert (done.rows, done.unparsed_times) == (5_000, {"ts": 1_200})
            found = await lake.rows("from p")
            assert [row["ts"] for row in sorted(found, key=lambda row: row["n"])] == texts
            assert [place(row["ts"]) for row in found] == sorted(map(place, texts))

    run(play())


# ── what says no time ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
def test_the_load_reports_how_many_are_not_times(tmp_path: Path) -> None:
    async def play() -> None:
        async with query_lake(tmp_path) as lake:
            await lake.pool("p", settings=parse(["ts:time"], times=["o.t"]))
            repository = await lake.lake.open_repository("p")
            rows = [{"ts": text, "o": {"t": NONE}} for text in (*EVERY, "n/a", None, 5)] + [{"ts": PLAIN}, {"o": {}}]
            done = await load_rows(repository, "main", rows, actor=ANN)
            assert done.unparsed_times == {"ts": 2, "o.t": 9}
            wide = {f"f{number}": number for number in range(1_100)}
            done = await load_rows(repository, "main", [{"ts": "n/a", **wide}, {"ts": OFFSET, **wide}], actor=ANN)
            assert done.unparsed_times == {"ts": 1}
            done = await load_rows(repository, "main", rows_of(PLAIN, OFFSET, None), actor=ANN)
            assert done.unparsed_times == {}
            await repository.close()

    run(play())
