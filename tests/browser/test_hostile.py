"""Names, messages and values that would run as a script if they were shown as HTML: everywhere they can be written."""

import json
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import HOSTILE
from tests.servers.lochan import LochanServer

PAYLOADS = (HOSTILE, "<svg/onload=window.hacked=1>", "javascript:window.hacked=1", '"><script>window.hacked=1</script>')
MARKDOWN = f"""# {HOSTILE}

[a link](javascript:window.hacked=1) ![]({HOSTILE}) `{HOSTILE}`

| {HOSTILE} |
|---|
| {HOSTILE} |
"""


@pytest.fixture(scope="module")
def hostile(server: LochanServer) -> str:
    """A repository and a pool, in which everything that can hold any text holds these."""
    server.lochan("repo", "create", "hostile", "--metadata", f"owner={HOSTILE}")
    for number, payload in enumerate(PAYLOADS):
        server.lochan("fs", "upload", "-", f"hostile/{payload.replace('/', '_')}/{number}.csv", stdin=b"a\n1\n")
    server.lochan("fs", "upload", "-", "hostile/README.md", stdin=MARKDOWN.encode())
    table = f'"{HOSTILE}",b\n"{PAYLOADS[1]}",1\n'.encode()
    server.lochan("fs", "upload", "-", "hostile/table.csv", stdin=table)
    server.lochan("commit", "hostile", "-m", "\n".join(PAYLOADS), "--metadata", f"{HOSTILE}={HOSTILE}")
    server.lochan("tag", "create", "hostile@v1")
    server.lochan("branch", "create", "hostile@dev")
    server.lochan("fs", "upload", "-", "hostile@dev/table.csv", stdin=table.replace(b",1", b",2"))
    server.lochan("fs", "upload", "-", "hostile@dev/README.md", stdin=(MARKDOWN + HOSTILE).encode())
    server.lochan("commit", "hostile@dev", "-m", HOSTILE)
    server.lochan("fs", "upload", "-", f"hostile@dev/{HOSTILE}", stdin=HOSTILE.encode())
    rows = "".join(json.dumps({"n": n, text: {text: [text]}}) + "\n" for n, text in enumerate(PAYLOADS))
    server.lochan("load", "hostile-rows", "-", "--key", "n", "-m", HOSTILE, stdin=rows.encode())
    return "hostile"


@pytest.fixture
def request_id(page: Page, hostile: str, server: LochanServer) -> str:
    """Of a pull request with a conversation, a review and a check."""
    server.lochan("pr", "create", hostile, "--from", "dev", "--title", HOSTILE, "-m", MARKDOWN)  # as another user
    asked = page.request
    made = str(json.loads(asked.get(f"/api/v1/repos/{hostile}/pulls?status=open").text().splitlines()[0])["id"])
    below = f"/api/v1/repos/{hostile}/pulls/{made}"
    assert asked.post(f"{below}/comments", data={"text": MARKDOWN, "path": "table.csv"}).ok
    assert asked.post(f"{below}/reviews", data={"verdict": "approve", "text": HOSTILE}).ok
    check = {"check": "prices", "status": "failure", "text": HOSTILE}
    assert asked.post(f"{below}/checks", data=check).ok
    assert asked.post(f"{below}/checks", data=check | {"link": "javascript:window.hacked=1"}).status == 400
    return made


VIEWS = [
    "/repositories/hostile",
    "/repositories/hostile?blame=1&use=1",
    f"/repositories/hostile?prefix={quote(HOSTILE)}/",
    "/repositories/hostile/object?path=README.md",
    "/repositories/hostile/object?path=README.md&edit=1",
    "/repositories/hostile/object?path=table.csv",
    f"/repositories/hostile/object?path={quote(HOSTILE)}&ref=dev",
    "/repositories/hostile/changes?ref=dev",
    "/repositories/hostile/commits?all=1",
    "/repositories/hostile/commits/v1",
    "/repositories/hostile/branches",
    "/repositories/hostile/compare?right=dev",
    "/repositories/hostile/pulls",
    "/repositories/hostile/settings",
    "/pools/hostile-rows",
    "/query?q=from+hostile-rows",
    "/query?q=from+hostile-rows&view=tree",
    f"/query?q={quote(HOSTILE)}",
    "/events?repository=hostile",
    "/access?tab=audit&repository=hostile",
    f"/access?tab=audit&user={quote(HOSTILE)}&outcome={quote(HOSTILE)}&days={quote(HOSTILE)}",
]


@pytest.mark.parametrize("view", VIEWS)
def test_every_text_is_a_text(page: Page, hostile: str, view: str) -> None:
    page.goto(view)
    expect(page.locator("h1").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    closed = page.get_by_role("button", name="Show what changed in")
    while closed.count():  # one that is open is called otherwise
        closed.first.click()
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    _is_clean(page)


def test_a_conversation_is_text(page: Page, hostile: str, request_id: str) -> None:
    page.goto(f"/repositories/{hostile}/pulls/{request_id}")
    expect(page.get_by_role("heading", name=HOSTILE).first).to_be_visible()
    expect(page.get_by_role("complementary").get_by_text(HOSTILE, exact=True)).to_have_count(2)  # a review, a check
    page.get_by_role("button", name="Comment on table.csv").click()
    _is_clean(page)


def _is_clean(page: Page) -> None:
    """That nothing ran is asserted by the fixture, after every test."""
    assert page.locator("[onerror], [onload], script:not([src]), main img[src=x]").count() == 0
    assert page.locator("a[href^='javascript:' i]").count() == 0
