"""What is shown as HTML is escaped, whatever it says."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.notebook.html import HtmlRow, preformatted_block, table, text

pytestmark = pytest.mark.thorough


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style"}, attrs
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


HOSTILE = st.one_of(
    st.text(max_size=50),
    st.sampled_from(
        ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</td></table>", "&lt;b&gt;", "]]>", "<!--"]
    ),
)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_value_is_more_than_text(name: str, value: str, caption: str) -> None:
    plain = read(table(["a", "b"], [HtmlRow(("x", "y"))], caption="c", note="d"))
    found = read(
        table([name, value], [HtmlRow((value, {name: [value]}), "added")], caption=caption or "c", note=name or "d")
    )
    assert found.tags == plain.tags


def test_what_cannot_be_seen_is_shown_by_its_code() -> None:
    assert text("a\u202eb\x00\n") == r"a\u202eb\x00\n"
    assert text("grün · 桃") == "grün · 桃"


def test_long_values_and_wide_tables_are_cut() -> None:
    assert text("x" * 1_000_000) == "x" * 200 + "…"
    assert text(["x"] * 1_000_000).endswith("…")
    found = table([str(number) for number in range(70)], [HtmlRow(range(70))])
    assert "and 20 more columns" in found and found.count("<td") == 50


def test_text_before_a_graph() -> None:
    assert re.search("<pre.*>a\nb</pre>", preformatted_block(["a", "b"]), re.DOTALL)
