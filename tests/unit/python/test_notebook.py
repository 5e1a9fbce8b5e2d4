"""What a notebook shows: tables, differences in colours, a commit graph; and nothing that somebody smuggled in."""

from __future__ import annotations

import pytest

import lochan
from tests.unit.notebook.test_html import read

HOSTILE = '<img src=x onerror="alert(1)">'


def html(shown: object) -> str:
    found = shown._repr_html_()  # type: ignore[attr-defined]
    assert isinstance(found, str)
    assert "onerror" not in found or "&lt;img" in found
    read(found)
    return found


@pytest.fixture
def hostile(shop: lochan.Repository) -> lochan.Repository:
    main = shop.branch("main")
    main.put(HOSTILE, b"x", content_type=HOSTILE, metadata={"a": HOSTILE})
    main.commit(HOSTILE, lochan.CommitOptions(author=HOSTILE, metadata={"a": HOSTILE}))
    return shop


def test_lists_are_tables_and_nothing_is_taken_away(hostile: lochan.Repository) -> None:
    listed = hostile.branch("main").list()
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;" in html(listed)
    assert html(listed) == html(listed), "it can be looked at twice"
    assert [each.path for each in listed] == [HOSTILE, "README.md", "raw/fruit.csv"]
    assert html(listed) == "<i>nothing</i>"
    assert repr(hostile.branches()) == "<Repository.branches: iterate over it, or make a list>"


def test_long_lists_say_so(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    for number in range(55):
        main.put(f"{number:03}", b"")
    listed = main.list()
    assert "the first 50; there are more" in html(listed)
    assert len(list(listed)) == 57


def test_differences_have_colours(hostile: lochan.Repository) -> None:
    main, dev = hostile.branch("main"), hostile.create_branch("dev", "main")
    dev.put("README.md", b"new")
    dev.delete("raw/fruit.csv")
    dev.put("new.txt", b"")
    assert html(dev.status()).count("color:#") > 2
    dev.commit("three changes")
    found = html(main.diff(dev))
    assert [found.find(colour) for colour in ("#9a6700", "#1a7f37", "#cf222e")] == sorted(
        found.find(colour) for colour in ("#9a6700", "#1a7f37", "#cf222e")
    )
    assert -1 not in [found.find(colour) for colour in ("#9a6700", "#1a7f37", "#cf222e")]


def test_a_history_is_a_graph(hostile: lochan.Repository) -> None:
    main, dev = hostile.branch("main"), hostile.create_branch("dev", "main")
    dev.put("a", b"")
    dev.commit("on dev")
    main.put("b", b"")
    main.commit("on main")
    main.merge(dev)
    found = html(main.log_graph())
    assert "|\\" in found and "|/" in found and "on dev" in found
    assert "|\\" in html(main.log())
    assert "on main" in html(main), "a branch is shown with its last commits"
    assert "dev" in html(hostile) and "<table>" in html(hostile)


def test_results_and_handles(lake: lochan.Lake, hostile: lochan.Repository) -> None:
    assert "shop" in html(lake)
    assert "message" in html(hostile.branch("main").resolve())
    assert html(hostile.branch("main").stat(HOSTILE)).count("&lt;img") == 3
    assert lake.repository("nowhere")._repr_html_() is None
    assert repr(lake.repository("nowhere")) == "<Repository nowhere>"


def test_rows_are_a_table(lake: lochan.Lake) -> None:
    pool = lake.create_pool("logs", key="k")
    pool.load([{"k": number, HOSTILE: HOSTILE} for number in range(30)])
    asked = lake.query("from logs")
    found = html(asked)
    assert found.count("<tr>") == 21 and "the first 20 rows" in found
    assert len(list(asked.rows())) == 30, "they can still be read"
    assert asked._repr_html_() is None, "and are not shown a second time"
    assert repr(asked) == f"<Result of duckdb: k, {HOSTILE}>"
    assert "no rows" in html(lake.query("from logs | k > 100"))
    assert "value" in html(lake.query("from logs | yield k"))
    pool.create_branch("dev")
    pool.load([{"k": 99}], branch="dev")
    with lake.diff_rows("logs@main", "logs@dev") as changes:
        assert "1 added, 0 removed" in html(changes)
