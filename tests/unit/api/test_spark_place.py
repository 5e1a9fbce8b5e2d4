"""Where Spark runs: the most explicit choice of the user wins."""

from pathlib import Path

import pytest

from lochan.config.load import Config, Flag, load
from lochan.connection import spark_place

HOME = Path("/home/ann")


def config(**settings: str) -> Config:
    flags = [Flag("--set", name.replace("_", "."), value) for name, value in settings.items()]
    return load(file=None, env={}, flags=flags, cwd=HOME, home=HOME)


@pytest.mark.parametrize(
    ("settings", "variable", "master", "where"),
    [
        ({}, "", None, "local[*]"),
        ({}, "sc://env", None, "sc://env"),
        ({"spark_remote": "sc://set"}, "sc://env", None, "sc://set"),
        ({"spark_master": "spark://set:1"}, "sc://env", None, "spark://set:1"),
        ({"spark_remote": "sc://set", "spark_master": "spark://set:1"}, "", None, "sc://set"),
        ({"spark_remote": "sc://set"}, "sc://env", "local[1]", "local[1]"),
    ],
)
def test_the_plainest_word_counts(
    settings: dict[str, str], variable: str, master: str | None, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", variable)
    assert spark_place(config(**settings), master).where == where


def test_packages_are_given_to_spark() -> None:
    assert spark_place(config(spark_packages="a:b:1")).options == {"spark.jars.packages": "a:b:1"}
    assert spark_place(config()).options == {}
