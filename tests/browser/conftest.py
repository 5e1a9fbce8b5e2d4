"""A server with data that a person might have, and a browser that is signed in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.servers.chromium import chromium
from tests.servers.lochan import LochanServer, lochan_server

TIMEOUT_MS = 60_000
expect.set_options(timeout=TIMEOUT_MS)  # a busy machine is not a bug
PICTURES = Path(__file__).parents[2] / ".cache" / "pictures"
LOGS = b"""{"ts":"2026-11-01T10:00:00Z","host":"web-1","status":200,"ms":12.5}
{"ts":"2026-11-01T10:01:00Z","host":"web-2","status":500,"ms":80.25,"user":{"id":7}}
{"ts":"2026-11-01T10:02:00Z","level":"warn","msg":"disk is nearly full"}
"""
# Shown as it is wherever a name, a message or a value is shown; it must never run.
HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("lake")) as server:
        _fill(server)
        yield server


def _fill(server: LochanServer) -> None:
    server.lochan("repo", "create", "shop")
    server.lochan("fs", "upload", "-", "shop/raw/fruit.csv", stdin=b"id,name\n1,apple\n2,pear\n")
    server.lochan("fs", "upload", "-", "shop/README.md", stdin=b"# Shop\n")
    server.lochan("fs", "upload", "-", f"shop/{HOSTILE}.txt", stdin=HOSTILE.encode())
    server.lochan("commit", "shop", "-m", "first data")
    server.lochan("branch", "create", "shop@dev")
    server.lochan("fs", "upload", "-", "shop@dev/raw/fruit.csv", stdin=b"id,name\n1,plum\n")
    server.lochan("commit", "shop@dev", "-m", HOSTILE)
    server.lochan("load", "logs", "-", "--key", "ts:time", "-m", "first logs", stdin=LOGS)
    server.lochan("load", "logs", "-", stdin=b'{"ts":"2026-11-01T10:00:30Z","host":"%s"}\n' % HOSTILE.encode())


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def signed_in(browser: Browser, server: LochanServer) -> Iterator[BrowserContext]:
    with administrator(browser, server) as context:
        yield context


@contextmanager
def administrator(browser: Browser, server: LochanServer) -> Iterator[BrowserContext]:
    """Who has signed in."""
    context = browser.new_context(base_url=f"http://{server.api}", viewport={"width": 1280, "height": 860})
    answer = context.request.post(
        "/api/v1/auth/login",
        data={"access_key_id": server.access_key, "secret_access_key": server.secret_key},
    )
    assert answer.ok
    yield context
    context.close()


@pytest.fixture
def page(signed_in: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A tab. The test fails for any script error, for a request to anywhere else, and for anything that ran."""
    page = signed_in.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if _is_ours(asked.url, page) else wrong.append(asked.url))
    yield page
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{request.node.name}.png", full_page=True)
    hacked = page.evaluate("window.hacked")
    page.close()
    assert (wrong, hacked) == ([], None)


def scroll_to(view: Locator, text: str) -> int:
    """Scrolls to the end, again and again, until this text is in the list. Gives how often that was."""
    found: int = view.evaluate(_SCROLL, text)
    return found


# On the page itself, a frame at a time: what is not there after two minutes never comes.
_SCROLL = """async (view, text) => {
    const deadline = performance.now() + 120_000;
    for (let turn = 1; performance.now() < deadline; turn += 1) {
        view.scrollTo(0, view.scrollHeight);
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        if (view.innerText.includes(text)) return turn;
    }
    throw new Error(`${text} was never in the list`);
}"""


def _is_ours(url: str, page: Page) -> bool:
    return url.startswith(("blob:", "data:")) or "127.0.0.1" in url
