"""Pull requests on the page: opened, talked about, reviewed, merged; and conflicts, path by path."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import HOSTILE
from tests.servers.lochan import LochanServer


def _repository(server: LochanServer, name: str) -> None:
    server.lochan("repo", "create", name)
    server.lochan("fs", "upload", "-", f"{name}/a.csv", stdin=b"id,name\n1,apple\n")
    server.lochan("commit", name, "-m", "first")
    server.lochan("branch", "create", f"{name}@dev")
    server.lochan("fs", "upload", "-", f"{name}@dev/a.csv", stdin=b"id,name\n1,plum\n")
    server.lochan("commit", f"{name}@dev", "-m", "plums")


def _open(page: Page, name: str, title: str) -> None:
    page.goto(f"/repositories/{name}/pulls?source=dev")
    page.get_by_label("Title").fill(title)
    page.get_by_label("Description").fill(f"**Why** {HOSTILE}")
    page.get_by_role("button", name="Open the request").click()
    expect(page.get_by_role("heading", name=title)).to_be_visible()


def test_a_request_is_reviewed_and_merged(page: Page, server: LochanServer) -> None:
    _repository(server, "orchard")
    _open(page, "orchard", HOSTILE)
    expect(page.get_by_role("link", name="a.csv")).to_be_visible()
    page.get_by_role("button", name="What changed in a.csv").click()
    expect(page.get_by_text("+1 rows added")).to_be_visible()
    page.get_by_label("Comment", exact=True).fill(f"Looks good {HOSTILE}")
    page.get_by_label("About a path").fill("a.csv")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text(f"Looks good {HOSTILE}")).to_be_visible()
    page.get_by_role("button", name="Resolve", exact=True).click()
    expect(page.get_by_text("Resolved by admin")).to_be_visible()
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.get_by_text("merged as")).to_be_visible()
    page.goto("/repositories/orchard/pulls?status=merged")
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()


def test_conflicts_are_decided_path_by_path(page: Page, server: LochanServer) -> None:
    _repository(server, "dispute")
    server.lochan("fs", "upload", "-", "dispute/a.csv", stdin=b"id,name\n1,pear\n")
    server.lochan("commit", "dispute", "-m", "pears")
    _open(page, "dispute", "Plums")
    expect(page.get_by_role("button", name="Resolve them")).to_be_disabled()
    page.get_by_label("What to take of a.csv").select_option("theirs")
    page.get_by_role("button", name="Resolve them").click()
    expect(page.get_by_role("heading", name="Conflicts")).to_have_count(0)
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.get_by_text("merged as")).to_be_visible()
    assert "plum" in server.lochan("fs", "cat", "dispute/a.csv")
