"""Nothing that is seen moves by itself while a view loads."""

import pytest
from playwright.sync_api import Page, expect

GOOD = 0.1  # what browsers call a good layout shift: the share of the view that moved, times how far
VIEWS = [
    "/",
    "/repositories/shop",
    "/repositories/shop/object?path=raw/fruit.csv",
    "/repositories/shop/commits?all=1",
    "/repositories/shop/branches",
    "/pools/logs",
    "/query?q=from+logs",
    "/operations",
]
_WATCH = """window.moved = 0;
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_jumps(page: Page, view: str) -> None:
    page.add_init_script(_WATCH)
    page.goto(view)
    expect(page.locator("h1").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    # Two frames later what came last is painted, and counted.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")
    assert page.evaluate("window.moved") < GOOD
