"""Sessions: a token for an access key, as Bearer and in a cookie."""

import json
from typing import Any

from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer

BASE = "/api/v1"
SESSION = "internal_auth_session"


def login(client: Client, key: str, secret: str) -> Answer:
    body = json.dumps({"access_key_id": key, "secret_access_key": secret}).encode()
    return client.ask("POST", f"{BASE}/auth/login", body, **{"content-type": "application/json"})


def anonymous(server: LochanServer) -> Client:
    return Client(server.api, "", "")


def session(server: LochanServer) -> tuple[str, str]:
    """The token, and the cookie as a browser sends it."""
    answer = login(anonymous(server), server.access_key, server.secret_key)
    assert answer.status == 200, answer.body
    cookie = answer.headers["set-cookie"]
    assert all(each in cookie for each in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"))
    return json.loads(answer.body)["token"], cookie.partition(";")[0]


def test_a_token_opens_every_operation(server: LochanServer) -> None:
    token, cookie = session(server)
    client = anonymous(server)
    for headers in ({"authorization": f"Bearer {token}"}, {"cookie": cookie}):
        user: Any = json.loads(client.ask("GET", f"{BASE}/user", None, **headers).body)
        assert user["user"]["id"] == "admin"
        assert client.ask("GET", f"{BASE}/repositories", None, **headers).status == 200
    assert client.ask("POST", f"{BASE}/auth/logout").headers["set-cookie"].startswith(f"{SESSION}=; Path=/; Max-Age=0")


def test_a_token_that_is_wrong(server: LochanServer) -> None:
    token, _ = session(server)
    text, _, signature = token.partition(".")
    for wrong in ("", ".", "nonsense", f"{text}.", f".{signature}", f"{text}A.{signature}", f"{text}.{'A' * 43}", "é"):
        answer = anonymous(server).ask("GET", f"{BASE}/user", cookie=f"{SESSION}={wrong}".encode().decode("latin-1"))
        assert (answer.status, wrong) == (401, wrong)
    assert login(anonymous(server), server.access_key, "wrong").status == 401
    assert login(anonymous(server), "LKIANOBODY", "wrong").status == 401


def test_a_page_of_another_site(server: LochanServer) -> None:
    _, cookie = session(server)
    sent = {"cookie": cookie, "content-type": "application/json"}
    body = json.dumps({"name": "crossed"}).encode()
    path = f"{BASE}/repositories"
    refused = anonymous(server).ask("POST", path, body, **sent, origin="https://elsewhere.example")
    assert refused.status == 403
    assert anonymous(server).ask("POST", path, body, **sent, origin=f"http://{server.api}").status == 201


def test_a_session_ends_with_its_key(server: LochanServer) -> None:
    server.lochan("auth", "users", "create", "guest")
    made = json.loads(server.lochan("auth", "keys", "create", "guest", "-f", "json"))
    answer = login(anonymous(server), made["access_key_id"], made["secret_access_key"])
    headers = {"authorization": f"Bearer {json.loads(answer.body)['token']}"}
    assert anonymous(server).ask("GET", f"{BASE}/user", None, **headers).status == 200
    server.lochan("auth", "keys", "revoke", made["access_key_id"], "--yes")
    assert anonymous(server).ask("GET", f"{BASE}/user", None, **headers).status == 401


def test_before_a_login(server: LochanServer) -> None:
    client = anonymous(server)
    assert json.loads(client.ask("GET", f"{BASE}/setup_lakefs").body)["state"] == "initialized"
    again = client.ask("POST", f"{BASE}/setup_lakefs", b'{"username": "x"}', **{"content-type": "application/json"})
    assert again.status == 409
    assert client.ask("GET", f"{BASE}/auth/capabilities").status == 200
