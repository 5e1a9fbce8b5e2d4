"""What a person looks at to understand: plans, empty views, errors, stores, use, and the page before its script."""

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import HOSTILE
from tests.servers.lochan import LochanServer, lochan_server

TWO_OBJECTS = "from plans | ts > 2026-11-02T00:00:00Z"


def test_a_plan_says_what_is_skipped_and_why(page: Page, server: LochanServer) -> None:
    for day in (1, 2):
        rows = json.dumps({"ts": f"2026-11-0{day}T10:00:00Z", "n": day})
        server.lochan("load", "plans", "-", "--key", "ts:time", stdin=rows.encode())
    page.goto(f"/query?q={TWO_OBJECTS}")
    page.get_by_role("button", name="Plan", exact=True).click()
    plan = page.get_by_role("region", name="Plan")
    expect(plan.get_by_role("row", name=re.compile("opened 1 of 2"))).to_be_visible()
    expect(plan.get_by_role("row", name=re.compile("skipped by the span of the key 1"))).to_be_visible()
    expect(plan.get_by_text("at most 1 row")).to_be_visible()
    statement = plan.get_by_text(re.compile("^SELECT"))
    expect(statement).to_be_hidden()  # folded away
    plan.get_by_text("The SQL that duckdb runs").click()
    expect(statement).to_be_visible()
    assert re.search(r"\nFROM ", statement.inner_text())
    plan.get_by_text(re.compile("^scan 1: 1 object")).click()
    expect(plan.get_by_text("ts", exact=True)).to_be_visible()
    plan.get_by_role("button", name="Close the plan").click()
    expect(plan).to_have_count(0)


def test_an_empty_query_offers_some(page: Page) -> None:
    page.goto("/query")
    offered = page.get_by_role("region", name="Queries to begin with")
    offered.get_by_role("button", name=re.compile("^How many rows of each shape")).click()
    expect(page.get_by_label("Query", exact=True)).to_contain_text("typeof(this)")
    expect(page.get_by_role("columnheader", name="shape")).to_be_visible()
    expect(offered).to_have_count(0)
    page.goto("/query?q=from%20logs%20|%20status%20==%20999")
    expect(page.get_by_text("No row is left.")).to_be_visible()


def test_rows_are_matched_by_a_field_that_is_offered(page: Page) -> None:
    page.goto("/repositories/shop/compare?right=dev")
    page.get_by_role("button", name="What changed in raw/fruit.csv").click()
    page.get_by_role("button", name="id", exact=True).click()
    expect(page.get_by_role("row", name="changed 1 apple plum", exact=True)).to_be_visible()
    expect(page.get_by_text("~1 changed").last).to_be_visible()


def test_stores_say_where_the_lake_lies(page: Page, server: LochanServer, tmp_path: Path) -> None:
    server.lochan("repo", "create", "elsewhere", "--storage", str(tmp_path / "elsewhere"))
    page.goto("/operations")
    page.get_by_role("link", name="Stores").click()
    lake = page.get_by_role("region", name="The lake")
    expect(lake.get_by_text(f"file://{server.lake}", exact=True)).to_be_visible()
    expect(lake.get_by_text("It answers.")).to_be_visible()
    expect(lake.get_by_role("link", name="logs", exact=True)).to_be_visible()
    own = page.get_by_role("region", name=f"file://{tmp_path}/elsewhere")
    expect(own.get_by_text("1 repository or pool")).to_be_visible()
    own.get_by_role("link", name="elsewhere", exact=True).click()
    expect(page).to_have_url(re.compile("/repositories/elsewhere$"))


def test_use_is_told_by_user(browser: Browser, tmp_path: Path) -> None:
    with lochan_server(tmp_path / "lake", env={"LOCHAN_USAGE__FLUSH_S": "1"}) as server:
        context = browser.new_context(base_url=f"http://{server.api}")
        keys = {"access_key_id": server.access_key, "secret_access_key": server.secret_key}
        assert context.request.post("/api/v1/auth/login", data=keys).ok
        assert context.request.post("/api/v1/repos", data={"name": "used"}).ok
        assert context.request.get("/api/v1/repos/used/branches").ok
        page = context.new_page()
        page.goto("/access?tab=use")
        # It is written once a second here; the view itself does not ask again.
        for _ in range(60):
            expect(page.locator("[aria-busy=true]")).to_have_count(0)
            if page.get_by_role("link", name="admin").is_visible():
                break
            page.wait_for_timeout(500)
            page.reload()
        row = page.get_by_role("row", name=re.compile("^admin"))
        expect(row).to_contain_text("used ")
        page.get_by_role("link", name="Today").click()
        expect(page).to_have_url(re.compile("days=1"))
        expect(row).to_be_visible()
        row.get_by_role("link", name="admin").click()
        expect(page.get_by_role("cell", name="Repository.branches").first).to_be_visible()
        context.close()


def test_events_name_their_repository(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "eventful")
    page.goto("/events")
    expect(page.get_by_role("link", name="eventful", exact=True).first).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    server.lochan("fs", "upload", "-", "eventful/while-paused.txt", stdin=b"x")
    page.get_by_role("button", name=re.compile(r"Go on \(\d+ new\)")).click()
    expect(page.get_by_text("while-paused.txt")).to_be_visible()


def test_what_is_not_there_is_said_once(page: Page) -> None:
    page.goto("/repositories/nothing-of-this-name")
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(page.get_by_role("alert").locator("code")).to_have_text("lochan repo list")
    page.get_by_role("link", name="All repositories and pools").click()
    expect(page.get_by_role("link", name="shop", exact=True)).to_be_visible()
    page.goto("/access?tab=nothing")
    expect(page.get_by_role("link", name="Users")).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("button", name="Create a user")).to_be_visible()


def test_something_is_painted_before_the_script(browser: Browser, server: LochanServer) -> None:
    context = browser.new_context(base_url=f"http://{server.api}", java_script_enabled=False)
    page = context.new_page()
    page.goto("/query")
    expect(page.get_by_role("banner")).to_contain_text("Lochan")
    context.close()


def test_on_a_phone_nothing_is_wider_than_the_page(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for view in ("/", "/repositories/shop", "/repositories/shop/commits?all=1", "/query", "/stores", "/access?tab=use"):
        page.goto(view)
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        expect(page.locator("h1").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
    top = page.get_by_role("banner").bounding_box()
    assert top is not None and top["height"] < 100  # two lines: who and what, and where to go


def test_names_stay_text_in_examples_and_errors(page: Page) -> None:
    page.goto(f"/repositories/shop/object?path={HOSTILE}&ref={HOSTILE}")
    expect(page.get_by_role("alert").first).to_contain_text("<img src=x")
