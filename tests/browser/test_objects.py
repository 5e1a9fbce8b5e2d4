"""Files on the page: folders that are uploaded, uploads that are stopped or fail, texts that are edited, paths that are
typed, and who changed what far down a folder."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from tests.servers.lochan import LochanServer


@pytest.fixture(scope="module")
def files(server: LochanServer) -> str:
    server.lochan("repo", "create", "files")
    server.lochan("fs", "upload", "-", "files/notes/a.md", stdin=b"# One\n")
    server.lochan("commit", "files", "-m", "notes")
    server.lochan("fs", "upload", "-", "files/LICENSE", stdin=b"Do as you like.\n")
    server.lochan("commit", "files", "-m", "licence")
    return "files"


def test_a_folder_is_uploaded_with_its_paths(page: Page, files: str, tmp_path: Path, server: LochanServer) -> None:
    for number in range(12):
        file = tmp_path / "batch" / f"day-{number % 3}" / f"{number}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"n\n{number}\n")
    page.goto(f"/repositories/{files}?prefix=in/")
    page.locator("input[webkitdirectory]").set_input_files(tmp_path / "batch")
    expect(page.get_by_text("Uploaded 12 files. Commit to keep them.")).to_be_visible()
    expect(page.get_by_role("link", name="batch/")).to_be_visible()
    listed = server.lochan("fs", "ls", "-r", "files/in/")
    assert all(f"in/batch/day-{number % 3}/{number}.csv" in listed for number in range(12))


def test_what_fails_is_named_and_tried_again(page: Page, files: str) -> None:
    page.goto(f"/repositories/{files}?prefix=some/")
    refuse = True

    def answer(route: Route) -> None:
        if refuse and "bad.txt" in route.request.url:
            route.fulfill(status=503, json={"message": "the store is away"})
        else:
            route.continue_()

    page.route("**/objects?*", answer)
    given: list[FilePayload] = [
        {"name": name, "mimeType": "text/plain", "buffer": b"x"} for name in ("bad.txt", "good.txt")
    ]
    page.locator("input[type=file][multiple]").set_input_files(given)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("1 file could not be uploaded; the others are there.")
    expect(alert).to_contain_text("bad.txt: the store is away")
    expect(page.get_by_role("link", name="good.txt")).to_be_visible()
    refuse = False
    alert.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="bad.txt")).to_be_visible()
    expect(alert).to_have_count(0)


def test_an_upload_says_how_far_it_is_and_can_be_stopped(page: Page, files: str) -> None:
    page.goto(f"/repositories/{files}")
    page.route("**/objects?*", lambda route: None)  # it never ends by itself
    page.locator("input[type=file][multiple]").set_input_files(
        {"name": "slow.bin", "mimeType": "application/octet-stream", "buffer": b"x" * 2_000}
    )
    expect(page.get_by_role("group", name="Upload")).to_contain_text("0 of 1 file")
    expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("Stopped. 0 files of 1 are there.")).to_be_visible()
    expect(page.get_by_role("button", name="Upload", exact=True)).to_be_visible()


def test_a_text_is_edited_and_nobody_is_overwritten(page: Page, files: str, server: LochanServer) -> None:
    page.goto(f"/repositories/{files}/object?path=notes/a.md")
    page.get_by_role("link", name="Edit").click()
    text = page.get_by_label("Text of notes/a.md")
    expect(text).to_have_value("# One\n")
    text.fill("# Two\n")
    page.get_by_label("Message of the commit").fill("a second heading")
    page.get_by_role("button", name="Commit to main").click()
    expect(page.get_by_role("heading", name="Two")).to_be_visible()
    expect(page.get_by_text("a second heading")).to_be_visible()
    # Somebody else is faster.
    page.get_by_role("link", name="Edit").click()
    expect(text).to_have_value("# Two\n")
    server.lochan("fs", "upload", "-", "files/notes/a.md", stdin=b"# Theirs\n")
    text.fill("# Mine\n")
    page.get_by_role("button", name="Save, commit later").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(text).to_have_value("# Mine\n")  # and nothing of it is lost
    assert server.lochan("fs", "cat", "files/notes/a.md") == "# Theirs\n"


def test_a_file_is_written_anew(page: Page, files: str, server: LochanServer) -> None:
    page.goto(f"/repositories/{files}?prefix=notes/")
    page.get_by_role("button", name="New file").click()
    page.get_by_label("Name of the new file").fill("plan.txt")
    page.keyboard.press("Enter")
    page.get_by_label("Text of notes/plan.txt").fill("first, look\n")
    page.get_by_role("button", name="Commit to main").click()
    expect(page.get_by_text("first, look")).to_be_visible()
    assert server.lochan("fs", "cat", "files/notes/plan.txt") == "first, look\n"
    assert "Add notes/plan.txt" in server.lochan("log", "files", "-n", "1")


def test_a_path_that_is_typed_leads_to_the_object(page: Page, files: str) -> None:
    page.goto(f"/repositories/{files}")
    for typed, address in (("LICENSE", "/object?path=LICENSE"), ("notes", "?prefix=notes%2F")):
        page.get_by_role("button", name="Go to a path").click()
        page.get_by_label("Path", exact=True).fill(typed)
        page.get_by_role("button", name="Open", exact=True).click()
        expect(page).to_have_url(re.compile(re.escape(address) + "$"))
        if typed == "LICENSE":
            expect(page.get_by_text("Do as you like.")).to_be_visible()  # a text, though its name does not say so


def test_who_changed_what_is_told_of_folders_and_far_down(page: Page, files: str, server: LochanServer) -> None:
    page.goto(f"/repositories/{files}?blame=1")
    expect(page.get_by_role("row").filter(has_text="LICENSE")).to_contain_text("licence")
    expect(page.get_by_role("row").filter(has_text="notes/").last).to_contain_text(re.compile("notes|heading|Add"))
    # More objects in a folder before it than are asked for at once.
    page.route("**/blame/folder*", lambda route: route.fulfill(body=_crowd(page, files)))
    page.reload()
    expect(page.get_by_role("row").filter(has_text="LICENSE")).to_contain_text("licence")


def _crowd(page: Page, files: str) -> str:
    line = page.request.get(f"/api/v1/repos/{files}/refs/main/blame/folder?prefix=notes/").text().splitlines()[0]
    return "".join(line.replace("notes/a.md", f"notes/{number:05}") + "\n" for number in range(1_001))
