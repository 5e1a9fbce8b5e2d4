"""Input that is not a row: the error says where it is, and the rest is handled as the options say."""

import math

import pytest

from lochan.errors import Invalid
from lochan.pools.json_row import Faults
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import load_bytes, load_rows

pytestmark = pytest.mark.thorough

POOL = parse(["a"])
GOOD = [b'{"a":%d,"b":"x"}' % number for number in range(50)]
BAD = {
    b"nope": "1:1: expecting value",
    b'{"a":1,}': "1:8: ",
    b'{"a":1': "1:7: expecting",
    b'{"a":1} x': "1:9: extra data",
    b"[1]": "a row must be an object, but this is a list",
    b"7": "a row must be an object, but this is a number",
    b'{"a":1,"a":2}': "the name 'a' occurs twice",
    b'{"a":{"b":1,"b":1}}': "the name 'b' occurs twice",
    b'{"a":NaN}': "NaN is not JSON",
    b'{"a":01}': "1:7: expecting",
    b'{"a":"\xff"}': "1:7: not valid UTF-8",
    b'{"a":"\xed\xa0\x80"}': "not valid UTF-8",
    b'{"a":"\\ud800"}': "half of a surrogate pair",
    b'{"a":"x\ty"}': "1:8: invalid control character",
    b'{"a":"x\0"}': "1:8: invalid control character",
    b'{"a":' + b"9" * 5_000 + b"}": "a number of more than 4,300 digits",
    b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}": "nested too deeply",
}


@pytest.mark.parametrize("line", BAD, ids=lambda line: line[:20].decode(errors="replace"))
def test_a_fault_ends_the_load_and_names_its_place(line: bytes) -> None:
    with pytest.raises(Invalid) as alone:
        load_bytes(line, POOL)
    assert BAD[line] in str(alone.value)
    with pytest.raises(Invalid, match=r"x\.ndjson:31[:\s]") as among:
        load_bytes(b"\n".join([*GOOD[:30], line, *GOOD[30:]]), POOL)
    assert "nothing was loaded" in str(among.value)


def test_faults_are_left_out_and_counted() -> None:
    faults = Faults("skip")
    data = b"\n".join([*GOOD[:30], *BAD, *GOOD[30:]])
    (made,) = load_bytes(data, POOL, faults=faults)
    assert [row["a"] for row in made.rows()] == list(range(50))
    assert faults.count == len(BAD)
    assert len({fault.line for fault in faults.first} & set(range(31, 31 + len(BAD)))) == 10


def test_faults_are_kept_as_rows() -> None:
    faults = Faults("keep")
    data = b"\n".join([GOOD[0], b"nope", b'{"a":"\xff"}', GOOD[1]])
    rows = [row for each in load_bytes(data, POOL, faults=faults) for row in each.rows()]
    assert rows[:2] == [{"a": 0, "b": "x"}, {"a": 1, "b": "x"}]
    assert sorted(rows[2:], key=lambda row: str(row["_error"])) == [
        {"_error": "x.ndjson:2:1: expecting value", "_line": "nope"},
        {"_error": "x.ndjson:3:7: not valid UTF-8", "_line": '{"a":"\ufffd"}'},
    ]
    assert faults.count == 2


def test_what_is_near_a_fault_is_shown_in_part() -> None:
    faults = Faults("skip")
    load_bytes(b'{"a":1}\n{"a":"%s" oops "%s"}' % (b"x" * 500, b"y" * 500), POOL, faults=faults)
    (fault,) = faults.first
    assert fault.column == 509 and "oops" in fault.near and len(fault.near) < 70


def test_a_key_that_is_not_a_number_is_refused() -> None:
    import pyarrow as pa

    with pytest.raises(Invalid, match="the key a is NaN"):
        load_rows(pa.table({"a": [1.0, float("nan")]}), POOL)
    with pytest.raises(Invalid, match="the key a is NaN"):
        load_rows([{"a": float("nan")}], POOL)
    (row,) = load_rows([{"b": float("nan")}], POOL)[0].rows()
    assert math.isnan(row["b"]), "elsewhere it is a float like others"
