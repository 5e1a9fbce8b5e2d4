"""Who may only read: every act that is refused says which right it needs, and nothing is changed."""

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.axe import complaints
from tests.browser.conftest import TIMEOUT_MS
from tests.servers.lochan import LochanServer

USER = "reader"


@pytest.fixture(scope="module")
def key(server: LochanServer, signed_in: BrowserContext) -> dict[str, str]:
    server.lochan("auth", "users", "create", USER)
    server.lochan("auth", "attach", USER, _example(signed_in))
    server.lochan("repo", "create", "session-logs")  # a name that the refusal repeats
    made = json.loads(server.lochan("auth", "keys", "create", USER, "-f", "json"))
    return {name: made[name] for name in ("access_key_id", "secret_access_key")}


def _example(signed_in: BrowserContext) -> str:
    """The policy that the page offers to begin with: it has to be enough to read the repository that it names."""
    page = signed_in.new_page()
    page.goto("/access?tab=policies")
    page.get_by_text("Create or replace a policy").click()
    page.get_by_label("Name", exact=True).fill("ReadsShop")
    page.get_by_role("button", name="Set the policy").click()
    expect(page.get_by_text("Policy ReadsShop is set")).to_be_visible()
    page.close()
    return "ReadsShop"


@pytest.fixture
def page(browser: Browser, server: LochanServer, key: dict[str, str]) -> Iterator[Page]:
    context = browser.new_context(base_url=f"http://{server.api}", viewport={"width": 1280, "height": 860})
    assert context.request.post("/api/v1/auth/login", data=key).ok
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    yield page
    context.close()


def test_only_what_may_be_seen_is_there(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("link", name="shop", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="logs", exact=True)).to_have_count(0)
    page.get_by_label("Search by name").fill("log")
    expect(page.get_by_text("Nothing has a name with “log” in it.")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("logs")
    expect(page.get_by_role("option", name="Audit log")).to_have_count(0)
    expect(page.get_by_role("dialog").get_by_text("Nothing has such a name.")).to_be_visible()
    page.keyboard.press("Escape")
    page.goto("/access")
    expect(page.get_by_text("No user that you may see")).to_be_visible()


def _branch(page: Page) -> None:
    page.goto("/repositories/shop/branches")
    page.get_by_label("New name").fill("mine")
    page.get_by_role("button", name="Create a branch").click()


def _delete_branch(page: Page) -> None:
    page.goto("/repositories/shop/branches")
    page.get_by_role("row").filter(has=page.get_by_role("link", name="dev", exact=True)).get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()


def _upload(page: Page) -> None:
    page.goto("/repositories/shop")
    expect(page.get_by_role("link", name="README.md")).to_be_visible()
    page.locator("input[type=file][multiple]").set_input_files(
        {"name": "mine.txt", "mimeType": "text/plain", "buffer": b"x"}
    )


def _revert(page: Page) -> None:
    page.goto("/repositories/shop/commits/dev")
    page.get_by_role("button", name="Revert there").click()


def _merge(page: Page) -> None:
    page.goto("/repositories/shop/compare?right=dev")
    page.get_by_role("button", name="Merge into main").click()


def _rules(page: Page) -> None:
    page.goto("/repositories/shop/settings?tab=storage")
    page.get_by_role("button", name="Set the rules").click()


def _protect(page: Page) -> None:
    page.goto("/repositories/shop/settings?tab=protection")
    page.get_by_label("Pattern of branch names").fill("main")
    page.get_by_role("button", name="Protect").click()


def _create_user(page: Page) -> None:
    page.goto("/access")
    page.get_by_label("Name of a new user").fill("friend")
    page.get_by_role("button", name="Create a user").click()


@pytest.mark.parametrize(
    "act, right",
    [
        pytest.param(_branch, "fs:CreateBranch", id="create a branch"),
        pytest.param(_delete_branch, "fs:DeleteBranch", id="delete a branch"),
        pytest.param(_upload, "fs:WriteObject", id="upload"),
        pytest.param(_revert, "fs:", id="revert"),
        pytest.param(_merge, "fs:", id="merge"),
        pytest.param(_rules, "fs:", id="set retention rules"),
        pytest.param(_protect, "fs:", id="protect"),
        pytest.param(_create_user, "auth:CreateUser", id="create a user"),
    ],
)
def test_what_is_refused_says_which_right_it_needs(page: Page, act: Callable[[Page], None], right: str) -> None:
    act(page)
    refused = page.get_by_role("alert").filter(has_text="denied")
    expect(refused).to_have_count(1)
    expect(refused).to_contain_text(right)
    assert complaints(page) == []


def test_a_view_that_is_refused_offers_no_second_try(page: Page) -> None:
    page.goto("/operations")
    refused = page.get_by_role("alert").filter(has_text="lake:ReadEvents")
    expect(refused).to_contain_text("An administrator can give you a policy that allows it.")
    expect(refused.get_by_role("button", name="Try again")).to_have_count(0)


def test_nothing_was_changed(page: Page, server: LochanServer) -> None:
    for act in (_branch, _upload, _protect):
        act(page)
        expect(page.get_by_role("alert")).to_be_visible()
    branches = json.loads(server.lochan("branch", "list", "shop", "-f", "json"))
    assert "mine" not in {each["name"] for each in branches}
    assert json.loads(server.lochan("branch", "protection", "shop", "-f", "json")) == []
    assert "mine.txt" not in server.lochan("fs", "ls", "shop")


def test_a_refusal_never_signs_out(page: Page) -> None:
    page.goto("/repositories/session-logs")
    expect(page.get_by_role("alert").filter(has_text="session-logs").first).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
