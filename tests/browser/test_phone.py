"""On a phone nothing needs to be scrolled sideways, but rows of data themselves."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import complaints
from tests.browser.conftest import PICTURES, TIMEOUT_MS, administrator
from tests.servers.lochan import LochanServer

WIDTH, HEIGHT = 390, 844
VIEWS = [
    "/",
    "/repositories/shop",
    "/repositories/shop?blame=1",
    "/repositories/shop/object?path=raw/fruit.csv",
    "/repositories/shop/commits?all=1",
    "/repositories/shop/commits/dev",
    "/repositories/shop/compare?right=dev",
    "/repositories/shop/branches",
    "/repositories/shop/pulls",
    "/repositories/shop/settings?tab=protection",
    "/repositories/shop/settings?tab=hooks",
    "/repositories/shop/settings?tab=import",
    "/repositories/shop/settings?tab=storage",
    "/pools/logs",
    "/query?q=from+logs",
    "/events",
    "/operations",
    "/jobs",
    "/stores",
    "/access",
    "/access?tab=groups",
    "/access?tab=sessions",
    "/access?tab=signin",
    "/access?tab=audit",
    "/access?tab=use",
    "/docs/operations/page",
]
# What can be scrolled sideways: the page, and every box in it that has no rows of data and no text to copy.
_WIDE = """() => {
    const boxes = [...document.querySelectorAll("main *")].filter((each) => {
        const style = getComputedStyle(each);
        const scrolls = ["auto", "scroll"].includes(style.overflowX) && each.scrollWidth > each.clientWidth + 1;
        const isData = each.closest("[aria-label='Rows']") || each.closest("pre, textarea, .cm-editor, nav");
        return scrolls && !isData && each.checkVisibility();
    });
    const page = document.documentElement.scrollWidth > innerWidth ? ["the page"] : [];
    return [...page, ...boxes.map((each) => `${each.tagName} ${each.className} ${each.innerText.slice(0, 60)}`)];
}"""


@pytest.fixture
def phone(browser: Browser, server: LochanServer, request: pytest.FixtureRequest) -> Iterator[Page]:
    with administrator(browser, server) as context:
        page = context.new_page()
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(TIMEOUT_MS)
        yield page
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"{request.node.name.replace('/', '-')}.png", full_page=True)


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(phone: Page, view: str) -> None:
    phone.goto(view)
    expect(phone.locator("h1").first).to_be_visible()
    expect(phone.locator("[aria-busy=true]")).to_have_count(0)
    assert phone.evaluate(_WIDE) == []


def test_objects_have_room_for_how_long_ago_they_were_changed(phone: Page, server: LochanServer) -> None:
    where = {"Bucket": "shop", "Key": "main/the long name of an object of a phone.csv"}
    with closing(server.boto3()) as s3:
        s3.put_object(**where, Body=b"1")
        phone.clock.set_fixed_time(datetime.now(UTC) + timedelta(minutes=38))
        phone.goto("/repositories/shop")
        expect(phone.get_by_role("row").filter(has_text="the long name").locator("time")).to_have_text("38 minutes ago")
        wide = phone.evaluate(_WIDE)
        s3.delete_object(**where)
    assert wide == []


def test_a_row_is_a_card_that_names_its_columns(phone: Page) -> None:
    phone.goto("/repositories/shop/branches")
    row = phone.get_by_role("row").filter(has=phone.get_by_role("link", name="dev", exact=True))
    expect(row.get_by_title("commits that main does not have")).to_be_visible()
    named = row.locator("td").evaluate_all("cells => cells.map((each) => getComputedStyle(each, '::before').content)")
    assert named[1:6] == ['"Head"', '"Ahead, behind"', '"Holds"', '"Last commit"', '"When"']
    tops = row.locator("td").evaluate_all("cells => cells.map((each) => each.getBoundingClientRect().top)")
    assert tops == sorted(set(tops)), "one below the other"
    assert complaints(phone) == []


def test_all_of_the_main_views_can_be_tapped(phone: Page) -> None:
    phone.goto("/")
    for name in ("Data", "Query", "Events", "Operations", "Access", "Help"):
        box = phone.get_by_role("navigation", name="Main").get_by_role("link", name=name).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= WIDTH


@pytest.mark.parametrize("view", ["/repositories/shop/settings?tab=hooks", "/pools/logs"])
def test_all_parts_of_a_repository_can_be_tapped(phone: Page, view: str) -> None:
    phone.goto(view)
    tabs = phone.get_by_role("navigation", name="Repository").get_by_role("link")
    expect(tabs.filter(has_text="Settings")).to_be_visible()
    boxes = [each.bounding_box() for each in tabs.all()]
    assert len(boxes) >= 6
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= WIDTH for box in boxes), boxes


def test_who_changed_what_can_be_read(phone: Page) -> None:
    """A name, and below each other the commit and its time; size and date of the file give way."""
    phone.goto("/repositories/shop?prefix=raw/&blame=1")
    row = phone.get_by_role("row").filter(has=phone.get_by_role("link", name="fruit.csv"))
    commit = row.get_by_text("first data")
    expect(commit).to_be_visible()
    when = row.locator("time").last
    for part in (row.get_by_role("link", name="fruit.csv"), commit, when):
        box = part.bounding_box()
        assert box and box["x"] + box["width"] <= WIDTH, box
    above, below = commit.bounding_box(), when.bounding_box()
    assert above and below and above["y"] + above["height"] <= below["y"] + 1
    assert complaints(phone) == []
