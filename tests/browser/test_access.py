"""Sessions, identities and settings of logins; and what the page is for somebody who is no administrator."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import HOSTILE, TIMEOUT_MS
from tests.servers.lochan import LochanServer


@pytest.fixture
def developer(browser: Browser, server: LochanServer, page: Page) -> Iterator[BrowserContext]:
    """The context of another user, who has signed in by a key of their own."""
    asked = page.request
    asked.post("/api/v1/access/users", data={"name": "grace"})
    asked.put("/api/v1/access/users/grace/policies/Developer")
    key = asked.post("/api/v1/access/users/grace/keys", data={}).json()
    context = browser.new_context(base_url=f"http://{server.api}")
    context.set_default_timeout(TIMEOUT_MS)
    given = {name: key[name] for name in ("access_key_id", "secret_access_key")}
    assert context.request.post("/api/v1/auth/login", data=given).ok
    yield context
    context.close()
    asked.delete("/api/v1/access/users/grace")


def test_a_session_is_seen_and_ended(page: Page, developer: BrowserContext) -> None:
    theirs = developer.new_page()
    theirs.goto("/repositories/shop")
    expect(theirs.get_by_role("link", name="README.md")).to_be_visible()
    page.goto("/access")
    page.get_by_role("link", name="Sessions", exact=True).click()
    page.get_by_label("Search in the sessions").fill("grace")
    row = page.get_by_role("row").filter(has_text="grace")
    expect(row).to_contain_text("access key")
    expect(row).to_contain_text("127.0.0.1")
    row.get_by_role("button", name="End").click()
    page.get_by_role("dialog").get_by_role("button", name="End").click()
    expect(page.get_by_text("No session fits.")).to_be_visible()
    theirs.reload()
    expect(theirs.get_by_role("button", name="Sign in")).to_be_visible()


def test_who_is_no_administrator_is_told_so(developer: BrowserContext) -> None:
    page = developer.new_page()
    page.goto("/access")
    page.get_by_role("link", name="your own sessions").click()
    expect(page.get_by_role("row").filter(has_text="grace")).to_have_count(1)
    expect(page.get_by_role("row").filter(has_text="admin")).to_have_count(0)
    page.goto("/access?tab=audit")
    for right in ("lake:ReadEvents", "fs:ReadEvents", "fs:ReadObject"):
        expect(page.get_by_role("alert").get_by_text(right, exact=True)).to_be_visible()
    page.goto("/events")
    expect(page.get_by_role("alert")).to_contain_text("ReadEvents")
    expect(page.get_by_text("Nothing has happened yet")).to_have_count(0)


def test_an_identity_is_linked_and_unlinked(page: Page) -> None:
    page.goto("/access?tab=signin")
    expect(page.get_by_text("Not configured.")).to_have_count(2)
    page.get_by_text("Link a user to an identity").click()
    page.get_by_label("User", exact=True).fill("admin")
    page.get_by_label("Service").fill("oidc https://login.example.org")
    page.get_by_label("Known there as").fill(HOSTILE)
    page.get_by_role("button", name="Link", exact=True).click()
    row = page.get_by_role("row").filter(has_text=HOSTILE)
    expect(row).to_contain_text("oidc https://login.example.org")
    row.get_by_role("button", name="Unlink").click()
    page.get_by_role("dialog").get_by_role("button", name="Unlink").click()
    expect(page.get_by_text(re.compile("Nobody has signed in by another service"))).to_be_visible()
