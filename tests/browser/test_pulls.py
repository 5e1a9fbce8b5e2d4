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


def test_a_merge_that_conflicts_leads_to_a_request(page: Page, server: LochanServer) -> None:
    """Into a branch that is not the default one: the request keeps both."""
    _repository(server, "quarrel")
    server.lochan("branch", "create", "quarrel@stage")
    server.lochan("fs", "upload", "-", "quarrel@stage/a.csv", stdin=b"id,name\n1,fig\n")
    server.lochan("commit", "quarrel@stage", "-m", "figs")
    page.goto("/repositories/quarrel/compare?left=stage&right=dev")
    page.get_by_role("button", name="Merge into stage").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Nothing was merged")
    expect(alert.get_by_role("listitem")).to_have_text("a.csv")
    alert.get_by_role("link", name="Settle it in a pull request").click()
    expect(page.get_by_label("into")).to_have_value("stage")
    page.get_by_label("Title").fill("Plums or figs")
    page.get_by_role("button", name="Open the request").click()
    expect(page.get_by_role("heading", name="Conflicts")).to_be_visible()
    page.get_by_role("button", name="The sides of a.csv").click()
    for side, value in (("Before", "apple"), ("stage", "fig"), ("dev", "plum")):
        expect(page.get_by_role("region", name=f"a.csv, {side}").get_by_role("cell", name=value)).to_be_visible()


def test_a_request_is_edited_and_the_list_refreshes_itself(page: Page, server: LochanServer) -> None:
    _repository(server, "edited")
    page.goto("/repositories/edited/pulls")
    expect(page.get_by_text("No pull requests here.")).to_be_visible()
    server.lochan("pr", "create", "edited", "--from", "dev", "--title", "From a terminal")
    page.get_by_role("link", name="From a terminal").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Title").fill(f"Plums {HOSTILE}")
    page.get_by_label("Description").fill("- because of *winter*")
    page.get_by_label("Reviewers").fill("admin")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name=f"Plums {HOSTILE}")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="because of winter")).to_be_visible()
    expect(page.get_by_text("was asked to review it")).to_be_visible()
