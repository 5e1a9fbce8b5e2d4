"""Long histories and long lists of changes are read a part at a time, and nothing of them is read twice."""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import lochan
from tests.browser.conftest import TIMEOUT_MS, administrator
from tests.servers.lochan import LochanServer, lochan_server

COMMITS = 520  # more than the slider over the history reads at once
SLIDER = 500
ROWS = 100  # commits that the list reads at once
CHANGES = 450
PART = 200  # changes that are read at once


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(Path(tmp_path_factory.mktemp("long")) / "lake") as running:
        _beside(_fill, running)
        yield running


def _beside(work: Callable[[LochanServer], None], server: LochanServer) -> None:
    """The browser has an event loop of its own on this thread."""
    with ThreadPoolExecutor(1) as beside:
        beside.submit(work, server).result()


def _connected(server: LochanServer) -> lochan.Lake:
    return lochan.connect(f"http://{server.api}", access_key=server.access_key, secret_key=server.secret_key)


def _fill(server: LochanServer) -> None:
    with _connected(server) as lake:
        main = lake.create_repository("long").branch()
        for number in range(COMMITS):
            main.commit(f"commit {number:03}", allow_empty=True)
        staged = lake.create_repository("staged").branch()
        work = staged.workspace("many")
        for ref in (staged, work):
            for number in range(CHANGES):
                ref.put(f"{number:03}.txt", b"x")


@pytest.fixture(scope="module")
def signed_in(browser: Browser, server: LochanServer) -> Iterator[BrowserContext]:
    with administrator(browser, server) as context:
        yield context


@pytest.fixture
def page(signed_in: BrowserContext) -> Iterator[Page]:
    page = signed_in.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    yield page
    page.close()


def _afters(page: Page, ending: str) -> list[str]:
    """Fills with what each request to such an address asked to go on behind."""
    found: list[str] = []

    def note(url: str) -> None:
        if re.search(f"^/api/.*{ending}$", urlsplit(url).path):
            found.extend(parse_qs(urlsplit(url).query).get("after", [""]))

    page.on("request", lambda request: note(request.url))
    return found


def _messages(rows: Locator) -> list[str]:
    return re.findall(r"(?:commit \d+|later)", " ".join(rows.all_inner_texts()))


def test_each_commit_is_read_once(page: Page, server: LochanServer) -> None:
    afters = _afters(page, "/commits")
    page.goto("/repositories/long/commits")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(ROWS)
    for parts in (2, 3):
        page.get_by_role("button", name="Show 100 more").click()
        expect(rows).to_have_count(parts * ROWS)
    ids = [str(link).rpartition("/")[2] for link in rows.locator("td.said a:first-child").evaluate_all(_LINKS)]
    assert afters == ["", ids[ROWS - 1], ids[2 * ROWS - 1]]
    assert _messages(rows) == [f"commit {number:03}" for number in reversed(range(COMMITS - 3 * ROWS, COMMITS))]
    page.reload()  # and with all branches together
    page.get_by_role("button", name="All branches").click()
    expect(page).to_have_url(re.compile("all=1"))
    page.get_by_role("button", name="Show 100 more").click()
    expect(rows).to_have_count(2 * ROWS)
    assert afters[-1] == ids[ROWS - 1]


_LINKS = "links => links.map((each) => each.href)"


def test_the_slider_goes_as_far_back_as_the_history(page: Page) -> None:
    page.goto("/repositories/long")
    page.get_by_role("button", name="Go back in time").click()
    slider = page.get_by_role("slider", name="History")
    expect(slider).to_have_attribute("max", str(SLIDER - 1))
    expect(page.get_by_text("The last 500 commits, since")).to_be_visible()
    slider.press("Home")  # its end
    expect(slider).to_have_attribute("aria-valuetext", re.compile(f"commit {COMMITS - SLIDER:03},"))
    expect(slider).to_have_attribute("max", str(COMMITS))  # with the commit that creates the repository
    expect(slider).to_have_value(str(COMMITS - SLIDER + 1))  # the view stays where it was
    expect(page.get_by_role("button", name="Go further back")).to_have_count(0)
    for _ in range(15):
        slider.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("commit 005,"))
    page.reload()  # an address may be further back than the first part
    expect(slider).to_have_attribute("aria-valuetext", re.compile("commit 005,"))
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(f"commit {COMMITS - 1},"))


def test_the_slider_goes_back_by_its_button(page: Page) -> None:
    page.goto("/repositories/long")
    page.get_by_role("button", name="Go back in time").click()
    page.get_by_role("button", name="Go further back").click()
    slider = page.get_by_role("slider", name="History")
    expect(slider).to_have_attribute("max", str(COMMITS))
    expect(slider).to_have_value(str(COMMITS))


@pytest.mark.parametrize(
    "ending, total", [("/status", f" of {CHANGES}"), ("/changes", "")], ids=["branch", "workspace"]
)
def test_changes_are_read_in_parts(page: Page, ending: str, total: str) -> None:
    afters = _afters(page, ending)
    work = json.loads(page.request.get("/api/v1/repos/staged/workspaces").text())["ref"]
    page.goto(f"/repositories/staged/changes?ref={quote(work if ending == '/changes' else 'main', safe='')}")
    boxes = page.get_by_role("checkbox", name=re.compile("^Choose .*txt$"))
    expect(boxes).to_have_count(PART)
    expect(page.get_by_text(f"The first {PART}{total} paths")).to_be_visible()
    page.get_by_label("Choose 007.txt").check()
    for count in (2 * PART, CHANGES):
        page.get_by_role("button", name="Show 200 more").click()
        expect(boxes).to_have_count(count)
    assert afters == ["", "199.txt", "399.txt"]
    expect(page.get_by_text(f"{CHANGES} paths", exact=True)).to_be_visible()
    page.get_by_label("Choose 449.txt").check()
    page.get_by_role("button", name="Revert 2").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert 2").click()
    expect(boxes).to_have_count(CHANGES - 2)
    expect(page.get_by_label("Choose 448.txt")).to_be_visible()
    expect(page.get_by_label("Choose 449.txt")).to_have_count(0)
    expect(page.get_by_label("Choose 007.txt")).to_have_count(0)


def test_a_new_commit_comes_to_the_top(page: Page, server: LochanServer) -> None:
    page.goto("/repositories/long/commits")
    rows = page.locator("tbody tr")
    page.get_by_role("button", name="Show 100 more").click()
    expect(rows).to_have_count(2 * ROWS)
    expect(rows.first).to_contain_text(f"commit {COMMITS - 1}")
    _beside(_commit_later, server)
    expect(rows.first).to_contain_text("later")
    expect(rows).to_have_count(2 * ROWS)
    page.get_by_role("button", name="Show 100 more").click()
    expect(rows).to_have_count(3 * ROWS)
    wanted = [f"commit {number:03}" for number in reversed(range(COMMITS - 3 * ROWS + 1, COMMITS))]
    assert _messages(rows) == ["later", *wanted]


def _commit_later(server: LochanServer) -> None:
    with _connected(server) as lake:
        lake.repository("long").branch().commit("later", allow_empty=True)
