"""The error for a wrong query says where it is wrong, what was expected, and what may have been meant."""

import pytest

from lochan.errors import Invalid
from lochan.query.ast import Span
from lochan.query.errors import QueryError
from lochan.query.syntax.parse import parse


@pytest.mark.parametrize(
    ("text", "under", "message", "hint"),
    [
        ("from logs | srot ts", "srot", "unknown operator `srot`; did you mean `sort`?", "search srot"),
        ("from logs | srot", "srot", "did you mean `sort`?", ""),
        ("from logs | shape", "shape", "there is no operator `shape` here: cast single fields", "search shape"),
        ("from logs | merge ts", "merge", "there is no operator `merge` here", "search merge"),
        ("from logs | combine", "combine", "there is no operator `combine` here", "search combine"),
        ("from logs | assert ms > 1", "assert", "there is no operator `assert` here", "search assert"),
        ("from logs | debug", "debug", "there is no operator `debug` here", "search debug"),
        ("from logs | upper(host)", "upper(host)", "this is a value, not a condition", "compare it"),
        ("from logs | cut OR", "OR", "expected a value", "a field of this name is written `OR`"),
        ("from logs | limit 10", "limit", "did you mean `head`?", ""),
        ("from logs | Head 10", "Head", "did you mean `head`?", ""),
        ("from logs | sort by ms", "by", "expected what to sort by", "leave it out: sort ms"),
        ("from logs | cut host where x == 1", "where", "expected `|`", "operators are joined by |"),
        ("from logs | cut tags[0]", "tags[0]", "this value has no name", "give it one: name := tags[0]"),
        ("from logs | cuont() by x", "cuont", "unknown function `cuont`; did you mean `count`?", ""),
        ("where lowr(x) == 'a'", "lowr", "unknown function `lowr`; did you mean `lower`?", ""),
        ("from logs:branchs", ":branchs", "did you mean `:branches`?", ":objects"),
        ("from :objects", ":objects", "unknown metadata `:objects` of the lake", ":pools"),
        (
            "from logs | ts < 9999-12-31T23:59:59-01:00",
            "9999-12-31T23:59:59-01:00",
            "after the year 9999",
            "years 1 to 9999",
        ),
        (
            "from logs | ts > 0001-01-01T00:00:00+00:01",
            "0001-01-01T00:00:00+00:01",
            "before the year 1",
            "years 1 to 9999",
        ),
        ("from logs@{soon}", "{soon}", "'soon' is not a time", "2 hours ago"),
        ("from logs@", "@", "after the @", ""),
        ("from", "", "expected a pool", "logs@dev"),
        ("from logs range a to b", "a", "one literal to another", ""),
        ("from logs head 5", "head", "expected `|` or the end of the query, but found `head`", ""),
        ("from a | from b", "from", "`from` can only begin a query", "union"),
        ("status = 500", "=", "expected a condition or a search term, but found `=`", "=="),
        ("where status = 500", "=", "but found `=`", "=="),
        ("status ==", "", "expected a value, but the query ends", ""),
        ("where x is null", "is", "found `is`", "e == null"),
        ("where a && b", "&", "unexpected '&'", "and"),
        ("a && b", "&", "unexpected '&'", "and"),
        ("a < b < c", "<", "do not chain", "a < b and b < c"),
        ("a + b", "a + b", "not a condition", "quotes"),
        ("where sum(x) > 3", "sum", "`sum` is an aggregate", "put"),
        ("sum(x) / 2", "sum(x) / 2", "expected an aggregate by itself", "put"),
        ("len(a, b) == 3", "len(a, b)", "`len` takes one argument: len(e)", ""),
        ("where len (a) == 3", "(", "found `(`", "without a blank"),
        ("cut a + 1", "a + 1", "no name", "name := a + 1"),
        ("put x", "", "expected `:=`", ""),
        ("put 5 := x", "5", "only a field", ""),
        ("head x", "x", "expected how many rows", ""),
        ("head -1", "-", "expected how many rows", ""),
        ("join (from b) id", "id", "expected `on`", ""),
        ("fork (head 1)", "head", "expected `=>`", ""),
        ("switch (default => head case a => head)", "case", "nothing may follow the default", ""),
        ('where "abc', '"', "never closed", 'close it with "'),
        ("where (a", "", "expected `)`", ""),
        ("where /re/", "/", "a regular expression cannot", "grep"),
        ("where a ~ /re", "/", "never ends", ""),
        (r'"\d"', r"\d", "not a known escape", r"\\"),
        ("where a == 5xyz", "5xyz", "5xyz is not a number", "1h30m"),
        (f"where a == {9:0>401}", f"{9:0>401}", "too large", ""),
        ("where a == 1e9999999999999999999", "1e9999999999999999999", "too large", ""),
        ("where a == 2026-13-01", "2026-13-01", "not a time", ""),
        ("where a == 1.2.3.400", "1.2.3.400", "not an address", ""),
        ("count() by a by b", "by", "given twice", ""),
        ("a |", "", "expected an operator, but the query ends", ""),
        ("", "", "the query is empty", "from logs"),
        ("a /* b", "/*", "never ends", ""),
        ("*", "*", "finds everything", ""),
        ("\ud800", "\ud800", "no UTF-8", ""),
    ],
)
def test_an_error(text: str, under: str, message: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    error = caught.value
    assert message in error.message
    assert hint in error.hint
    found = text[error.start : error.start + error.length]
    assert found == under, error
    if not under:
        assert error.start == len(text)


def test_the_place_is_shown() -> None:
    with pytest.raises(QueryError) as caught:
        parse("from logs |\n\tsort ts |\n  srot ts")
    error = caught.value
    assert isinstance(error, Invalid) and error.kind == "invalid"
    assert (error.line, error.column, error.length) == (3, 3, 4)
    assert str(error).splitlines() == [
        "unknown operator `srot`; did you mean `sort`? (line 3, column 3)",
        "  srot ts",
        "  ^^^^",
        "to look for the word: search srot",
    ]


def test_a_long_line_is_cut_around_the_place() -> None:
    text = "a" * 500 + " " + "b" * 500
    line, carets = QueryError("m", text, Span(498, 503)).place.splitlines()
    assert len(line) <= 100 and line[0] == "…"
    assert line[carets.index("^") : len(carets)] == text[498:503]
    line, carets = QueryError("m", text, Span(0, 1001)).place.splitlines()
    assert len(line) == 100 and len(carets) <= 101


def test_words_that_only_look_like_operators_are_searched_for() -> None:
    for text in ("port", "trail", "heads up", "cat", "form-1", "sort-of", "limit", "search srot ts", "cute kittens"):
        parse(text)
