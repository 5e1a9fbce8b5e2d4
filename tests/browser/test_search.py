"""Names are searched by the server: what is behind the first thousand is found as well."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import lochan
from tests.browser.conftest import TIMEOUT_MS, administrator
from tests.servers.lochan import LochanServer, lochan_server

BRANCHES = 1_020  # more than any list of the page asks for at once
REPOSITORIES = 210  # more than the first view shows
LAST = "zz-last-of-all"
STATEMENTS = b'{"statements": [{"effect": "allow", "actions": ["fs:Read*"], "resources": ["*"]}]}'


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(Path(tmp_path_factory.mktemp("crowd"))) as server:
        with ThreadPoolExecutor(1) as beside:  # the browser has an event loop of its own on this thread
            beside.submit(_fill, server).result()
        yield server


def _fill(server: LochanServer) -> None:
    with lochan.connect(f"http://{server.api}", access_key=server.access_key, secret_key=server.secret_key) as lake:
        many = lake.create_repository("many")
        with ThreadPoolExecutor(8) as several:
            list(several.map(many.create_branch, [*(f"branch-{number:04}" for number in range(BRANCHES)), LAST]))
            list(several.map(lake.create_repository, (f"part-{number:03}" for number in range(REPOSITORIES))))
        lake.create_pool("a-pool-of-rows", key="n")
        lake.repository("a-pool-of-rows").create_branch(LAST)
        lake.create_repository(LAST)
        for name in ("ann", "joanna", "teo"):
            lake.access.create_user(name)
        for name in ("ShopReader", "ShopWriter"):
            lake.access.put_policy(name, STATEMENTS)


@pytest.fixture
def page(browser: Browser, crowd: LochanServer) -> Iterator[Page]:
    with administrator(browser, crowd) as context:
        yield _tab(context)


def _tab(context: BrowserContext) -> Page:
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    return page


def test_repositories_beyond_the_first_page(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("link", name="part-000")).to_be_visible()
    expect(page.get_by_role("link", name=LAST)).to_have_count(0)
    expect(page.get_by_role("button", name="Show 200 more")).to_be_visible()
    page.get_by_label("Search by name").fill("LAST-of")
    expect(page.get_by_role("link", name=LAST)).to_be_visible()
    expect(page.get_by_role("link", name="part-000")).to_have_count(0)
    expect(page).to_have_url(re.compile("search=LAST-of"))  # so that it can be shared
    page.reload()
    expect(page.get_by_role("link", name=LAST)).to_be_visible()
    page.get_by_label("Search by name").fill("nothing-like-it")
    expect(page.get_by_text("Nothing has a name with “nothing-like-it” in it.")).to_be_visible()
    page.get_by_role("link", name="Show everything").click()
    page.get_by_role("button", name="Pools").click()
    expect(page.get_by_role("link", name="a-pool-of-rows")).to_be_visible()
    expect(page.get_by_role("link", name="part-000")).to_have_count(0)


def test_the_palette_finds_every_name(page: Page) -> None:
    page.goto("/repositories/many/branches")
    expect(page.get_by_role("link", name="branch-0000")).to_be_visible()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Go to")
    field.fill("last branch")  # the kind is a word of its own
    expect(page.get_by_role("option", name=LAST)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/repositories/many\?ref={LAST}$"))
    page.keyboard.press("Control+k")
    field.fill("part-209")
    expect(page.get_by_role("option", name="part-209")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="part-209")).to_be_visible()


def test_branches_beyond_the_first_page(page: Page) -> None:
    page.goto("/repositories/many/branches")
    expect(page.get_by_role("link", name="branch-0000")).to_be_visible()
    assert page.get_by_role("link", name=LAST).count() == 0
    page.get_by_role("button", name="Show 100 more").click()
    expect(page.get_by_role("link", name="branch-0150")).to_be_visible()
    page.get_by_label("Search branches and tags").fill("last")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=LAST))
    expect(row.get_by_title("commits that main does not have")).to_be_visible()  # the default one is not in the list
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name=f"Restore {LAST}").click()
    expect(row).to_have_count(1)


@pytest.mark.parametrize(
    "view, field",
    [
        ("/repositories/many/compare", "to"),
        ("/repositories/many/pulls", "From"),
        ("/repositories/many", "Branch, tag or commit"),
        ("/repositories/many/branches", "From"),
        ("/repositories/many/commits/main", "Branch"),
        ("/repositories/many/settings?tab=import", "Branch"),
        ("/pools/a-pool-of-rows", "Branch"),
    ],
)
def test_every_field_for_a_branch_offers_all(page: Page, view: str, field: str) -> None:
    page.goto(view)
    page.get_by_label(field, exact=True).fill("last-of")
    expect(page.locator(f"datalist option[value={LAST}]")).to_have_count(1)


def test_users_are_searched(page: Page) -> None:
    page.goto("/access")
    page.get_by_label("Search users").fill("ANN")
    expect(page.get_by_role("cell", name="joanna", exact=True)).to_be_visible()
    expect(page.get_by_role("cell", name="teo", exact=True)).to_have_count(0)


def test_policies_are_searched(page: Page) -> None:
    page.goto("/access?tab=policies")
    summaries = page.locator("summary")
    expect(summaries.filter(has_text="Admin").first).to_be_visible()
    page.get_by_label("Search policies").fill("SHOPR")
    expect(summaries).to_have_text([re.compile("ShopReader"), re.compile("Create or replace a policy")])
    page.get_by_label("Search policies").fill("nothing-like-it")
    expect(page.get_by_text("No policy has “nothing-like-it” in the name.")).to_be_visible()
    page.goto("/access")
    with page.expect_request(re.compile(r"/access/policies\?contains=writer")):
        page.get_by_label("Give a policy to teo").fill("writer")
    expect(page.locator("datalist option[value=ShopWriter]")).to_have_count(1)
    page.get_by_label("Give a policy to teo").fill("ShopWriter")
    page.get_by_label("Give a policy to teo").press("Enter")
    expect(page.get_by_role("button", name="Take ShopWriter from teo")).to_be_visible()


def test_events_are_of_any_repository(page: Page) -> None:
    page.goto("/events")
    field = page.get_by_label("Only of a repository or pool")
    with page.expect_request(re.compile(r"/repos\?contains=last-of")):
        field.fill("last-of")
    expect(page.locator(f"datalist option[value={LAST}]")).to_have_count(1)
    field.fill("a-pool-of-rows")
    field.press("Enter")
    expect(page.get_by_role("link", name="a-pool-of-rows").first).to_have_attribute("href", "/pools/a-pool-of-rows")


def test_a_query_is_completed_by_any_name(page: Page) -> None:
    """Only names that fit are asked for, however many there are."""
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.url) if re.search(r"/(repos|pool)(\?|$)", request.url) else None
    )
    page.goto("/query")
    expect(page.get_by_role("button", name=re.compile("The first rows of a-pool-of-rows"))).to_be_visible()
    page.get_by_label("Query", exact=True).press_sequentially("from last-of")
    page.get_by_role("option", name=LAST).click()
    expect(page.get_by_label("Query", exact=True)).to_have_text(f"from {LAST}")
    assert any(url.endswith("/repos?contains=last-of") for url in asked), asked
