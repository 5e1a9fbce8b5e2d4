"""A list skips a common prefix by a search: what lies under it is not opened."""

import pytest

from lochan.tree.tree import TreePage
from tests.unit.tree.small_trees import Forest, gathered, paths, run

TREE = "a/1! a/2! a/3! b! c/1 c/2! c/3! d! e/1! e/2"


def shown(page: TreePage) -> str:
    return " ".join(sorted([*page.entries["path"].to_pylist(), *(f"[{name}]" for name in page.prefixes)]))


@pytest.mark.parametrize(
    ("prefix", "after", "delimiter", "limit", "items", "next", "opened"),
    [
        pytest.param(
            "", "", "/", 99, "[a/] [c/] [e/] b! d!", None, "a/1!|b!|c/1 c/2!|d!|e/1!", id="one range for each"
        ),
        pytest.param("", "", "/", 2, "[a/] b!", "b!", "a/1!|b!", id="a full page, and more known without opening it"),
        pytest.param("", "b!", "/", 1, "[c/]", "c/", "c/1 c/2!", id="the next page"),
        pytest.param("", "c/", "/", 9, "[e/] d!", None, "d!|e/1!", id="behind a common prefix is behind all of it"),
        pytest.param("", "c/1", "/", 1, "[c/]", "c/", "c/1 c/2!", id="behind a path in it is not"),
        pytest.param("", "e/", "/", 9, "", None, "", id="behind the last common prefix is nothing"),
        pytest.param("c/", "", "/", 9, "c/1 c/2! c/3!", None, "c/1 c/2!|c/3!", id="under a prefix"),
        pytest.param("c/", "c/1", "", 1, "c/2!", "c/2!", "c/1 c/2!", id="without a delimiter"),
        pytest.param("", "", "", 3, "a/1! a/2! a/3!", "a/3!", "a/1!|a/2!|a/3!", id="a page that ends with a range"),
        pytest.param("d!", "", "", 1, "d!", None, "d!", id="the only one under its prefix"),
        pytest.param("x", "", "/", 9, "", None, "", id="nothing under it: nothing opened"),
        pytest.param("0", "", "/", 9, "", None, "", id="nor before the first"),
        pytest.param("", "", "!", 2, "[a/1!] [a/2!]", "a/2!", "a/1!|a/2!", id="any delimiter"),
        pytest.param("", "", "/1", 2, "[a/1] a/2!", "a/2!", "a/1!|a/2!", id="of any length"),
        pytest.param("", "", "/", 0, "", None, "", id="no room"),
        pytest.param("a", "", "/", 9, "[a/]", None, "a/1!", id="a prefix that ends within a name"),
    ],
)
def test_items_and_opened_ranges(
    prefix: str, after: str, delimiter: str, limit: int, items: str, next: str | None, opened: str
) -> None:
    forest = Forest()
    page = run(forest.build(TREE).list(prefix, after, delimiter, limit))
    assert shown(page) == items
    assert page.next == next
    assert forest.ranges("open") == opened


def test_a_path_that_is_the_prefix_is_an_entry_and_one_that_is_a_common_prefix_is_not() -> None:
    tree = Forest().build("a/ a/b a/b/c")
    assert shown(run(tree.list("a/", "", "/"))) == "[a/b/] a/ a/b"
    assert shown(run(tree.list("a/", "a/", "/"))) == "[a/b/] a/b"
    assert shown(run(tree.list("", "", "/"))) == "[a/]"


def test_text_that_is_no_unicode_finds_nothing() -> None:
    tree = Forest().build(TREE)
    assert shown(run(tree.list("\udc80", "", "/"))) == ""
    assert run(tree.get("\udc80")) is None


@pytest.mark.parametrize(
    ("prefix", "after", "found", "opened"),
    [
        ("c/", "", ["c/1", "c/2!", "c/3!"], "c/1 c/2!|c/3!"),
        ("", "d!", ["e/1!", "e/2"], "e/1!|e/2"),
        ("a/", "a/2!", ["a/3!"], "a/3!"),
        ("a/", "b", [], ""),
        ("", "e/2", [], ""),
    ],
)
def test_a_scan_opens_what_it_gives(prefix: str, after: str, found: list[str], opened: str) -> None:
    forest = Forest()
    assert paths(run(gathered(forest.build(TREE).scan(prefix, after)))) == found
    assert forest.ranges("open") == opened


def test_a_look_up_opens_one_range_or_none() -> None:
    forest = Forest()
    tree = forest.build(TREE)
    assert run(tree.get("c/2!")) is not None
    assert forest.ranges("open") == "c/1 c/2!"
    assert run(tree.get("z")) is None
    assert forest.ranges("open") == ""
