"""A list of a million keys, and how soon something is painted."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Page, expect

from bench.fill import ACTOR, changes
from lochan.formats.repository_events import RunsStaged
from lochan.lake import Lake
from lochan.store.open import open_store
from tests.browser.conftest import scroll_to
from tests.servers.lochan import LochanServer

KEYS = 1_000_000
PAGE = 1_000  # entries that the page asks for at once
FAR = 60  # pages down the list


@pytest.fixture(scope="module")
def million(server: LochanServer) -> str:
    server.lochan("repo", "create", "million")
    with ThreadPoolExecutor(1) as beside:  # the browser has an event loop of its own on this thread
        beside.submit(asyncio.run, _fill(server.lake, "million")).result()
    return "million"


async def _fill(place: str, name: str) -> None:
    lake = await Lake.open(open_store(place, {}))
    repository = await lake.open_repository(name)
    _, mint = await repository.refs()
    runs = await repository.runs.adopt(changes(KEYS, mint, 1), mint)
    await repository.submit(ACTOR, RunsStaged("main", runs, mint=mint))
    await repository.close()
    await lake.close()


def test_a_million_keys_scroll(page: Page, million: str) -> None:
    """Each page is asked for once, few rows are there at any time, and what was left comes back."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/objects/page" in request.url else None)
    page.goto(f"/repositories/{million}?prefix=d/00000/")
    view = page.get_by_role("region", name="List")
    expect(page.get_by_role("link", name="0000000", exact=True)).to_be_visible()
    scroll_to(view, f"{FAR * PAGE - 5:07d}")
    assert page.get_by_role("row").count() < 200
    assert len(asked) <= FAR + 3  # those that were seen, and the next ones
    view.evaluate("each => each.scrollTo(0, 0)")
    expect(page.get_by_role("link", name="0000000", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(r"^6\d,000 entries so far"))).to_be_visible()


def test_first_paint(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, and not judged: a busy machine is no bug. Its cause, the bytes before it, is judged elsewhere."""
    page.goto("/")
    expect(page.get_by_role("link", name="shop")).to_be_visible()
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    with capsys.disabled():
        print(f"\nfirst paint after {paint:.0f} ms (to be under 300 ms on a machine that is not busy)")
    assert paint > 0
