"""What people do on the page, in a real browser against a real server."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import HOSTILE
from tests.servers.lochan import LochanServer


def test_sign_in_and_out(browser: Browser, server: LochanServer) -> None:
    context = browser.new_context(base_url=f"http://{server.api}")
    page = context.new_page()
    page.goto("/repositories/shop")
    page.get_by_label("Access key").fill(server.access_key)
    page.get_by_label("Secret").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("is wrong")
    page.get_by_label("Secret").fill(server.secret_key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="README.md")).to_be_visible()  # where the link led
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Access key")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Access key")).to_be_visible()
    context.close()


def test_list_and_search(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("link", name="shop", exact=True)).to_be_visible()
    page.get_by_label("Search by name").fill("log")
    expect(page.get_by_role("link", name="logs", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="shop", exact=True)).to_have_count(0)
    page.reload()  # the address is the state
    expect(page.get_by_label("Search by name")).to_have_value("log")


def test_create_and_delete(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Create").first.click()
    page.get_by_label("Name", exact=True).fill("X")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_be_visible()  # it says what a name may be
    page.get_by_label("Name", exact=True).fill("made-here")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    expect(page.get_by_text("There are no objects here yet")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("button", name="Delete this repository").click()
    delete = page.get_by_role("dialog").get_by_role("button", name="Delete this repository")
    expect(delete).to_be_disabled()
    page.get_by_label("Type made-here to confirm").fill("made-here")
    delete.click()
    expect(page.get_by_role("heading", name="Data")).to_be_visible()
    expect(page.get_by_role("link", name="made-here")).to_have_count(0)
    page.get_by_text("Deleted, and not gone yet").click()
    page.get_by_role("button", name="Restore made-here").click()
    expect(page.get_by_text("There are no objects here yet")).to_be_visible()
    assert page.request.delete("/api/v1/repos/made-here").ok


def test_browse_and_preview(page: Page) -> None:
    page.goto("/repositories/shop")
    page.get_by_role("link", name="raw/").click()
    page.get_by_role("link", name="fruit.csv").click()
    expect(page.get_by_role("cell", name="apple")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^[0-9a-f]{10}$")).first).to_be_visible()
    page.go_back()
    expect(page.get_by_role("link", name="fruit.csv")).to_be_visible()


def test_names_and_bodies_are_text(page: Page) -> None:
    page.goto("/repositories/shop")
    page.get_by_role("link", name=f"{HOSTILE}.txt").click()
    expect(page.locator("pre").first).to_contain_text(HOSTILE)


def test_upload_change_and_commit(page: Page) -> None:
    page.goto("/repositories/shop?ref=dev")
    page.locator("input[type=file][multiple]").set_input_files(
        {"name": "new.txt", "mimeType": "text/plain", "buffer": b"new"}
    )
    expect(page.get_by_role("link", name="new.txt")).to_be_visible()
    page.get_by_role("link", name="Changes").click()
    expect(page.get_by_label("Choose new.txt")).to_be_visible()
    page.get_by_label("Message of the commit").fill("from the page")
    page.get_by_role("button", name="Commit all").click()
    expect(page.get_by_text("everything is committed")).to_be_visible()
    page.get_by_role("link", name="Commits").click()
    expect(page.get_by_text("from the page")).to_be_visible()


def test_commits_and_compare(page: Page) -> None:
    page.goto("/repositories/shop/commits?ref=dev")
    expect(page.get_by_text(HOSTILE)).to_be_visible()
    page.goto("/repositories/shop/compare?right=dev")
    expect(page.get_by_role("link", name="raw/fruit.csv")).to_be_visible()


def test_branches(page: Page) -> None:
    page.goto("/repositories/shop/branches")
    page.get_by_label("New name").fill("trial")
    page.get_by_role("button", name="Create a branch").click()
    row = page.get_by_role("row").filter(has_text="trial")
    expect(row).to_be_visible()
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)


def test_pool(page: Page) -> None:
    page.goto("/pools/logs")
    expect(page.get_by_text("Objects overlap")).to_be_visible()
    expect(page.get_by_role("cell", name="disk is nearly full").first).to_be_visible()
    page.get_by_role("button", name="Compact").click()
    expect(page.get_by_text("No two objects overlap")).to_be_visible()


def test_query(page: Page) -> None:
    page.goto("/query")
    page.get_by_label("Query", exact=True).fill("from logs | head head")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.goto("/query")  # anew: an offered completion would take part of what is filled in
    page.get_by_label("Query", exact=True).fill("from logs | sort ts")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("4 rows")
    page.get_by_role("cell", name="web-2").click(button="right")
    page.get_by_role("menuitem", name="Only this value").click()
    expect(page.get_by_role("status")).to_contain_text("1 row in")
    page.get_by_role("button", name="Tree").click()
    page.get_by_role("button", name="Plan").click()
    expect(page.get_by_label("Plan", exact=True)).to_be_visible()


def test_events_arrive(page: Page, server: LochanServer) -> None:
    page.goto("/events")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    server.lochan("tag", "create", "shop@seen-live")
    expect(page.get_by_text("seen-live").first).to_be_visible()


def test_keys_are_shown_once(page: Page) -> None:
    page.goto("/access")
    page.get_by_label("Name of a new user").fill("ada")
    page.get_by_role("button", name="Create a user").click()
    row = page.get_by_role("row").filter(has_text="ada")
    row.get_by_role("button", name="New key").click()
    expect(page.get_by_text("Its secret is shown only now")).to_be_visible()
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_text("Its secret is shown only now")).to_have_count(0)


def test_palette(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("link", name="shop", exact=True)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("sho")
    expect(page.get_by_role("option", name="shop repository", exact=True)).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/repositories/shop$"))


def test_a_view_that_is_not_there(page: Page) -> None:
    answer = page.goto("/repositories/shop/nothing/here")
    assert answer is not None and answer.headers["content-security-policy"].startswith("default-src 'none'")
    expect(page.get_by_text("There is nothing here")).to_be_visible()


def test_phone_width(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/repositories/shop")
    expect(page.get_by_role("link", name="README.md")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
