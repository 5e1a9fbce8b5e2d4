"""History, workspaces, rows that differ, queries, operations and administration, in a real browser."""

import io
import json
import re
import tarfile
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import HOSTILE, scroll_to
from tests.servers.lochan import LochanServer


def test_sizes_and_activity(page: Page) -> None:
    page.goto("/")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="logs", exact=True))
    expect(row.get_by_text(re.compile(r"^\d+ rows$"))).to_be_visible()
    expect(row.get_by_role("img", name=re.compile("commits? in 30 days"))).to_be_visible()
    page.goto("/repositories/shop/branches")
    expect(
        page.get_by_role("row").filter(has_text="dev").get_by_title("commits that main does not have")
    ).to_be_visible()


def test_going_back_in_time(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "history")
    for name in ("one", "two"):
        server.lochan("fs", "upload", "-", f"history/{name}.txt", stdin=name.encode())
        server.lochan("commit", "history", "-m", f"added {name} {HOSTILE}")
    page.goto("/repositories/history")
    expect(page.get_by_role("link", name="two.txt")).to_be_visible()
    page.get_by_role("button", name="Who changed what").click()
    expect(page.get_by_role("row").filter(has_text="one.txt")).to_contain_text("added one")
    page.get_by_role("button", name="Go back in time").click()
    slider = page.get_by_role("slider", name="History")
    slider.press("ArrowLeft")
    expect(page.get_by_role("link", name="two.txt")).to_have_count(0)
    expect(page.get_by_role("link", name="one.txt")).to_be_visible()
    page.reload()  # the address is the state
    expect(page.get_by_role("slider", name="History")).to_be_visible()
    page.get_by_role("slider", name="History").press("End")
    expect(page.get_by_role("link", name="two.txt")).to_be_visible()
    page.get_by_role("link", name="one.txt").click()
    expect(page.get_by_text("made it what it is")).to_be_visible()


def test_the_workspace_of_this_browser(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "desk")
    page.goto("/repositories/desk")
    page.get_by_role("button", name="Work in a workspace").click()
    expect(page.get_by_text("only you work in it")).to_be_visible()
    for name in ("a.txt", "b.txt"):
        page.locator("input[type=file][multiple]").set_input_files(
            {"name": name, "mimeType": "text/plain", "buffer": b"x"}
        )
        expect(page.get_by_role("link", name=name)).to_be_visible()
    page.get_by_role("button", name="Back to main").click()
    expect(page.get_by_text("There are no objects here yet")).to_be_visible()
    page.get_by_role("button", name="Work in a workspace").click()  # the same one
    expect(page.get_by_role("link", name="b.txt")).to_be_visible()
    page.get_by_role("link", name="Changes").click()
    page.get_by_label("Choose b.txt").check()
    page.get_by_role("button", name="Revert 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert 1").click()
    expect(page.get_by_label("Choose b.txt")).to_have_count(0)
    page.get_by_label("Message of the commit").fill("from my desk")
    page.get_by_role("button", name="Commit all").click()
    expect(page.get_by_text("The workspace is closed")).to_be_visible()
    assert server.lochan("fs", "ls", "desk").split()[-1].endswith("a.txt")


def test_rows_that_differ(page: Page) -> None:
    page.goto("/repositories/shop/compare?right=dev")
    page.get_by_role("button", name="What changed in raw/fruit.csv").click()
    expect(page.get_by_text("+1 rows added")).to_be_visible()
    page.get_by_label("Rows are the same if these fields are").fill("id")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("~1 changed").last).to_be_visible()
    expect(page.locator("del")).to_have_text("apple")
    expect(page.locator("ins")).to_have_text("plum")


@pytest.fixture
def numbers(server: LochanServer) -> Iterator[str]:
    server.lochan("load", "numbers", "-", "--key", "n", stdin=b"".join(b'{"n":%d}\n' % n for n in range(96)))
    yield "numbers"
    server.lochan("repo", "delete", "numbers", "--yes")


def test_brushing_a_histogram(page: Page, numbers: str) -> None:
    page.goto(f"/query?q=from%20{numbers}")
    chart = page.get_by_role("img", name=re.compile("Rows over n: 96 in 48 spans"))
    expect(chart).to_be_visible()
    box = chart.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 4, middle, steps=4)
    page.mouse.up()
    expect(page.get_by_label("Query", exact=True)).to_contain_text("where n >= 0 and n < 48")
    expect(page.get_by_role("status")).to_contain_text("48 rows")
    page.get_by_role("button", name="Plan").click()
    expect(page.get_by_label("Plan", exact=True)).to_contain_text("1 of 1")


def test_saved_queries(page: Page) -> None:
    page.goto("/query?q=from%20logs%20%7C%20count()")
    expect(page.get_by_role("status")).to_contain_text("1 row")
    page.get_by_text("Saved queries").click()
    page.get_by_label("Name of the query").fill(HOSTILE)
    page.get_by_role("button", name="Save this query").click()
    expect(page.get_by_role("button", name=HOSTILE, exact=True)).to_be_visible()
    page.goto("/query")
    page.get_by_text("Saved queries").click()
    page.get_by_role("button", name=HOSTILE, exact=True).click()
    expect(page.get_by_label("Query", exact=True)).to_contain_text("count()")
    page.get_by_role("button", name=f"Delete the query {HOSTILE}").click()
    expect(page.get_by_text("None yet.")).to_be_visible()


def test_operations(page: Page) -> None:
    page.goto("/operations")
    page.get_by_role("button", name="Run now: trim").click()
    expect(page.get_by_text(re.compile("^trim: "))).to_be_visible()
    expect(page.get_by_text("S3 requests")).to_be_visible()
    expect(page.get_by_text("lies on a single local disk")).to_be_visible()


def test_garbage_retention_and_protection(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "kept")
    page.goto("/repositories/kept/settings?tab=storage")
    page.get_by_role("button", name="What would go?").click()
    expect(page.get_by_text(re.compile("files? of .* would go"))).to_be_visible()
    page.get_by_role("button", name="Keep history of…").click()
    page.get_by_label("Branches", exact=True).fill("main")
    page.get_by_label("of the last days").fill("30")
    page.get_by_role("button", name="What would they do now?").click()
    expect(page.get_by_role("status", name="What the rules would do")).to_contain_text("0 commits would expire")
    page.get_by_role("button", name="Set the rules").click()
    expect(page.get_by_text("Rules of this repository.")).to_be_visible()
    page.get_by_role("button", name="Remove the rule of main").click()
    page.get_by_text("As JSON, with all that rules can say").click()
    rules = page.get_by_label("Retention rules, as JSON")
    rules.fill("{")
    page.get_by_role("button", name="Set these").click()
    expect(page.get_by_role("alert")).to_be_visible()
    rules.fill('{"undo_days": 7}')
    page.get_by_role("button", name="Set these").click()
    expect(page.get_by_text("Rules of this repository.")).to_be_visible()
    expect(page.get_by_label("can be brought back for")).to_have_value("7")
    assert json.loads(page.request.get("/api/v1/repos/kept/gc/rules").text())["rules"] == []
    page.get_by_role("link", name="Protected branches").click()
    page.get_by_label("Pattern of branch names").fill("release-*")
    page.get_by_label("linear history").check()
    page.get_by_label("approvals").fill("2")
    page.get_by_role("button", name="Protect").click()
    expect(
        page.get_by_role("cell", name=re.compile("no rewrite, linear, by pull requests, 2 to approve"))
    ).to_be_visible()
    page.get_by_role("button", name="Remove the rule of release-*").click()
    expect(page.get_by_text("No branch is protected")).to_be_visible()


def test_import_says_what_it_would_do(page: Page) -> None:
    page.goto("/repositories/shop/settings?tab=import")
    page.get_by_label("Where the files are").fill("nowhere")
    page.get_by_role("button", name="See what would be imported").click()
    expect(page.get_by_role("alert")).to_be_visible()


def test_groups_and_policies(page: Page) -> None:
    page.goto("/access?tab=groups")
    page.get_by_label("Name of a new group").fill("readers")
    page.get_by_role("button", name="Create a group").click()
    page.get_by_label("Add a member to readers").fill("admin")
    page.get_by_label("Add a member to readers").press("Enter")
    expect(page.get_by_role("button", name="Remove admin from readers")).to_be_visible()
    page.get_by_role("link", name="Policies").click()
    page.get_by_text("Create or replace a policy").click()
    page.get_by_label("Name", exact=True).fill("ShopReader")
    page.get_by_role("button", name="Set the policy").click()
    expect(page.get_by_text("Policy ShopReader is set")).to_be_visible()
    page.get_by_role("link", name="Groups").click()
    page.get_by_label("Give a policy to readers").fill("ShopReader")
    page.get_by_label("Give a policy to readers").press("Enter")
    expect(page.get_by_role("button", name="Take ShopReader from readers")).to_be_visible()
    page.get_by_role("link", name="Signing in").click()
    expect(page.get_by_text("without TLS, from this machine only")).to_be_visible()


def test_help_is_inside(page: Page) -> None:
    page.goto("/docs")
    page.get_by_role("link", name="Retention", exact=True).click()
    expect(page.get_by_role("heading", name="Retention").first).to_be_visible()
    page.goto("/docs/operations/nothing")
    expect(page.get_by_role("heading", name="No such page")).to_be_visible()


def test_a_long_list_scrolls(page: Page, server: LochanServer) -> None:
    """Few rows are in the page at any time, and the last of them can be reached."""
    server.lochan("repo", "create", "many")
    answer = page.request.post("/api/v1/repos/many/refs/main/objects/archive", data=_archive(3_500))
    assert answer.ok, answer.text()
    page.goto("/repositories/many")
    view = page.get_by_role("region", name="List")
    expect(page.get_by_role("link", name="000000.txt")).to_be_visible()

    scroll_to(view, "003499.txt")
    expect(page.get_by_role("link", name="003499.txt")).to_be_visible()
    expect(page.get_by_text("3,500 entries")).to_be_visible()
    assert page.get_by_role("row").count() < 200


def _archive(count: int) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for number in range(count):
            info = tarfile.TarInfo(f"{number:06d}.txt")
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
    return held.getvalue()
