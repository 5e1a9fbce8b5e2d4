"""The rows of a pool as flat columns: right whatever the objects' files look like, and read by few scans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lochan.engines.duckdb.run import with_files
from lochan.engines.duckdb.session import DuckSession
from lochan.pools.shape import Leaf
from lochan.query.dialects import render
from lochan.query.leaves import ScanRequest
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.scans import Scans
from tests.unit.query.sources.objects import Row, snapshot


def leaf(text: str) -> Leaf:
    path, _, kind = text.rpartition(":")
    return Leaf(tuple(path.split(".")), kind)


def read(folder: Path, source: PoolSource, scans: Scans, *leaves: str, **asked: Any) -> list[dict[str, Any]]:
    """The rows, without what is NULL in them."""
    query = source.select(ScanRequest([leaf(each) for each in leaves], **asked))
    paths = {name: [str(folder / each.address) for each in scan.objects] for name, scan in scans.files.items()}
    with DuckSession() as session:
        table = session.table(render(with_files(query, scans, paths), "duckdb"))
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]


CASES = {
    "one kind is a plain column": ([[{"k": 1}, {"k": 2}]], ["k:int"], [{"k:int": 1}, {"k:int": 2}], 1),
    "kinds of one field in one object": (
        [[{"k": 1}, {"k": "a"}, {"k": 1.5}]],
        ["k:int", "k:string", "k:float"],
        [{"k:int": 1}, {"k:string": "a"}, {"k:float": 1.5}],
        1,
    ),
    "kinds that differ between objects never meet in a scan": (
        [[{"k": 9007199254740993}], [{"k": 0.5}], [{"k": "7"}]],
        ["k:int", "k:string", "k:float"],
        [{"k:int": 9007199254740993}, {"k:float": 0.5}, {"k:string": "7"}],
        3,
    ),
    "objects that differ in other fields are one scan": (
        [[{"k": 1, "x": 1}], [{"k": 2, "x": "a"}], [{"k": 3, "x": [1]}]],
        ["k:int"],
        [{"k:int": 1}, {"k:int": 2}, {"k:int": 3}],
        1,
    ),
    "a field that an object lacks": (
        [[{"k": 1, "x": 1}], [{"k": 2}]],
        ["k:int", "x:int"],
        [{"k:int": 1, "x:int": 1}, {"k:int": 2}],
        1,
    ),
    "null and missing": (
        [[{"k": 1, "x": None}, {"k": 2}, {"k": 3, "x": 4}]],
        ["k:int", "x:null", "x:int"],
        [{"k:int": 1, "x:null": True}, {"k:int": 2}, {"k:int": 3, "x:int": 4}],
        1,
    ),
    "names that differ in case": (
        [[{"k": 1, "x": 1}], [{"k": 2, "X": 5}]],
        ["k:int", "x:int"],
        [{"k:int": 1, "x:int": 1}, {"k:int": 2}],
        2,
    ),
    "members of objects": (
        [[{"k": 1, "b": {"c": 1}}], [{"k": 2, "b": {"d": "x"}}], [{"k": 3, "b": {"c": None}}]],
        ["k:int", "b:object", "b.c:int", "b.c:null", "b.d:string"],
        [
            {"k:int": 1, "b:object": True, "b.c:int": 1},
            {"k:int": 2, "b:object": True, "b.d:string": "x"},
            {"k:int": 3, "b:object": True, "b.c:null": True},
        ],
        1,
    ),
    "an object among scalars is text in the file, and no text outside": (
        [[{"k": 1, "b": {"c": 7, "d": "x", "e": True, "f": [1, "a"]}}, {"k": 2, "b": 5}, {"k": 3, "b": "{"}]],
        ["k:int", "b:object", "b:int", "b:string", "b.c:int", "b.d:string", "b.e:bool", "b.f:json"],
        [
            {"k:int": 1, "b:object": True, "b.c:int": 7, "b.d:string": "x", "b.e:bool": True, "b.f:json": '[1,"a"]'},
            {"k:int": 2, "b:int": 5},
            {"k:int": 3, "b:string": "{"},
        ],
        1,
    ),
    "lists of one type": (
        [[{"k": 1, "l": [1, 2]}], [{"k": 2, "l": []}], [{"k": 3, "l": [None, 4]}]],
        ["k:int", "l:array"],
        [{"k:int": 1, "l:array": [1, 2]}, {"k:int": 2, "l:array": []}, {"k:int": 3, "l:array": [None, 4]}],
        2,
    ),
    "lists of different types are text": (
        [[{"k": 1, "l": [1, 2]}], [{"k": 2, "l": ["a"]}], [{"k": 3, "l": [1, "a"]}]],
        ["k:int", "l:json"],
        [{"k:int": 1, "l:json": "[1,2]"}, {"k:int": 2, "l:json": '["a"]'}, {"k:int": 3, "l:json": '[1, "a"]'}],
        3,
    ),
    "rows kept as text": (
        [[{"k": 1, "a": 1, "A": "x"}, {"k": 2, "a": None, "A": {"b": 1.5}}]],
        ["k:int", "a:int", "a:null", "A:string", "A:object", "A.b:float"],
        [
            {"k:int": 1, "a:int": 1, "A:string:1": "x"},
            {"k:int": 2, "a:null": True, "A:object:1": True, "A.b:float:1": 1.5},
        ],
        1,
    ),
    "an int beyond 64 bits": (
        [[{"k": 1, "x": 1 << 70}, {"k": 2, "x": 1}]],
        ["k:int", "x:int", "x:json"],
        [{"k:int": 1, "x:json": str(1 << 70)}, {"k:int": 2, "x:int": 1}],
        1,
    ),
}


@pytest.mark.parametrize("objects, leaves, expected, count", CASES.values(), ids=CASES)
def test_leaves(
    tmp_path: Path, objects: list[list[Row]], leaves: list[str], expected: list[dict[str, Any]], count: int
) -> None:
    scans = Scans()
    source = PoolSource(snapshot(tmp_path, *objects), scans)
    for each in leaves:
        assert leaf(each) in [known.leaf for known in source.known(leaf(each).path)]
    rows = read(tmp_path, source, scans, *leaves)
    assert sorted(rows, key=str) == sorted(expected, key=str)
    assert len(scans.files) == count
