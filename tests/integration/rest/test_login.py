"""Sessions: a token for an access key, as Bearer and in a cookie."""

import json
from typing import Any

from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer, lochan_server

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
    id, _, secret = token.partition(".")
    for wrong in ("", ".", "nonsense", f"{id}.", f".{secret}", f"{id}A.{secret}", f"{id}.{'A' * 40}", token + "A", "é"):
        answer = anonymous(server).ask("GET", f"{BASE}/user", cookie=f"{SESSION}={wrong}".encode().decode("latin-1"))
        assert (answer.status, wrong) == (401, wrong)
    assert login(anonymous(server), server.access_key, "wrong").status == 401
    assert login(anonymous(server), "LKIANOBODY", "wrong").status == 401


def test_a_page_of_another_site(server: LochanServer) -> None:
    _, cookie = session(server)
    sent = {"cookie": cookie, "content-type": "application/json"}
    body = json.dumps({"name": "crossed"}).encode()
    path = f"{BASE}/repositories"
    for origin in ("https://elsewhere.example", "http://[", f"http://{server.api}:99999", "null"):
        assert anonymous(server).ask("POST", path, body, **sent, origin=origin).status == 403, origin
    assert anonymous(server).ask("POST", path, body, **sent, origin=f"http://{server.api}").status == 201


def test_a_session_ends_with_its_key(server: LochanServer) -> None:
    server.lochan("auth", "users", "create", "guest")
    made = json.loads(server.lochan("auth", "keys", "create", "guest", "-f", "json"))
    answer = login(anonymous(server), made["access_key_id"], made["secret_access_key"])
    headers = {"authorization": f"Bearer {json.loads(answer.body)['token']}"}
    assert anonymous(server).ask("GET", f"{BASE}/user", None, **headers).status == 200
    server.lochan("auth", "keys", "revoke", made["access_key_id"], "--yes")
    assert anonymous(server).ask("GET", f"{BASE}/user", None, **headers).status == 401


def test_a_logout_ends_the_session_at_a_second_server_at_once(server: LochanServer) -> None:
    with lochan_server(server.lake, init=False) as second:
        for how in ("bearer", "cookie"):
            token, cookie = session(server)
            sent = {"authorization": f"Bearer {token}"} if how == "bearer" else {"cookie": cookie}
            for each in (server, second):
                assert anonymous(each).ask("GET", f"{BASE}/user", None, **sent).status == 200
            assert anonymous(server).ask("POST", f"{BASE}/auth/logout", None, **sent).status == 204
            for each in (second, server):
                answer = anonymous(each).ask("GET", f"{BASE}/user", None, **sent)
                assert (answer.status, b"log in again" in answer.body) == (401, True)
            assert anonymous(second).ask("POST", f"{BASE}/auth/logout", None, **sent).status == 204


def test_a_page_of_another_site_cannot_log_anybody_out(server: LochanServer) -> None:
    _, cookie = session(server)
    crossed = anonymous(server).ask(
        "POST", f"{BASE}/auth/logout", None, cookie=cookie, origin="https://elsewhere.example"
    )
    assert crossed.status == 403
    assert anonymous(server).ask("GET", f"{BASE}/user", None, cookie=cookie).status == 200


def test_an_administrator_lists_and_ends_sessions(server: LochanServer) -> None:
    server.lochan("auth", "users", "create", "signed-in")
    made = json.loads(server.lochan("auth", "keys", "create", "signed-in", "-f", "json"))
    tokens = [
        json.loads(login(anonymous(server), made["access_key_id"], made["secret_access_key"]).body)["token"]
        for _ in range(3)
    ]
    listed = json.loads(server.lochan("auth", "sessions", "list", "--user", "signed-in", "-f", "json"))
    assert [each["id"] for each in listed] == [each.partition(".")[0] for each in tokens]
    assert {(each["how"], each["address"], each["access_key_id"]) for each in listed} == {
        ("key", "127.0.0.1", made["access_key_id"])
    }

    def status(token: str) -> int:
        return anonymous(server).ask("GET", f"{BASE}/user", None, authorization=f"Bearer {token}").status

    server.lochan("auth", "sessions", "end", listed[0]["id"], "--yes")
    assert [status(each) for each in tokens] == [401, 200, 200]
    own = anonymous(server).ask("GET", f"{BASE}/access/sessions", None, authorization=f"Bearer {tokens[1]}")
    assert [json.loads(line)["id"] for line in own.body.splitlines()] == [each["id"] for each in listed[1:]]
    path = f"{BASE}/access/sessions/{listed[1]['id']}"
    assert anonymous(server).ask("DELETE", path, None, authorization=f"Bearer {tokens[2]}").status in (200, 204)
    assert [status(each) for each in tokens] == [401, 401, 200]
    server.lochan("auth", "users", "disable", "signed-in")
    assert status(tokens[2]) == 401
    server.lochan("auth", "users", "enable", "signed-in")
    assert status(tokens[2]) == 401


def test_nobody_ends_the_session_of_somebody_else(server: LochanServer) -> None:
    server.lochan("auth", "users", "create", "curious")
    made = json.loads(server.lochan("auth", "keys", "create", "curious", "-f", "json"))
    token, _ = session(server)
    curious = Client(server.api, made["access_key_id"], made["secret_access_key"])
    id = token.partition(".")[0]
    assert curious.ask("DELETE", f"{BASE}/access/sessions/{id}").status == 401
    assert curious.ask("DELETE", f"{BASE}/access/users/admin/sessions").status == 401
    assert curious.ask("GET", f"{BASE}/access/sessions").body == b""


def test_before_a_login(server: LochanServer) -> None:
    client = anonymous(server)
    assert json.loads(client.ask("GET", f"{BASE}/setup_lakefs").body)["state"] == "initialized"
    again = client.ask("POST", f"{BASE}/setup_lakefs", b'{"username": "x"}', **{"content-type": "application/json"})
    assert again.status == 409
    assert client.ask("GET", f"{BASE}/auth/capabilities").status == 200
