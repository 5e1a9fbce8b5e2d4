"""The elements of XML become rows."""

import gzip
from typing import Any

import pytest

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.errors import Invalid
from lochan.pools.settings import parse
from tests.unit.engines.load.load_text import load_file


def rows_of(text: str, row_tag: str = "", name: str = "a.xml") -> list[dict[str, Any]]:
    made = load_file(name, text.encode(), parse(["id"]), LoaderOptions(row_tag=row_tag))
    return [row for each in made for row in each.rows()]


def test_elements_below_the_root() -> None:
    text = """<?xml version="1.0"?>
    <orders xmlns="http://example.com/a"><!-- a list -->
      <order id="1" no="007"><item>a</item><item>b &amp; c</item><paid>true</paid><sum>1</sum><note/></order>
      <order id="2" no="8"><item>c</item><paid>false</paid><sum>2.5</sum><to><name>é</name><zip>1</zip></to></order>
    </orders>"""
    assert rows_of(text) == [
        {"_id": 1, "_no": "007", "item": ["a", "b & c"], "paid": True, "sum": 1.0, "note": None},
        {"_id": 2, "_no": "8", "item": ["c"], "paid": False, "sum": 2.5, "to": {"name": "é", "zip": 1}},
    ]


def test_elements_of_one_name_wherever_they_are() -> None:
    text = "<a><b><id>9</id></b><r><id>1</id><r>inner</r></r><c><d><r><id>2</id></r></d></c></a>"
    assert rows_of(text, "r") == [{"id": 1, "r": "inner"}, {"id": 2}]


def test_text_beside_other_things() -> None:
    assert rows_of('<a><r id="1">x</r><r id="2"/><r>y<b/>z</r><r>w</r></a>') == [
        {"_id": 1, "_VALUE": "x"},
        {"_id": 2},
        {"_VALUE": "y z", "b": None},
        {"_VALUE": "w"},
    ]


def test_it_may_be_compressed_and_recognized_by_its_content() -> None:
    text = '<?xml version="1.0"?><a><id>1</id></a>'
    made = load_file("what", gzip.compress(text.encode()), parse(["id"]))
    assert [row for each in made for row in each.rows()] == [{"_VALUE": 1}]


def test_invalid_xml() -> None:
    with pytest.raises(Invalid, match=r"a\.xml:2:6: mismatched tag"):
        rows_of("<a>\n<b></a>")
    with pytest.raises(Invalid, match="there is no element <r>"):
        rows_of("<a><b/></a>", "r")
    with pytest.raises(Invalid, match="limit on input amplification"):
        rows_of(_laughs())


def _laughs() -> str:
    """A few lines that would become gigabytes."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    return f'<!DOCTYPE a [<!ENTITY e0 "{"ha" * 50}">{entities}]><a><r>&e11;</r></a>'
