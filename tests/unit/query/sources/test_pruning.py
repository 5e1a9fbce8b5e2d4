"""Which objects a query opens. Each case has objects o1, o2, …; what must be read is named, and why the rest is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from lochan.query.sources.key_range import KeyRange
from lochan.query.sources.narrowing import wanted
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.scans import Scans
from lochan.query.syntax.parse import parse
from tests.unit.query.sources.objects import Row, snapshot

OBJECTS: list[list[Row]] = [
    [{"k": 1, "s": "apple", "n": {"x": 1}}, {"k": 9, "s": "pear", "n": {"x": 5}}],
    [{"k": 10, "s": "fig"}, {"k": 19, "s": "kiwi"}],
    [{"k": 15, "s": 7}, {"k": 30, "s": 8.5}],
    [{"k": "a", "s": "zoo"}, {"s": "lime"}],
]

CASES = [
    ("k == 9", "o1", "the span of the key"),
    ("k >= 10 and k < 15", "o2", "the span of the key"),
    ("k > 30.5", "", "the span of the key"),
    ('k == "a"', "o4", "the span of the key"),
    ("k in [1, 30]", "o1 o3", "the span of the key"),
    ("k between 20 and 40", "o3", "the span of the key"),
    ("15 <= k", "o2 o3", "the span of the key"),
    ('s == "fig"', "o1 o2", "least and greatest s"),
    ("s == 7", "o3", "no such value in s"),
    ("s < 8", "o3", "no such value in s"),
    ('s > "kiwi"', "o1 o4", "least and greatest s"),
    ("n.x == 3", "o1", "no such value in n.x"),
    ("n.x == 6", "", "least and greatest n.x"),
    ('s == "zoo" or k == 1', "o1 o4", "least and greatest s"),
    ('s == "zoo" or len(s) == 1', "o1 o2 o3 o4", ""),
    ("not (k == 1)", "o1 o2 o3 o4", ""),
    ("missing(k)", "o1 o2 o3 o4", ""),
    ("nothing == 1", "", "no such value in nothing"),
    ("put k:=5 | k == 5", "o1 o2 o3 o4", ""),
    ("k == 1 | k == 30", "", "the span of the key"),
]


def opened(folder: Path, query: str, range: KeyRange | None = None) -> tuple[str, list[str]]:
    [want] = wanted(parse(f"from logs | {query}"))
    source = PoolSource(
        snapshot(folder, *OBJECTS), Scans(), range=range or KeyRange(), test=want.test, first=want.first
    )
    found = [source.snapshot.object(index).id for index in source.objects.tolist()]
    return " ".join(sorted(found)), [each.why for each in source.skipped]


@pytest.mark.parametrize("query, expected, why", CASES, ids=[case[0] for case in CASES])
def test_tests(tmp_path: Path, query: str, expected: str, why: str) -> None:
    found, reasons = opened(tmp_path, query)
    assert found == expected
    assert why in reasons if why else not reasons


@pytest.mark.parametrize(
    "range, expected",
    [
        (KeyRange(("int", 9), ("int", 10)), "o1 o2"),
        (KeyRange(("int", 20), None), "o3 o4"),
        (KeyRange(None, ("float", 0.5)), ""),
        (KeyRange(("string", "b"), ("string", "c")), ""),
        (KeyRange(no_key=True), "o4"),
    ],
)
def test_ranges(tmp_path: Path, range: KeyRange, expected: str) -> None:
    assert opened(tmp_path, "count()", range)[0] == expected


@pytest.mark.parametrize(
    "query, expected",
    [
        ("head 1", "o1"),
        ("head 2", "o1"),
        ("head 3", "o1 o2 o3"),  # of o3's rows one may come before the last of o2
        ("cut k | head 2", "o1"),
        ("head 7", "o1 o2 o3 o4"),
        ("head 100", "o1 o2 o3 o4"),
        ("len(s) > 1 | head 1", "o1 o2 o3 o4"),
        ("sort s | head 1", "o1 o2 o3 o4"),
        ("count() | head 1", "o1 o2 o3 o4"),
    ],
)
def test_the_first_rows(tmp_path: Path, query: str, expected: str) -> None:
    assert opened(tmp_path, query)[0] == expected


def test_a_filter_over_the_values(tmp_path: Path) -> None:
    from msgspec.structs import replace

    from lochan.formats import bloom
    from lochan.query.sources.bounds import Compare
    from lochan.query.sources.forms import Forms
    from lochan.query.sources.pruning import why_not

    facts = snapshot(tmp_path, OBJECTS[0]).facts(0)
    hashes = bloom.hash_all(pa.array(["apple", "pear"]))
    filtered = [replace(each, bloom=bloom.build(hashes)) if each.path == ("s",) else each for each in facts.columns]
    facts = replace(facts, columns=tuple(filtered))
    form = Forms().of(facts)
    assert why_not(Compare(("s",), "==", "string", "fig"), facts, form) == "the filter of s"
    assert why_not(Compare(("s",), "==", "string", "pear"), facts, form) == ""
    assert why_not(Compare(("s",), ">", "string", "fig"), facts, form) == ""


def test_only_what_is_kept_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lochan.pools import facts

    decoded: list[str] = []
    decode = facts.from_metadata

    def counting(metadata: Mapping[str, str], path: str = "") -> facts.Facts:
        decoded.append(path)
        return decode(metadata, path)

    monkeypatch.setattr(facts, "from_metadata", counting)
    opened(tmp_path, "head 1")
    assert decoded == ["o1.parquet"]
