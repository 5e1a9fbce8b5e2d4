"""Loads that are looked at first, hooks, pages that refresh themselves, copyable lines, and what the keyboard does."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import HOSTILE
from tests.servers.lochan import LochanServer

HOOKS = b"""name: quality
on: [pre-commit]
hooks:
  - id: rows
    kind: query
    query: from gated/a.csv | n < 0
    message: no negative numbers
"""


def test_a_load_is_looked_at_first(page: Page, tmp_path: Path) -> None:
    rows = tmp_path / "Late Logs.ndjson"
    rows.write_text(json.dumps({"ts": "2026-11-02T10:00:00Z", "host": HOSTILE}) + "\n")
    page.goto("/")
    page.get_by_label("File to load").set_input_files(rows)
    dialog = page.get_by_role("dialog", name="Load a file")
    expect(dialog.get_by_label("Sorted by")).to_have_value("ts:time")  # the rows suggest it
    expect(dialog.get_by_label("Name of the pool")).to_have_value("late-logs")
    expect(dialog.get_by_role("cell", name=HOSTILE)).to_be_visible()
    dialog.get_by_role("button", name="Load and commit").click()
    expect(page).to_have_url(re.compile("/pools/late-logs$"))
    expect(page.get_by_role("heading", name="Objects over the key")).to_be_visible()
    other = tmp_path / "other.csv"
    other.write_text("n\n1\n")
    page.get_by_label("File to load").set_input_files(other)
    expect(dialog.get_by_text("These rows have no ts")).to_be_visible()
    expect(dialog.get_by_role("option", name="csv, as detected")).to_be_attached()
    dialog.get_by_role("button", name="Load and commit").click()
    expect(page.get_by_text("1 row without the key")).to_be_visible()


def test_hooks_and_their_runs(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "gated")
    server.lochan("fs", "upload", "-", "gated/_lochan/hooks/quality.yaml", stdin=HOOKS)
    server.lochan("fs", "upload", "-", "gated/a.csv", stdin=b"n\n1\n")
    server.lochan("commit", "gated", "-m", "hooks")
    server.lochan("fs", "upload", "-", "gated/a.csv", stdin=b"n\n-1\n")
    page.goto("/repositories/gated/settings?tab=hooks")
    expect(page.get_by_role("cell", name="from gated/a.csv | n < 0")).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_label("Result of the run")).to_contain_text("no negative numbers")
    page.get_by_label("A hook file, as YAML").fill("name: x\non: [pre-lunch]\n")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("pre-lunch")
    page.get_by_label("A hook file, as YAML").fill(HOOKS.decode())
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_text("It is fine: 1 hook.")).to_be_visible()


def test_views_refresh_themselves(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "lively")
    page.goto("/repositories/lively")
    expect(page.get_by_text("There are no objects here yet")).to_be_visible()
    server.lochan("fs", "upload", "-", "lively/by-somebody-else.txt", stdin=b"x")
    expect(page.get_by_role("link", name="by-somebody-else.txt")).to_be_visible()
    page.get_by_role("link", name="Commits").click()
    expect(page.get_by_role("link", name="Repository created")).to_be_visible()
    server.lochan("commit", "lively", "-m", "from elsewhere")
    expect(page.get_by_role("link", name="from elsewhere")).to_be_visible()


def test_the_history_of_all_branches_and_its_filters(page: Page) -> None:
    page.goto("/repositories/shop/commits")
    expect(page.get_by_role("link", name="first data")).to_be_visible()
    expect(page.get_by_role("link", name=HOSTILE)).to_have_count(0)  # it is on dev
    page.get_by_role("button", name="All branches").click()
    expect(page.get_by_role("link", name=HOSTILE).first).to_be_visible()
    page.get_by_label("Only commits with these words").fill("first")
    page.get_by_label("Only commits with these words").press("Enter")
    expect(page.get_by_role("link", name=HOSTILE)).to_have_count(0)
    expect(page.get_by_role("link", name="first data")).to_be_visible()
    page.get_by_label("Only commits up to this day").fill("2001-01-01")
    page.get_by_label("Only commits up to this day").press("Enter")
    expect(page.get_by_text("No commit fits.")).to_be_visible()


def test_a_commit_is_reverted_and_picked(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "undo")
    server.lochan("fs", "upload", "-", "undo/a.txt", stdin=b"one\ntwo\n")
    server.lochan("commit", "undo", "-m", "one")
    server.lochan("fs", "upload", "-", "undo/a.txt", stdin=b"one\nTWO\n")
    server.lochan("commit", "undo", "-m", "two")
    page.goto("/repositories/undo/commits")
    page.get_by_role("link", name="two", exact=True).click()
    page.get_by_role("button", name="What changed in a.txt").click()
    lines = page.get_by_role("region", name="Lines that differ")
    expect(lines.get_by_role("row").filter(has_text=re.compile("TWO"))).to_contain_text("+")
    page.get_by_label("New name").fill("later")
    page.get_by_role("button", name="Branch from here").click()
    expect(page.get_by_text("Branch later begins here.")).to_be_visible()
    page.get_by_role("button", name="Revert there").click()
    expect(page.get_by_text("Reverted on main.")).to_be_visible()
    assert server.lochan("fs", "cat", "undo/a.txt") == "one\ntwo\n"
    page.get_by_role("button", name="Cherry-pick there").click()
    expect(page.get_by_text("Picked onto main.")).to_be_visible()
    assert server.lochan("fs", "cat", "undo/a.txt") == "one\nTWO\n"


def test_lines_to_copy_name_the_path(page: Page) -> None:
    page.goto("/repositories/shop/object?path=raw/fruit.csv")
    page.get_by_text("Use from a program").click()
    for program in ("curl", "AWS CLI", "boto3", "Spark", "DuckDB"):
        page.get_by_role("tab", name=program).click()
        expect(page.get_by_role("tabpanel")).to_contain_text("raw/fruit.csv")
    page.get_by_role("tab", name="DuckDB").press("ArrowRight")
    expect(page.get_by_role("tab", name="lochan")).to_be_focused()


def test_files_are_dropped_into_a_folder(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "dropped")
    page.goto("/repositories/dropped?prefix=in/")
    expect(page.get_by_text("Nothing is below")).to_be_visible()
    page.evaluate(
        """() => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["x".repeat(300000)], "big.bin"));
            window.dispatchEvent(new DragEvent("dragover", { dataTransfer, cancelable: true }));
            window.dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
        }"""
    )
    expect(page.get_by_text("Uploaded big.bin")).to_be_visible()
    expect(page.get_by_role("link", name="big.bin")).to_be_visible()
    assert "in/big.bin" in server.lochan("fs", "ls", "-r", "dropped")


def test_a_value_has_a_menu_by_keyboard(page: Page) -> None:
    page.goto("/query?q=from%20logs%20%7C%20cut%20host,%20status%20%7C%20sort%20host")
    first = page.get_by_role("region", name="Rows").get_by_role("cell").first
    first.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Only this value")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Query", exact=True)).to_contain_text("count() by host")


def test_the_histogram_shows_what_a_condition_keeps(page: Page) -> None:
    page.goto("/query?q=from%20logs%20%7C%20status%20%3E%3D%20500")
    expect(page.get_by_role("img", name=re.compile("Rows over ts: 1 in"))).to_be_visible()


def test_keys_go_to_views(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("link", name="shop")).to_be_visible()
    assert page.title() == "Data · Lochan"
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()  # until then keys are the dialog's
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", name="Operations")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("theme dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.evaluate("localStorage.clear()")
