"""The documentation inside the page: found by any of its words, linked to the place, and the way back from nowhere."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import HOSTILE


def test_help_is_found_by_what_it_says(page: Page) -> None:
    page.goto("/docs")
    page.get_by_label("Search the documentation").fill("sweep grace")
    hit = page.locator("main ol a").first
    expect(hit).to_be_visible()
    expect(page.locator("main ol li").first.locator("mark").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?search=sweep"))
    page.reload()  # the address is the state
    expect(page.get_by_label("Search the documentation")).to_have_value("sweep grace")
    name = hit.inner_text().split("›")[0].strip()
    hit.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.go_back()
    expect(hit).to_be_visible()
    page.get_by_label("Search the documentation").fill(HOSTILE)
    expect(page.get_by_text("No section of the documentation has all of these words")).to_be_visible()


def test_a_link_leads_to_the_place(page: Page) -> None:
    page.goto("/docs/operations/access#resources")
    heading = page.get_by_role("heading", name="Resources", exact=True)
    expect(heading).to_be_in_viewport()
    page.evaluate("window.stays = 1")
    page.goto("/docs/api/rest")
    page.evaluate("window.stays = 1")
    page.locator('main a[href="/docs/operations/access#resources"]').first.click()
    expect(heading).to_be_in_viewport()
    assert page.evaluate("window.stays") == 1  # the page was not loaded again
    page.get_by_role("link", name="Backup and restore", exact=True).click()
    expect(page.get_by_role("heading", name="Backup", level=1)).to_be_in_viewport()  # another view begins at its top


def test_formats_and_design_are_there(page: Page) -> None:
    page.goto("/docs/design/0001-journal")
    expect(page.get_by_role("heading", level=1)).to_contain_text("ournal")
    page.goto("/docs/architecture")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="No such page")).to_have_count(0)


def test_an_address_that_is_none_leads_back(page: Page) -> None:
    answer = page.goto("/repositorys/shop")
    assert answer is not None and answer.status == 404
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    page.get_by_role("link", name="Go to the list").click()
    expect(page.get_by_role("link", name="shop", exact=True)).to_be_visible()
    program = page.request.get("/repositorys/shop", headers={"accept": "*/*"})
    assert (program.status, program.text()) == (404, "Not Found\n")
