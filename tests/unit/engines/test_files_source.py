"""Files of a repository as rows of a query."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lochan.query.errors import QueryError
from lochan.versioning.objects import put
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake, query_lake
from tests.unit.pools.place import once


def parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


FILES = {
    "2026/a.parquet": parquet([{"a": 1, "t": "x"}, {"a": 2, "t": "y"}]),
    "2026/b.parquet": parquet([{"a": 3.5}]),
    "2026/c.csv": b"a,b\n7,x\n8,y\n",
    "2026/deep/d.ndjson": b'{"a":9}\n{"a":null,"c":[1]}\n',
    "2026/e.json": json.dumps([{"a": 10}, {"a": {"b": 1}}]).encode(),
    "prices.parquet": parquet([{"price": Decimal("0.10")}] * 10),
    "long.ndjson": b'{"u":18446744073709551615}\n{"u":7}\n',
    "broken.ndjson": b'{"a":',
    "parts/year=2025/day=2025-12-31/a.parquet": parquet([{"a": 1, "year": 1999}]),
    "parts/year=2026/day=2026-01-01/b.parquet": parquet([{"a": 2, "b": "new"}]),
    "parts/year=2026/day=__HIVE_DEFAULT_PARTITION__/c.parquet": parquet([{"a": 3}]),
    "parts/d.parquet": parquet([{"a": 4}]),
    "texts/n=1/a.ndjson": b'{"a":1,"n":7}\n\n{"a":1.00000000000000000001}\n',
    "texts/n=x y/b.csv": b"a\n2\n",
    "texts/n=3/c.txt": b"one\ntwo\n",
    "broken/n=1/a.ndjson": b'{"a":1}\n{"a":\n',
}
QUERIES: dict[str, list[Any]] = {
    "from sales@main/2026/a.parquet": [{"a": 1, "t": "x"}, {"a": 2, "t": "y"}],
    "from sales@main/2026/*.parquet | sum(a)": [{"sum": 6.5}],
    "from sales/2026/c.csv | a > 7": [{"a": 8, "b": "y"}],
    "from sales/2026/**/*.ndjson": [{"a": 9}, {"a": None, "c": [1]}],
    "from sales/2026/e.json | a.b == 1": [{"a": {"b": 1}}],
    "from sales/2026/c.csv, sales/2026/deep/d.ndjson | count()": [{"count": 4}],
    "from sales/parts/**/*.parquet | sort a": [
        {"a": 1, "year": 2025, "day": "2025-12-31"},
        {"a": 2, "b": "new", "year": 2026, "day": "2026-01-01"},
        {"a": 3, "year": 2026, "day": None},
        {"a": 4},
    ],
    "from sales/parts/** | year > 2025 and day >= 2026-01-01 | cut a": [{"a": 2}],
    "from sales/parts/year=2026/**": [
        {"a": 2, "b": "new", "year": 2026, "day": "2026-01-01"},
        {"a": 3, "year": 2026, "day": None},
    ],
    "from sales/texts/*/*.ndjson": [{"a": 1, "n": 1}, {"a": Decimal("1.00000000000000000001"), "n": 1}],
    "from sales/texts/**": [
        {"a": 1, "n": "1"},
        {"a": Decimal("1.00000000000000000001"), "n": "1"},
        {"line": "one", "n": "3"},
        {"line": "two", "n": "3"},
        {"a": 2, "n": "x y"},
    ],
    "from sales@main/prices.parquet | sum(price)": [{"sum": 1}],
    "from sales/long.ndjson | u > 7": [{"u": 18446744073709551615}],
    'select sum(a) as s from "sales@main/2026/c.csv"': [{"s": 15}],
}


async def filled(lake: QueryLake) -> None:
    await lake.lake.create_repository("sales", actor=ANN)
    sales = await lake.lake.open_repository("sales")
    for path, data in FILES.items():
        await put(sales, "main", path, once(data), actor=ANN)
    await sales.close()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    async def asked() -> dict[str, Any]:
        async with query_lake(tmp_path_factory.mktemp("files")) as lake:
            await filled(lake)
            return {text: await lake.rows(text) for text in QUERIES}

    return run(asked())


@pytest.mark.thorough
@pytest.mark.parametrize("text, expected", QUERIES.items(), ids=QUERIES)
def test_rows_of_files(answers: dict[str, Any], text: str, expected: list[Any]) -> None:
    assert answers[text] == expected


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text, message",
    [
        ("from sales@main/none*.csv", "no file of sales@main matches none*.csv"),
        ("from sales@main/broken.ndjson", "broken.ndjson"),
        ("from sales@main/broken/**", "a.ndjson"),
        ("from logs@main/a.csv", "`logs` is a pool"),
        ("from saels@main/a.csv", "did you mean `sales`?"),
    ],
)
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    temp = tmp_path / "temp"
    temp.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temp))

    async def asked() -> None:
        async with query_lake(tmp_path) as lake:
            await filled(lake)
            await lake.pool("logs")
            await lake.rows(text)

    with pytest.raises(QueryError) as found:
        run(asked())
    assert message in found.value.message
    assert not list(temp.iterdir())
