"""Each engine can express everything in a plan, without syntax of the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lochan.query
from lochan.errors import Refused
from lochan.query.dialects import duckdb, duckdb_text, render, spark, spark_words
from lochan.query.dialects.neutral import folds_alike, like_pattern, neutral
from tests.unit.query.compile import test_aggregates, test_expressions, test_operators
from tests.unit.query.run_query import planned
from tests.unit.query.toy_source import ToySource  # its arrays have a form of their own

SOURCES = Path(lochan.query.__file__).parent


def test_everything_that_the_pipe_language_says_has_a_form_in_each_engine() -> None:
    said = {
        name
        for file in (SOURCES / "compile").rglob("*.py")
        for name in re.findall(r'neutral\(\s*"(\w+)"', file.read_text(encoding="utf-8"))
    }
    assert len(said) > 50 and ToySource is not None
    assert said - set(duckdb.FORMS) == set() and said - set(spark.FORMS) == set()
    assert set(spark.FORMS) <= set(duckdb.FORMS)


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_every_expression_can_be_written(dialect: str) -> None:
    fields = ", ".join(f"v{at}: {expression}" for at, (expression, _) in enumerate(test_expressions.CASES))
    sql = planned(f"from p | yield {{{fields}}}", [test_expressions.ROW]).sql(dialect)
    assert "neutral" not in sql.lower()
    if dialect == "spark":
        assert not re.search(r"\b(LIST_\w+|EPOCH_US|TRY|STRUCT_EXTRACT|STRFTIME|LAMBDA)\b", re.sub(r"'[^']*'", "", sql))


@pytest.mark.parametrize(
    "query, parts",
    [
        ("from p | sum(i)", ["TRY_CAST(SUM(CAST(`t1`.`i:int` AS DECIMAL(38, 0))) AS BIGINT)"]),
        ("from p | collect(s)", ["COLLECT_LIST(STRUCT(", "MONOTONICALLY_INCREASING_ID()"]),
        ("from p | sort i | head 1", ["NULLS LAST"]),
        ("from p | put x := i + 1", ["TRY_ADD(`t1`.`i:int`, 1)"]),
        ("from p | s ~ /a\\b/", ["(?<=\\\\w)"]),
    ],
)
def test_spark(query: str, parts: list[str]) -> None:
    sql = planned(query, test_aggregates.ROWS).sql("spark")
    assert [part for part in parts if part not in sql] == []


def test_texts_are_quoted() -> None:
    assert duckdb_text.quote_text("it's\0") == "('it''s' || CHR(0) || '')"
    assert spark_words.quote_text("it's \\d") == "'it\\'s \\\\d'"
    assert like_pattern("5%_\\") == "%5\\%\\_\\\\%"
    assert folds_alike("error") and not folds_alike("kind") and not folds_alike("é")
    assert render(neutral("json_get", neutral("list_of"), options=("a.b", -1)), "duckdb").count('$."a.b"[#-1]') == 1


@pytest.mark.thorough
def test_rows_of_operators_can_be_written_for_spark() -> None:
    marks = [mark for mark in test_operators.test_operator.pytestmark if mark.name == "parametrize"]
    for case in marks[0].args[1]:
        assert planned(case.values[0], test_operators.ROWS).sql("spark").startswith("SELECT")


@pytest.mark.parametrize("regexp", [r"(a+)+b", r"(a|a)*b", r"(\w{0,30}){0,30}x", ".*.*.*.*.*x", "(a?){30}a{30}"])
def test_spark_is_given_no_expression_that_it_may_match_forever(regexp: str) -> None:
    """A Java thread that matches cannot be stopped."""
    plan = planned(f"from p | where grep(/{regexp}/, s)", [{"s": "x"}])
    assert plan.sql("duckdb")
    with pytest.raises(Refused, match="Spark cannot match"):
        plan.sql("spark")


@pytest.mark.parametrize("regexp", ["GET .* HTTP.*200", "^[a-z]+[0-9]*$", "(error|warn)+:", r"(\d{1,3}\.){3}\d{1,3}"])
def test_spark_is_given_what_people_write(regexp: str) -> None:
    assert planned(f"from p | where grep(/{regexp}/, s)", [{"s": "x"}]).sql("spark")
