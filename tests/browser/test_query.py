"""What a person does with the rows of a query: every value leads to the query that it is asked for."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.servers.lochan import LochanServer

PAGE = 1_000
BIG = 9_007_199_254_740_993  # a number of the browser would round it


@pytest.fixture(scope="module")
def wide(server: LochanServer) -> str:
    rows = [{"n": BIG + n, "at": f"2026-11-01T00:00:{n % 60:02}Z", "a b": {"c": n % 3}} for n in range(2 * PAGE + 5)]
    del rows[0]["a b"]
    body = "".join(json.dumps(row) + "\n" for row in rows).encode()
    server.lochan("load", "wide", "-", "--key", "n", stdin=body)
    return "wide"


def _query(page: Page, text: str) -> None:
    page.goto("/query")
    page.get_by_label("Query", exact=True).fill(text)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"rows? in "))


def _menu(page: Page, value: str, item: str) -> None:
    page.get_by_role("region", name="Rows").get_by_role("cell", name=value, exact=True).first.click(button="right")
    page.get_by_role("menuitem", name=item, exact=True).click()


def test_an_int_of_64_bits_is_shown_and_filtered_by_exactly(page: Page, wide: str) -> None:
    _query(page, f"from {wide} | head 3")
    expect(page.get_by_role("cell", name=str(BIG), exact=True)).to_be_visible()
    expect(page.get_by_role("cell", name=str(BIG + 2), exact=True)).to_be_visible()
    _menu(page, str(BIG + 1), "Only this value")
    expect(page.get_by_role("status")).to_contain_text("1 row in")
    expect(page.get_by_role("cell", name=str(BIG + 1), exact=True)).to_be_visible()
    page.goto(f"/pools/{wide}")
    expect(page.get_by_text(str(BIG), exact=True).first).to_be_visible()


def test_a_time_can_be_filtered_by(page: Page) -> None:
    _query(page, "from logs | sort ts")
    _menu(page, "2026-11-01T10:01:00Z", "Only this value")
    expect(page.get_by_role("status")).to_contain_text("1 row in")
    _query(page, "from logs | sort ts")
    _menu(page, "2026-11-01T10:01:00Z", "Without this value")
    expect(page.get_by_role("status")).to_contain_text("3 rows in")


def test_rows_without_a_field_are_kept_and_found(page: Page) -> None:
    _query(page, "from logs | sort ts | cut ts, host")
    _menu(page, "web-1", "Without this value")
    expect(page.get_by_role("status")).to_contain_text("3 rows in")  # one of them has no host
    page.get_by_role("row").filter(has_text="10:02:00Z").get_by_role("cell").last.click(button="right")
    page.get_by_role("menuitem", name="Only rows without it").click()
    expect(page.get_by_role("status")).to_contain_text("1 row in")


def test_a_record_is_filtered_by_what_is_inside_it(page: Page, wide: str) -> None:
    _query(page, "from logs | sort ts | cut ts, user")
    page.get_by_role("cell", name='{"id":7}').click(button="right")
    page.get_by_role("menuitem", name="user.id").click()
    expect(page.get_by_role("menu", name="Value of user.id")).to_be_visible()
    page.get_by_role("menuitem", name="Only this value").click()
    expect(page.get_by_label("Query", exact=True)).to_contain_text("where user.id == 7")
    expect(page.get_by_role("status")).to_contain_text("1 row in")
    # The same in the tree; a name that is no word is quoted.
    _query(page, f"from {wide} | head 10")
    page.get_by_role("button", name="Tree").click()
    expect(page).to_have_url(re.compile("view=tree"))
    tree = page.get_by_role("region", name="Rows as trees")
    tree.locator("summary").nth(1).click()
    tree.get_by_role("button", name="1", exact=True).first.click()
    page.get_by_role("menuitem", name="Count by a b.c").click()
    expect(page.get_by_role("status")).to_contain_text("4 rows in")  # three values, and the row without


def test_a_query_of_sql_is_extended_as_sql(page: Page) -> None:
    _query(page, "select ts, host, status from logs order by ts")
    _menu(page, "web-2", "Only this value")
    expect(page.get_by_role("status")).to_contain_text("1 row in")
    _query(page, "select ts, host, status from logs order by ts")
    _menu(page, "web-2", "Count by host")
    expect(page.get_by_role("status")).to_contain_text("4 rows in")


def test_a_field_has_a_menu_too(page: Page) -> None:
    _query(page, "from logs | cut host, ms")
    page.get_by_role("button", name="ms", exact=True).click()
    page.get_by_role("menuitem", name="Sort, greatest first").click()
    expect(page.get_by_label("Query", exact=True)).to_contain_text("sort -r ms")
    expect(page.get_by_role("region", name="Rows").get_by_role("row").nth(1)).to_contain_text("80.25")
    page.get_by_role("button", name="ms", exact=True).click()
    page.get_by_role("menuitem", name="Hide the column").click()
    expect(page.get_by_role("columnheader", name="ms")).to_have_count(0)
    page.reload()  # what is hidden is a part of the address
    expect(page.get_by_role("columnheader", name="host")).to_be_visible()
    expect(page.get_by_role("columnheader", name="ms")).to_have_count(0)


def test_more_rows_are_shown(page: Page, wide: str) -> None:
    _query(page, f"from {wide}")
    expect(page.get_by_role("status")).to_contain_text("The first 1,000 rows")
    page.get_by_role("button", name="Show 1,000 more").click()
    expect(page.get_by_role("status")).to_contain_text("The first 2,000 rows")
    page.get_by_role("button", name="Show 1,000 more").click()
    expect(page.get_by_role("status")).to_contain_text("2,005 rows in")
    expect(page.get_by_role("button", name="Show 1,000 more")).to_have_count(0)


def test_a_histogram_is_brushed_by_the_keyboard(page: Page, wide: str) -> None:
    _query(page, f"from {wide} | where n < {BIG + 500}")
    chart = page.get_by_role("img", name=re.compile("Rows over n"))
    chart.press("ArrowRight")
    chart.press("Shift+ArrowRight")
    expect(page.get_by_text(re.compile("^keep "))).to_be_visible()
    chart.press("Enter")
    expect(page.get_by_label("Query", exact=True)).to_contain_text(re.compile(r"where n >= \d+ and n < \d+"))
