"""The pages of the query language are right: every example parses, and every function has its row."""

import re
from pathlib import Path

import pytest

from lochan.query.functions import AGGREGATES, FUNCTIONS
from lochan.query.sql.calls import names
from lochan.query.sql.query import read
from lochan.query.syntax.parse import OPERATORS, parse
from lochan.query.syntax.sources import LAKE_META, POOL_META
from lochan.query.syntax.tokens import is_sql
from tests.pipe_text import unparse

PAGES = Path(__file__).parents[2] / "docs" / "language"
PIPES = (PAGES / "pipes.md").read_text()
SQL = (PAGES / "sql.md").read_text()


def examples(page: str, tag: str) -> list[str]:
    blocks = re.findall(rf"^```{tag}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("query", examples(PIPES, "query"))
def test_an_example_parses(query: str) -> None:
    assert parse(unparse(parse(query))) == parse(query)


def test_every_function_has_its_row() -> None:
    for name, signature in (FUNCTIONS | AGGREGATES).items():
        assert f"| `{signature.shown}` | {signature.does} |" in PIPES, name


def test_every_operator_and_every_kind_of_metadata_is_there() -> None:
    assert [name for name in OPERATORS if not re.search(rf"`[^`\n]*\b{name}\b", PIPES)] == []
    assert [name for name in (*LAKE_META, *POOL_META) if f"`:{name}`" not in PIPES] == []


@pytest.mark.parametrize("query", examples(SQL, "sql"))
def test_an_example_of_sql_is_read(query: str) -> None:
    assert is_sql(query) and read(query).pipe.operators


def test_every_function_of_sql_is_there() -> None:
    assert [name for name in names() if f"`{name}`" not in SQL] == []
