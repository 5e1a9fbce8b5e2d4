"""Pictures of screens for the README and the documentation: `PICTURES=1 make browser` keeps them in docs/pictures."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import lochan
from tests.browser.conftest import PICTURES, TIMEOUT_MS
from tests.browser.sample_lake import fill
from tests.servers.lochan import lochan_server

KEPT = Path(__file__).parents[2] / "docs" / "pictures" if os.environ.get("PICTURES") else PICTURES
BYTES_MAX = 150_000

SHOWN: dict[str, tuple[str, Callable[[Page], None]]] = {
    "pool": ("/pools/web-logs", lambda page: expect(page.get_by_role("cell", name="/checkout").first).to_be_visible()),
    "query": (
        "/query?q=from%20web-logs%0A%7C%20status%20%3E%3D%20500%0A%7C%20cut%20ts,%20host,%20path,%20ms,%20error.upstream",
        lambda page: expect(page.get_by_role("img", name="Rows over ts")).to_be_visible(),
    ),
    "commits": (
        "/repositories/shop/commits?all=1",
        lambda page: expect(page.get_by_role("link", name="Merge 'stock' into 'main'")).to_be_visible(),
    ),
    "pull": ("/repositories/shop/pulls", lambda page: _open_pull(page)),
    "object": (
        "/repositories/shop/object?path=clean/sales.parquet",
        lambda page: expect(page.get_by_role("columnheader", name="euros")).to_be_visible(),
    ),
    "compare": ("/repositories/shop/compare?right=new-prices", lambda page: _show_rows(page)),
}


@pytest.fixture(scope="module")
def sample(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with lochan_server(tmp_path_factory.mktemp("sample")) as server:
        url = f"http://{server.api}"
        with lochan.connect(url, access_key=server.access_key, secret_key=server.secret_key) as lake:
            fill(lake)
        context = browser.new_context(base_url=f"http://{server.api}", viewport={"width": 1240, "height": 820})
        given = {"access_key_id": server.access_key, "secret_access_key": server.secret_key}
        assert context.request.post("/api/v1/auth/login", data=given).ok
        yield context
        context.close()


@pytest.mark.parametrize("name", SHOWN)
def test_picture(sample: BrowserContext, name: str) -> None:
    path, ready = SHOWN[name]
    page = sample.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(path)
    ready(page)
    KEPT.mkdir(parents=True, exist_ok=True)
    picture = page.screenshot(path=KEPT / f"{name}.png")
    page.close()
    assert len(picture) < BYTES_MAX


def _open_pull(page: Page) -> None:
    page.get_by_role("link", name="Prices for the winter").click()
    expect(page.get_by_text("none without a price")).to_be_visible()


def _show_rows(page: Page) -> None:
    page.get_by_role("button", name="What changed in clean/prices.csv").click()
    page.get_by_label("Rows are the same if these fields are").fill("name")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("+1 rows added")).to_be_visible()
    page.get_by_role("cell", name="raw/2026-11-01/deliveries.csv").scroll_into_view_if_needed()
