"""Logins by OpenID Connect at a real provider, and all that must not let anybody in."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.oidc_provider import CLIENT_ID, CLIENT_SECRET, Browser, OidcServer, oidc_provider
from tests.servers.port import free_port

SESSION = "internal_auth_session"
FLOW = "lochan_oidc"
_NUMBERS = count(2)


def elsewhere() -> Browser:
    """At an address of its own: those who failed before have not failed from there."""
    return Browser(f"127.0.0.{next(_NUMBERS)}")


class World(NamedTuple):
    server: LochanServer
    provider: OidcServer

    @property
    def url(self) -> str:
        return f"http://{self.server.api}/api/v1"

    def sent_back(self, subject: str, browser: Browser, next: str = "/") -> str:
        """The address that the provider sends the browser back to."""
        return browser.sign_in(f"{self.url}/auth/oidc/login?{urlencode({'next': next})}", subject)

    def refused(self, subject: str, status: int = 403) -> str:
        """What the browser is told of a sign-in that is refused."""
        browser = elsewhere()
        answer = browser.ask("GET", self.sent_back(subject, browser))
        assert (answer.status, SESSION in browser.cookies[self.server.api]) == (status, False), answer.data
        return answer.data.decode()

    def signs_in(self, subject: str) -> Browser:
        browser = elsewhere()
        answer = browser.ask("GET", self.sent_back(subject, browser))
        assert (answer.status, answer.headers["location"]) == (303, "/"), answer.data
        return browser

    def user(self, browser: Browser, server: LochanServer | None = None) -> str:
        """Empty: the session lets nobody in."""
        answer = self.asks(browser, "GET", "/user", server)
        return str(json.loads(answer.body)["user"]["id"]) if answer.status == 200 else ""

    def asks(
        self, browser: Browser, method: str, path: str, server: LochanServer | None = None, **headers: str
    ) -> Answer:
        cookie = f"{SESSION}={browser.cookies[self.server.api].get(SESSION, '')}"
        client = Client((server or self.server).api, "", "")
        return client.ask(method, f"/api/v1{path}", None, cookie=cookie, **headers)

    def groups(self, user: str) -> list[str]:
        found: Any = json.loads(self.server.lochan("auth", "users", "show", user, "-f", "json"))
        return list(found["groups"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    port = free_port()
    env = {
        "LOCHAN_LOGIN__OIDC__ISSUER": f"http://127.0.0.1:{port}",
        "LOCHAN_LOGIN__OIDC__CLIENT_ID": CLIENT_ID,
        "LOCHAN_LOGIN__OIDC__CLIENT_SECRET": CLIENT_SECRET,
        "LOCHAN_LOGIN__OIDC__GROUPS": "engineers -> builders, readers; poets -> readers",
        "LOCHAN_LOGIN__OIDC__TITLE": "Sign in at the works",
    }
    with lochan_server(tmp_path_factory.mktemp("oidc") / "lake", env=env) as server:
        for group in ("builders", "readers", "own"):
            server.lochan("auth", "groups", "create", group)
        server.lochan("auth", "attach", "group/readers", "Analyst")
        server.lochan("repo", "create", "demo")
        with oidc_provider(port, [f"http://{server.api}/api/v1/auth/oidc/callback"]) as provider:
            yield World(server, provider)
        traceback = server.traceback()
    assert not traceback, traceback


@pytest.fixture(autouse=True)
def honest(world: World) -> None:
    world.provider.lies()


def test_somebody_signs_in_and_is_in_the_mapped_groups(world: World) -> None:
    world.provider.has("1815", preferred_username="ada", groups=["engineers", "strangers"])
    browser = Browser()
    back = world.sent_back("1815", browser, "/repositories/demo?tab=commits")
    answer = browser.ask("GET", back)
    assert (answer.status, answer.headers["location"]) == (303, "/repositories/demo?tab=commits"), answer.data
    cookies = answer.headers.getlist("set-cookie")
    assert any(each.startswith(f"{SESSION}=LKSS") and "HttpOnly; SameSite=Strict" in each for each in cookies)
    assert any(each.startswith(f"{FLOW}=; ") for each in cookies)
    assert world.user(browser) == "ada"
    assert world.groups("ada") == ["builders", "readers"]
    assert world.asks(browser, "GET", "/repositories/demo").status == 200  # by the group's policy
    assert world.asks(browser, "POST", "/auth/tokens").status in (400, 403)
    crossed = world.asks(browser, "DELETE", "/repositories/demo", origin="https://elsewhere.example")
    assert (crossed.status, b"another site" in crossed.body) == (403, True)
    listed = json.loads(world.server.lochan("auth", "sessions", "list", "--user", "ada", "-f", "json"))
    assert [(each["how"], each["access_key_id"], each["address"]) for each in listed] == [("oidc", None, "127.0.0.1")]
    world.provider.has("1815", preferred_username="ada l.", groups=["poets"])
    assert world.user(world.signs_in("1815")) == "ada"
    assert world.groups("ada") == ["readers"]


def test_whoever_is_in_no_mapped_group_may_do_nothing(world: World) -> None:
    world.provider.has("no-groups", preferred_username="nobody", groups=["strangers"])
    browser = world.signs_in("no-groups")
    assert (world.user(browser), world.groups("nobody")) == ("nobody", [])
    assert world.asks(browser, "GET", "/repositories/demo").status == 401


def test_a_logout_ends_the_session_at_a_second_server(world: World) -> None:
    world.provider.has("out", preferred_username="olga")
    browser = world.signs_in("out")
    with lochan_server(world.server.lake, init=False) as second:
        assert (world.user(browser), world.user(browser, second)) == ("olga", "olga")
        assert world.asks(browser, "POST", "/auth/logout").status == 204
        assert (world.user(browser, second), world.user(browser)) == ("", "")


def test_a_disabled_user_is_out_at_once_and_does_not_come_back(world: World) -> None:
    world.provider.has("dis", preferred_username="dora")
    browser = world.signs_in("dis")
    world.server.lochan("auth", "users", "disable", "dora")
    assert world.user(browser) == ""
    assert "disabled" in world.refused("dis", 400)


@pytest.mark.parametrize("name", ["admin", "Admin", "local"])
def test_nobody_takes_a_user_over_by_a_name(world: World, name: str) -> None:
    if name == "local":
        world.server.lochan("auth", "users", "create", "local")
    world.provider.has(f"thief-{name}", preferred_username=name, groups=["engineers"])
    text = world.refused(f"thief-{name}", 400)
    assert "already, who is not the identity" in text
    assert world.groups("admin") == []
    if name == "local":  # until an administrator says so
        source = f"oidc {world.provider.issuer}"
        world.server.lochan("auth", "identities", "link", "local", source, "thief-local")
        browser = world.signs_in("thief-local")
        assert world.user(browser) == "local"
        world.server.lochan("auth", "identities", "unlink", "local", source, "thief-local", "--yes")
        assert world.user(browser) == ""


@pytest.mark.parametrize(
    "lie",
    [
        "none",
        "hmac",
        "strange key",
        "nonce",
        "no nonce",
        "audience",
        "audiences",
        "issuer",
        "expired",
        "subject",
        "garbage",
        "userinfo",
    ],
)
def test_a_forged_token(world: World, lie: str) -> None:
    world.provider.has("forged", preferred_username="fred")
    world.provider.lies(lie)
    assert "proves nothing" in world.refused("forged")
    users = json.loads(world.server.lochan("auth", "users", "list", "-f", "json"))
    assert "fred" not in {each["name"] for each in users}


def test_no_token_and_no_name(world: World) -> None:
    world.provider.has("mute", preferred_username="mute")
    world.provider.lies("no token")
    assert "no id token" in world.refused("mute", 502)
    world.provider.lies()
    world.provider.has("nameless")
    assert "name_claim" in world.refused("nameless")
    world.provider.has("odd", preferred_username="<b>odd</b>")
    text = world.refused("odd", 400)
    assert "cannot be a user" in text and "<b>" not in text


def test_a_code_a_state_and_a_cookie_are_good_for_one_sign_in(world: World) -> None:
    world.provider.has("once", preferred_username="once")
    browser = elsewhere()
    back = world.sent_back("once", browser)
    flow = browser.cookies[world.server.api][FLOW]
    # another browser, which has no cookie, or the cookie of another sign-in
    assert elsewhere().ask("GET", back).status == 403
    other = elsewhere()
    world.sent_back("once", other)
    assert other.ask("GET", back).status == 403
    # another state, and none
    parts = urlsplit(back)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    for wrong in ({**query, "state": "x"}, {"code": query["code"]}):
        lost = elsewhere()
        lost.cookies[world.server.api] = {FLOW: flow}
        assert lost.ask("GET", parts._replace(query=urlencode(wrong)).geturl()).status == 403
    # a cookie that nobody here has sealed
    forged = elsewhere()
    forged.cookies[world.server.api] = {FLOW: flow[:-4] + "AAAA"}
    assert forged.ask("GET", back).status == 403
    assert browser.ask("GET", back).status == 303
    # the same code again, with the cookie that belongs to it
    browser.cookies[world.server.api] = {FLOW: flow}
    again = browser.ask("GET", back)
    assert (again.status, b"does not take this sign-in" in again.data) == (403, True)


@pytest.mark.parametrize(
    "next",
    [
        "https://elsewhere.example",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "\\\\x",
        "javascript:alert(1)",
        "http://[x",
        "x",
        "",
        "/a\r\nb",
        "/\t/elsewhere.example",
        "/api/v1/auth/oidc/login",
        "/" + "x" * 2_000,
    ],
)
def test_nobody_is_sent_elsewhere(world: World, next: str) -> None:
    answer = elsewhere().ask("GET", f"{world.url}/auth/oidc/login?{urlencode({'next': next})}")
    assert (answer.status, "location" in answer.headers) == (400, False)


def test_the_provider_says_no(world: World) -> None:
    browser = elsewhere()
    answer = browser.ask("GET", f"{world.url}/auth/oidc/login")
    sent = parse_qs(urlsplit(answer.headers["location"]).query)
    assert (sent["code_challenge_method"], sent["response_type"], sent["client_id"]) == (["S256"], ["code"], ["lochan"])
    words = {"state": sent["state"][0], "error": "access_denied", "error_description": "<script>no</script>"}
    back = browser.ask("GET", f"{world.url}/auth/oidc/callback?{urlencode(words)}")
    assert (back.status, b"access_denied" in back.data, b"<script>" in back.data) == (403, True, False)


def test_what_the_server_offers(world: World) -> None:
    found = json.loads(Client(world.server.api, "", "").ask("GET", "/api/v1/auth/capabilities").body)
    assert found["oidc"] == {"title": "Sign in at the works", "path": "/api/v1/auth/oidc/login"}


def test_a_provider_that_is_down(world: World) -> None:
    world.provider.has("down", preferred_username="down")
    browser = elsewhere()
    back = world.sent_back("down", browser)
    world.provider.lies("down")
    answer = browser.ask("GET", back)
    assert (answer.status, b"status 500" in answer.data) == (502, True)


def test_keys_are_rotated(world: World) -> None:
    """Behind the others: from now on the provider signs with another key. Keys that came a moment ago are not asked for
    again at once."""
    world.provider.has("rotated", preferred_username="rota")
    world.provider.lies("rotated")
    deadline, status = time.monotonic() + 60, 0
    while status != 303 and time.monotonic() < deadline:
        browser = elsewhere()
        status = browser.ask("GET", world.sent_back("rotated", browser)).status
        time.sleep(0.5)
    assert world.user(browser) == "rota"


def test_too_many_failures_have_to_wait(tmp_path_factory: pytest.TempPathFactory) -> None:
    env = {"LOCHAN_LOGIN__OIDC__ISSUER": f"http://127.0.0.1:{free_port()}", "LOCHAN_LOGIN__OIDC__CLIENT_ID": "x"}
    with lochan_server(tmp_path_factory.mktemp("down") / "lake", env=env) as server:
        url = f"http://{server.api}/api/v1/auth/oidc"
        answer = Browser().ask("GET", f"{url}/login")
        assert (answer.status, b"cannot be reached" in answer.data) == (502, True)
        statuses = [Browser().ask("GET", f"{url}/callback?state=x").status for _ in range(25)]
        assert (statuses[0], statuses[-1]) == (403, 429)
        assert not server.traceback()
