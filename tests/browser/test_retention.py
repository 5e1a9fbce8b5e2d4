"""Retention rules by the form: those of files by their paths, those of a pool by its key, and what is held."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, expect

from tests.servers.lochan import LochanServer


def test_drops_of_files_and_holds(page: Page, server: LochanServer) -> None:
    server.lochan("repo", "create", "aged")
    server.lochan("branch", "create", "aged@release")
    page.goto("/repositories/aged/settings?tab=storage")
    page.get_by_role("button", name="Drop what is old…").click()
    page.get_by_label("On branches").fill("main")
    page.get_by_label("below").fill("tmp/")
    expect(page.get_by_label("key from")).to_have_count(0)
    assert "key is older than" not in page.get_by_label("goes when").inner_text()
    page.get_by_label("goes when").select_option("not read or written for")
    page.get_by_label("days", exact=True).first.fill("0.5")
    page.get_by_text("programs that note their reads themselves").click()
    page.get_by_label("Branches whose objects are held").fill("release,  nowhere")
    page.get_by_role("button", name="What would they do now?").click()
    expect(page.get_by_role("alert")).to_contain_text("nowhere")  # a branch that is not there is a mistake
    page.get_by_label("Branches whose objects are held").fill("release")
    page.get_by_role("button", name="Set the rules").click()
    expect(page.get_by_text("Rules of this repository.")).to_be_visible()
    found = _rules(page, "aged")
    [drop] = found["drops"]
    assert (drop["pattern"], drop["prefix"], drop["unread_days"], drop["unwritten_days"]) == ("main", "tmp/", 0.5, 0)
    assert (found["holds"], found["readers"]) == (["release"], "noted")
    page.reload()
    expect(page.get_by_label("goes when")).to_have_value("unread_days")
    expect(page.get_by_label("Branches whose objects are held")).to_have_value("release")


def test_drops_of_a_pool_by_its_key(page: Page, server: LochanServer) -> None:
    row = b'{"ts":"2020-01-01T00:00:00Z","n":1}\n{"ts":"2020-06-01T00:00:00Z","n":2}\n'
    server.lochan("load", "old-logs", "-", "--key", "ts:time", stdin=row)
    page.goto("/repositories/old-logs/settings?tab=storage")
    page.get_by_role("button", name="Drop what is old…").click()
    page.get_by_label("On branches").fill("main")
    page.get_by_label("key from").fill("2019-01-01")
    page.get_by_label("to", exact=True).fill("2020-03-01")
    expect(page.get_by_label("goes when")).to_have_value("older_days")
    page.get_by_label("days", exact=True).first.fill("90")
    expect(page.get_by_label("below")).to_have_count(0)
    page.get_by_role("button", name="Set the rules").click()
    expect(page.get_by_text("Rules of this repository.")).to_be_visible()
    [drop] = _rules(page, "old-logs")["drops"]
    assert (drop["low"], drop["high"], drop["older_days"], drop["prefix"]) == ("2019-01-01", "2020-03-01", 90, "")
    page.get_by_label("goes when").select_option("never")
    expect(page.get_by_label("days", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Remove the rule of main[2019-01-01..2020-03-01]").click()
    with page.expect_response(lambda answer: answer.request.method == "PUT") as answered:
        page.get_by_role("button", name="Set the rules").click()
    assert answered.value.ok
    assert _rules(page, "old-logs")["drops"] == []


def _rules(page: Page, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.request.get(f"/api/v1/repos/{name}/gc/rules").text())
    return found
