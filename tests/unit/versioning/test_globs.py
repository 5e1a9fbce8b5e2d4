"""Patterns of paths."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lochan.versioning.names import regex

PATHS = ["a.csv", "data/a.csv", "data/old/a.csv", "data/b.json", "x/_SUCCESS", "_SUCCESS", "odd\nname", "a+b"]


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("a.csv", ["a.csv"]),
        ("*.csv", ["a.csv"]),
        ("data/*.csv", ["data/a.csv"]),
        ("data/**", ["data/a.csv", "data/old/a.csv", "data/b.json"]),
        ("**/*.csv", ["a.csv", "data/a.csv", "data/old/a.csv"]),
        ("**/_SUCCESS", ["x/_SUCCESS", "_SUCCESS"]),
        ("data/?.json", ["data/b.json"]),
        ("data/[ab].*", ["data/a.csv", "data/b.json"]),
        ("data/[!a].*", ["data/b.json"]),
        ("odd?name", ["odd\nname"]),
        ("a+b", ["a+b"]),
        ("A.csv", []),
    ],
)
def test_a_pattern_fits_whole_paths(pattern: str, fits: list[str]) -> None:
    paths = pa.array(PATHS)
    assert paths.filter(pc.match_substring_regex(paths, regex([pattern]))).to_pylist() == fits


def test_several_patterns_fit_what_any_fits() -> None:
    paths = pa.array(PATHS)
    found = paths.filter(pc.match_substring_regex(paths, regex(["*.csv", "x/**"])))
    assert found.to_pylist() == ["a.csv", "x/_SUCCESS"]
