"""How rows are cut into objects, and the facts of each."""

import json
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from lochan.engines.duckdb.load import loader as loader_module
from lochan.engines.duckdb.load.shape_inference import ShapeInference
from lochan.pools import keys
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import Made, load_bytes, load_file, load_rows, load_texts


def test_rows_beyond_the_size_are_cut_into_objects_that_do_not_overlap() -> None:
    texts = [json.dumps({"k": number * 7919 % 20_000, "pad": f"{number:x}" * 8}) for number in range(20_000)]
    pool = parse(["k"], size_bytes=16 << 10)
    made = load_texts(texts, pool)
    assert 3 <= len(made) <= 30
    spans = sorted((each.facts.key_min, each.facts.key_max) for each in made)
    assert all(high < low for (_, high), (low, _) in pairwise(spans))
    assert sum(each.facts.rows for each in made) == 20_000
    for each in made:
        assert _values(each, "k") == sorted(_values(each, "k"))


def test_objects_of_a_wide_load_are_told_their_own_layout() -> None:
    """x is an int in some rows and a text in others, which are in different objects."""
    texts = [json.dumps({"k": n, "x": n if n < 10_000 else str(n), "p": "y" * 30}) for n in range(20_000)]
    made = load_texts(texts, parse(["k"], size_bytes=16 << 10))
    assert len(made) > 1
    rows = [row for each in made for row in each.rows()]
    assert sorted(rows, key=lambda row: row["k"]) == [json.loads(text) for text in texts]


@pytest.mark.parametrize("nulls", ["first", "last"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_mixed_keys_are_ordered_by_kind_then_value(nulls: str, order: str) -> None:
    values = [None, True, False, 2, 1.5, -1, 2**63 - 1, 2**53 + 1, float(2**53), "b", "a", "é", [1], {"z": 1}]
    texts = [json.dumps({"k": value}) for value in values] + ["{}"]
    pool = parse([f"k:{order}"], nulls=nulls)
    (made,) = load_texts(texts, pool)
    encoded = [keys.encode([row.get("k")], pool) for row in made.rows()]
    assert encoded == sorted(encoded)
    assert made.facts.keyless == 2
    assert all(
        made.facts.key_min <= each <= made.facts.key_max for each in encoded if each[0] not in (0x10, 0xF0, 0xEF, 0x0F)
    )


def test_equal_rows_lie_together_where_the_row_is_the_key() -> None:
    texts = ['{"b":1,"a":[1,"x"]}', '{"a":2}', '{"a":[1,"x"],"b":1}', '{"a":2}', "{}", '{"b":1,"a":[1,"x"]}']
    (made,) = load_texts(texts, parse([]))
    assert [row.get("a") for row in made.rows()] == [2, 2] + [[1, "x"]] * 3 + [None]
    assert made.facts.keyless == 0


def test_statistics() -> None:
    texts = [json.dumps({"i": n, "f": n / 2, "s": f"{n:03}" * 40, "b": n % 2 == 0, "o": {"x": -n}}) for n in range(100)]
    (made,) = load_texts([*texts, '{"i":null}', "{}"], parse(["i"]))
    found = {each.path: (each.kind, each.present, each.least, each.greatest, each.cut) for each in made.facts.columns}
    assert found == {
        ("b",): ("bool", 100, False, True, False),
        ("f",): ("float", 100, 0.0, 49.5, False),
        ("i",): ("int", 100, 0, 99, False),
        ("o", "x"): ("int", 100, -99, 0, False),
        ("s",): ("string", 100, ("000" * 40)[:64], ("099" * 40)[:64], True),
    }


def test_names_that_look_alike_do_not_take_each_others_statistics() -> None:
    (made,) = load_texts(['{"a.b":1,"a":{"b":100},"l":[{"x":1,"y":"s"}],"z":7}'], parse(["z"]))
    bounds = {each.path: each.least for each in made.facts.columns}
    assert bounds == {("a", "b"): 100, ("a.b",): 1, ("l",): None, ("z",): 7}


def test_the_files_are_plain_parquet_with_the_shapes_in_the_footer() -> None:
    (made,) = load_texts(['{"t":"2026-11-01T10:00:00Z","x":1}', '{"t":"soon"}'], parse(["t:time"]))
    assert made.table.schema.field("t#t").type == pa.timestamp("us", "UTC")
    assert made.table.column_names == ["_shape", "t#s", "t#t", "x"]
    shapes = json.loads(made.table.schema.metadata[b"lochan"])
    assert {id for id, _ in shapes} == set(made.facts.dictionary())


def test_a_shape_that_comes_late_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first chunk knows nothing of it; only a few rows of it are inferred one by one."""
    inferred: list[int] = []
    infer = ShapeInference.infer

    def counted(self: Any, lines: Any, numbers: Any) -> Any:
        numbers = list(numbers)
        inferred.append(len(numbers))
        return infer(self, lines, numbers)

    monkeypatch.setattr(ShapeInference, "infer", counted)
    monkeypatch.setattr(loader_module, "_SAMPLE", 10)
    early = [b'{"k":%d,"a":1}' % n for n in range(5_000)]
    late = [b'{"k":%d,"b":{"c":"x"},"a":"1"}' % n for n in range(5_000, 10_000)]
    made = load_bytes(b"\n".join([*early, *late, b""]), parse(["k"]))
    rows = [row for each in made for row in each.rows()]
    assert sorted(row["k"] for row in rows) == list(range(10_000))
    assert sum(inferred) < 100


@pytest.mark.parametrize(
    "early, late",
    [
        ('{"k":1,"a":{"b":{}}}', '{"k":2,"a":{"b":false}}'),
        ('{"k":1,"a":[1]}', '{"k":2,"a":{"b":1}}'),
        ('{"k":1,"a":[]}', '{"k":2,"a":["x"]}'),
        ('{"k":1,"a":{"b":1}}', '{"k":2,"a":{"b":"x","c":[1]}}'),
        ('{"k":1,"a":{}}', '{"k":2,"a":{"b":{"c":1}}}'),
    ],
)
def test_what_comes_late_changes_nothing_of_what_was_there(early: str, late: str) -> None:
    """A line without a newline is a chunk by itself: the first is staged before the second is seen."""
    made = load_texts([early, late], parse(["k"]))
    assert sorted((row for each in made for row in each.rows()), key=lambda row: row["k"]) == [
        json.loads(early),
        json.loads(late),
    ]


def test_a_format_that_is_given_counts_more_than_the_content() -> None:
    from lochan.engines.duckdb.load.load import LoaderOptions

    (made,) = load_file("a.ndjson", b'{"a":1}\n', parse([]), LoaderOptions(format="lines"))
    assert made.rows() == [{"line": '{"a":1}'}]


def test_texts_that_only_look_like_numbers_stay_texts() -> None:
    """Engines silently turn "7" into 7, 1.5 into 2, true into 1, and an int into a float."""
    texts = [f'{{"k":{n},"v":{n}}}' for n in range(1_000)]
    odd = ['{"k":2000,"v":"7"}', '{"k":2001,"v":1.5}', '{"k":2002,"v":true}', '{"k":2003,"v":9007199254740993}']
    (made,) = load_texts([*texts, *odd], parse(["k"]))
    assert [row["v"] for row in made.rows()[1_000:]] == ["7", 1.5, True, 9007199254740993]


def test_nothing_makes_nothing() -> None:
    assert load_bytes(b"", parse(["k"])) == []
    assert load_bytes(b"\n \n", parse(["k"])) == []
    assert load_rows([], parse(["k"])) == []


def _values(made: Made, name: str) -> list[Any]:
    return [row[name] for row in made.rows()]
