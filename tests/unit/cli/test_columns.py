"""Tables are shown as their rows would be shown one by one."""

import json
from collections.abc import AsyncIterator
from typing import Any

import click
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan.api.results import moment
from lochan.cli.output import columns
from lochan.cli.output.columns import echo_json, show_columns, show_tables, size_cells, time_cells
from lochan.cli.output.records import show_records, size, size_cell
from tests.run import run

NASTY = ["a\x1b[31m", "two\nlines", "\x9b\u202eb", "[bold]", 'quo"te', "back\\slash", "é🐟", "\u2028", "plain", "\x7f"]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["added", "removed"]),
            "size": st.none() | st.integers(0, 1 << 62),
            "added": st.booleans(),
            "path": st.sampled_from(NASTY) | st.text(st.characters(codec="utf-8"), min_size=1, max_size=9),
        }
    ),
    max_size=7,
)


def printed(show: Any, *args: object, **kwargs: object) -> str:
    command = click.Command("show", callback=lambda: show(*args, **kwargs))
    return CliRunner().invoke(command, catch_exceptions=False).stdout


@pytest.mark.thorough
@pytest.mark.parametrize("page", [1, 3, 1 << 16])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_as_row_by_row(page: int, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_PAGE", page)
    names = ("kind", "size", "added", "path")
    schema = pa.schema([("kind", pa.string()), ("size", pa.int64()), ("added", pa.bool_()), ("path", pa.string())])
    table = pa.Table.from_pylist(rows, schema)
    for_people = [{**row, "size": size_cell(row["size"])} for row in rows]
    shown = printed(show_columns, table, "table", columns=names, cells={"size": size_cells})
    expected = printed(show_records, for_people, "table", columns=names)
    assert [line.rstrip() for line in shown.split("\n")] == [line.rstrip() for line in expected.split("\n")]
    text = printed(show_columns, table, "json", columns=names)
    assert json.loads(text) == rows
    assert text.isprintable() or not any(ord(each) < 0x20 and each != "\n" for each in text)
    assert json.loads(printed(echo_json, table, indent=4)) == rows


def test_tables_that_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are laid out together are aligned; what comes later may be wider."""
    monkeypatch.setattr(columns, "_LAID_OUT", 2)

    async def tables(*sizes: list[int]) -> AsyncIterator[pa.Table]:
        for each in sizes:
            yield pa.table({"path": [f"p{size}" for size in each], "size": each})

    def show(*sizes: list[int]) -> None:
        run(show_tables(tables(*sizes), columns=("size", "path"), cells={"size": size_cells}))

    assert printed(show, [1], [22], [333_333]).split("\n") == [
        "SIZE  PATH",
        "1 B   p1",
        "22 B  p22",
        "333.3 kB  p333333",
        "",
    ]
    assert printed(show, [333_333, 2], [1]).split("\n")[1:] == ["333.3 kB  p333333", "2 B       p2", "1 B       p1", ""]
    assert printed(show) == "SIZE  PATH\n"


def test_times_as_in_json() -> None:
    times = [0, 1, 1_790_000_000_000_000, 1_790_000_000_123_456]
    shown = [moment(each).isoformat(timespec="microseconds").replace("+00:00", "Z") for each in times]
    assert time_cells(pa.array([*times, None], pa.int64())).to_pylist() == [*shown, ""]


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(0, 1 << 62) | st.integers(0, 2_000).map(lambda n: n * 50), max_size=30))
def test_sizes(sizes: list[int | None]) -> None:
    assert size_cells(pa.array(sizes, pa.int64())).to_pylist() == [size_cell(each) for each in sizes]


def test_sizes_between_two_tenths() -> None:
    """Here a product rounds differently from a quotient."""
    numbers = [*range(1_050, 1_000_000, 100), *range(999_000, 1_001_000), *range(999_949_000, 999_951_000)]
    assert size_cells(pa.array(numbers)).to_pylist() == [size(each) for each in numbers]
