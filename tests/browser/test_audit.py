"""The audit on the page: who did what, when, from where, and whether it was allowed."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.axe import complaints
from tests.browser.conftest import HOSTILE, administrator
from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server

JSON = {"content-type": "application/json"}
MANY = 230


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    """One that writes down at once what was asked of it."""
    with lochan_server(tmp_path_factory.mktemp("audit") / "lake", env={"LOCHAN_USAGE__FLUSH_S": "0.1"}) as running:
        running.lochan("repo", "create", "shop")
        yield running


@pytest.fixture(scope="module")
def signed_in(browser: Browser, server: LochanServer) -> Iterator[BrowserContext]:
    with administrator(browser, server) as context:
        yield context


@pytest.fixture(scope="module")
def denied(server: LochanServer, signed_in: BrowserContext) -> str:
    """A user with few rights, who has asked for more: twice denied, once for what is not there."""
    server.lochan("auth", "users", "create", "grace")
    server.lochan("auth", "attach", "grace", "Analyst")
    key = json.loads(server.lochan("auth", "keys", "create", "grace", "-f", "json"))
    grace = Client(server.api, key["access_key_id"], key["secret_access_key"])
    text = json.dumps({"name": HOSTILE}).encode()
    assert grace.ask("POST", "/api/v1/access/users", text, **JSON).status == 401
    below = "/api/v1/repositories/shop/branches/main/objects?path="
    assert grace.ask("POST", below + quote(HOSTILE), b"1", **JSON).status == 401
    assert grace.ask("GET", "/api/v1/repositories/shop/branches/nowhere").status == 404
    _noted(signed_in, 3, "user=grace")
    return "grace"


def _noted(context: BrowserContext, count: int, wanted: str) -> None:
    """A server writes rows behind its answers."""
    page = context.new_page()
    for _ in range(600):
        entries = context.request.get(f"/api/v1/audit?limit=1000&{wanted}").json()["entries"]
        if len(entries) == count:
            break
        page.wait_for_timeout(100)
    page.close()
    assert len(entries) == count, entries


def test_the_administrator_sees_what_was_denied(page: Page, denied: str) -> None:
    page.goto("/access")
    page.get_by_role("link", name="Audit", exact=True).click()
    page.get_by_label("Only of a user").fill(denied)
    page.get_by_label("Only of a user").press("Enter")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_label("Outcome").select_option("denied")
    expect(rows).to_have_count(2)
    assert set(re.findall(r"[?&](user|outcome)=(\w+)", page.url)) == {("user", "grace"), ("outcome", "denied")}
    created = rows.filter(has_text="Access.create_user")
    for text in (denied, HOSTILE, "rest", "127.0.0.1", "denied 401"):  # a name is shown as a text
        expect(created).to_contain_text(text)
    expect(rows.filter(has_text=f"shop@main/{HOSTILE}")).to_contain_text("denied 401")
    at = created.locator("time").get_attribute("datetime")
    assert at is not None and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", at)

    page.reload()  # the address is the state
    expect(page.get_by_label("Only of a user")).to_have_value(denied)
    expect(page.get_by_label("Outcome")).to_have_value("denied")
    expect(rows).to_have_count(2)
    page.get_by_role("link", name="shop", exact=True).click()
    expect(page.get_by_label("Only in a repository or pool")).to_have_value("shop")
    expect(rows).to_have_count(1)
    page.go_back()
    expect(rows).to_have_count(2)
    page.get_by_label("Outcome").select_option("failed")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("failed 4")


def test_the_key_that_was_used_is_named(page: Page, server: LochanServer, denied: str) -> None:
    page.goto("/access?tab=audit&user=admin")
    rows = page.locator("tbody tr")
    expect(rows.filter(has_text=server.access_key).first).to_be_visible()
    page.goto(f"/access?tab=audit&user={denied}")
    expect(rows).to_have_count(3)
    keys = {row.locator("code").inner_text() for row in rows.all()}
    assert len(keys) == 1 and server.access_key not in keys


def test_days_are_asked_for(page: Page, denied: str) -> None:
    page.goto(f"/access?tab=audit&user={denied}")
    expect(page.get_by_label("How far back")).to_have_value("7")
    with page.expect_request(re.compile(r"/api/v1/audit\?.*days=30")):
        page.get_by_label("How far back").select_option("30")
    expect(page).to_have_url(re.compile("days=30"))
    with page.expect_request(re.compile(r"/api/v1/audit\?.*days=0\.5")):
        page.goto(f"/access?tab=audit&user={denied}&days=0.5")
    expect(page.get_by_label("How far back")).to_have_value("0.5")
    expect(page.locator("tbody tr")).to_have_count(3)


def test_more_is_shown_page_by_page(page: Page, server: LochanServer, signed_in: BrowserContext) -> None:
    admin = Client(server.api, server.access_key, server.secret_key)
    for number in range(MANY):
        path = f"/api/v1/repositories/shop/branches/page-{number:03}"
        assert admin.ask("GET", path).status == 404
    _noted(signed_in, MANY, "user=admin&outcome=failed")
    page.goto("/access?tab=audit&user=admin&outcome=failed")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(100)
    assert admin.ask("GET", "/api/v1/repositories/shop/branches/later").status == 404
    _noted(signed_in, MANY + 1, "user=admin&outcome=failed")  # and pages go on where they were
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(200)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(MANY)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    found = re.findall(r"shop@page-(\d+)", " ".join(rows.all_inner_texts()))
    assert found == [f"{number:03}" for number in reversed(range(MANY))]
    page.get_by_role("button", name="Refresh").click()
    expect(rows.first).to_contain_text("shop@later")
    expect(rows).to_have_count(100)  # the first page of what is there now


def test_nothing_fits_and_what_cannot_be_meant(page: Page, denied: str) -> None:
    page.goto("/access?tab=audit&user=nobody-of-this-name")
    expect(page.get_by_text("Nothing fits in the last 7 days.")).to_be_visible()
    page.get_by_role("link", name="Show all.").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.get_by_label("Only of a user")).to_have_value("")
    page.goto("/access?tab=audit&outcome=perhaps")
    expect(page.get_by_role("alert")).to_contain_text("'perhaps' is no outcome")
    expect(page.get_by_label("Outcome")).to_have_value("perhaps")
    page.get_by_label("Outcome").select_option("denied")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("row").filter(has_text=denied).first).to_be_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everybody_can_read_it(page: Page, denied: str, dark: bool) -> None:
    """With every outcome in it; and on a phone the table scrolls, not the page."""
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.goto(f"/access?tab=audit&user={denied}")
    expect(page.locator("tbody tr")).to_have_count(3)
    assert complaints(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert complaints(page) == []
