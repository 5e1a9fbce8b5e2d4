"""What a condition in SQL says about the rows that pass it."""

from __future__ import annotations

import pytest
import sqlglot

from lochan.pools.row_tests import ANY_ROW, All, Compare, Either, OneOf, Test
from lochan.pools.shape import Leaf
from lochan.query.sources.sql_bounds import of_sql

A5 = Compare(("a",), "==", "int", 5)

CASES: list[tuple[str, Test]] = [
    ('"a:int" = 5', A5),
    ('5 = "a:int"', A5),
    ('5 < "a:int"', Compare(("a",), ">", "int", 5)),
    ('("a:int") >= -5', Compare(("a",), ">=", "int", -5)),
    ("\"a:float\" < CAST('0.5' AS DOUBLE)", Compare(("a",), "<", "float", 0.5)),
    ('"a:float" = 5', A5),
    ("\"a:string\" = 'x'", Compare(("a",), "==", "string", "x")),
    ('"a:bool" = TRUE', Compare(("a",), "==", "bool", True)),
    (
        "\"a:time\" > CAST('1970-01-01 00:00:01.000000+00:00' AS TIMESTAMPTZ)",
        Compare(("a",), ">", "time", 1_000_000),
    ),
    ('"b.c\\.d:int" = 5', Compare(("b", "c.d"), "==", "int", 5)),
    ('"a:int" = 5 AND "a:int" = 5', All((A5, A5))),
    ('"a:int" = 5 OR "a:int" = 5', Either((A5, A5))),
    ('"a:int" = 5 OR f("a:int")', ANY_ROW),
    ('"a:int" = 5 AND f("a:int")', A5),
    ('COALESCE("a:int" = 5, FALSE)', A5),
    ('NOT ("a:int" = 5)', ANY_ROW),
    ('"a:int" IN (5, 6)', OneOf(("a",), (("int", 5), ("int", 6)))),
    ('"a:int" BETWEEN 5 AND 6', All((Compare(("a",), ">=", "int", 5), Compare(("a",), "<=", "int", 6)))),
    # what a leaf of JSON text holds is no string
    ("\"a:json\" = 'x'", ANY_ROW),
    ("\"a:int\" = '5'", ANY_ROW),
    ('"a:int" = "b:int"', ANY_ROW),
    ('"a:null" IS NULL', ANY_ROW),
]


@pytest.mark.parametrize("sql, expected", CASES, ids=[sql for sql, _ in CASES])
def test_bounds(sql: str, expected: Test) -> None:
    assert of_sql(sqlglot.parse_one(sql, read="duckdb")) == expected


@pytest.mark.parametrize(
    "path",
    [("a",), ("a", "b"), ("a.b",), ("a", "", "b"), ("",), ("", ""), ("\\",), ("\\.", "."), ("a:int",), ("Ab", "C.d")],
)
def test_a_column_and_back(path: tuple[str, ...]) -> None:
    leaf = Leaf(path, "int")
    assert Leaf.of_column(leaf.column) == leaf


def test_no_two_leaves_share_a_column_whatever_their_case() -> None:
    paths = [("a", "b"), ("a.b",), ("A", "b"), ("a", "B"), ("a", "", "b"), ("a\\", "b"), ("A.b",), ("a.B",)]
    assert len({Leaf(path, "int").column.lower() for path in paths}) == len(paths)
