"""The page's own small tests, and rules that hold for every view."""

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import complaints

UI = Path(__file__).parents[2] / "ui"
VIEWS = [
    "/",
    "/repositories/shop",
    "/repositories/shop/object?path=README.md",
    "/repositories/shop/changes",
    "/repositories/shop/commits",
    "/repositories/shop/branches",
    "/repositories/shop/compare?right=dev",
    "/repositories/shop/pulls",
    "/repositories/shop/pulls?source=dev&target=main",
    "/repositories/shop/object?path=raw/fruit.csv",
    "/repositories/shop/object?path=README.md&edit=1",
    "/repositories/shop?blame=1&use=1",
    "/repositories/shop/settings?tab=import",
    "/repositories/shop/settings",
    "/repositories/shop/settings?tab=protection",
    "/repositories/shop/settings?tab=hooks",
    "/repositories/shop/settings?tab=storage",
    "/repositories/shop/commits?all=1",
    "/pools/logs",
    "/query",
    "/query?q=from+logs",
    "/query?q=from+logs&view=tree",
    "/events",
    "/jobs",
    "/operations",
    "/stores",
    "/access",
    "/access?tab=policies",
    "/access?tab=groups",
    "/access?tab=sessions",
    "/access?tab=signin",
    "/access?tab=audit",
    "/access?tab=use",
    "/docs",
    "/docs/language/pipes",
]


def test_components() -> None:
    done = subprocess.run(["npm", "test", "--silent"], cwd=UI, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_everybody_can_use_it(page: Page, view: str, dark: bool) -> None:
    """WCAG AA: contrast, labels, roles."""
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.goto(view)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.locator("h1").first).to_be_visible()
    assert complaints(page) == []


def test_size_of_the_first_load() -> None:
    """Under 500 kB compressed before the editor loads, with every view but without the pages of the documentation."""
    import gzip

    files = UI.parent / "src" / "lochan" / "server" / "page" / "files"
    docs = {path.stem for path in (UI.parent / "docs").rglob("*.md")}
    loaded = [
        path
        for path in files.rglob("*")
        if path.is_file() and path.name.partition("-")[0] != "Query" and path.stem.rpartition("-")[0] not in docs
    ]
    assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) < 500_000
