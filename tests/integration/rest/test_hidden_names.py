"""A user without rights asks every route, about names that exist and about names that do not: the answers are the same,
whatever they send. And no body that makes no sense makes the server fail."""

import json
import re
from collections.abc import Iterator

import pytest

from lochan.server.api.routes import ROUTES
from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer

NAMES = {
    "repository": "hidden-files",
    "pool": "hidden-rows",
    "branch": "main",
    "ref": "main",
    "tag": "v1",
    "left": "main",
    "right": "main",
    "user": "admin",
    "userId": "admin",
    "workspace": "main+x",
    "partNumber": "1",
    "number": "1",
}
ABSENT = {"repository": "not-hidden-files", "pool": "not-hidden-rows"}
QUERY = "?path=hidden.txt&object=hidden.txt&dest_path=b&prefix=&type=range&token=t"
SENSELESS = (
    b"[1]",
    b'{"a":',
    b"null",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"x": 1e400}',
    b"\xff\xfe",
    b'"' + b"x" * 1_000_000 + b'"',
)
ENDLESS = "events"  # answers that do not end by themselves


@pytest.fixture(scope="module")
def nobody(server: LochanServer) -> Client:
    server.lochan("repo", "create", NAMES["repository"])
    server.lochan("create", NAMES["pool"], "--key", "k")
    server.lochan("fs", "upload", "-", f"{NAMES['repository']}/hidden.txt", stdin=b"x")
    server.lochan("commit", NAMES["repository"], "-m", "it")
    server.lochan("tag", "create", f"{NAMES['repository']}@v1")
    server.lochan("auth", "users", "create", "nobody")
    made = json.loads(server.lochan("auth", "keys", "create", "nobody", "-f", "json"))
    return Client(server.api, made["access_key_id"], made["secret_access_key"])


def paths() -> Iterator[tuple[str, str, str]]:
    """Method, and the path of each route about what is there and about what is not."""
    for row in ROUTES:
        if row.path.startswith("/api/v1/") and not (row.method == "GET" and ENDLESS in row.path):
            there, absent = (_filled(row.path, names) for names in (NAMES, {**NAMES, **ABSENT}))
            yield row.method, there, absent


def _filled(path: str, names: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: names.get(found[1], "x"), path)


def comparable(answer: Answer) -> tuple[int, bytes]:
    """Without what differs each time: ids, times, secrets, and the name that was asked for."""
    body = answer.body.replace(b"not-hidden", b"hidden")
    return answer.status, re.sub(rb"[0-9A-Za-z_+/=-]{16,}|[0-9]+", b"#", body)


def test_what_exists_is_like_what_does_not(nobody: Client) -> None:
    told, count = [], 0
    for method, there, absent in paths():
        if there == absent:
            continue
        for query in ("", QUERY):
            body = None if method == "GET" else b"{}"
            one, other = (
                nobody.ask(method, f"{path}{query}", body, **{"content-type": "application/json"})
                for path in (there, absent)
            )
            count += 1
            if comparable(one) != comparable(other):
                told.append((method, there, query, one.status, one.body[:200], other.status, other.body[:200]))
            assert one.status < 500 or one.status == 501, (method, there, one)
    assert not told
    assert count > 400


def test_bodies_that_make_no_sense(nobody: Client) -> None:
    """Some routes have no use for a body, and ignore it."""
    routes = [(method, there) for method, there, _ in paths() if method in ("POST", "PUT", "PATCH")]
    for number, (method, there) in enumerate(routes):
        body = SENSELESS[number % len(SENSELESS)]
        for query in ("", QUERY):
            answer = nobody.ask(method, f"{there}{query}", body, **{"content-type": "application/json"})
            assert answer.status < 500 or answer.status == 501, (method, there, body[:20], answer)


@pytest.mark.parametrize(
    "path, body, field",
    [
        ("/auth/tokens", {"limit": ["repository/a"]}, "limit"),
        ("/auth/users", {"id": "u", "admin": True}, "admin"),
        (
            "/auth/policies",
            {"id": "p", "statement": [{"effect": "allow", "resource": "*", "action": ["fs:*"], "conditions": {}}]},
            "conditions",
        ),
    ],
)
def test_a_field_that_is_not_known_is_named(admin: Client, path: str, body: object, field: str) -> None:
    """What narrows a right must not be ignored because it is misspelt."""
    answer = admin.ask("POST", f"/api/v1{path}", json.dumps(body).encode(), **{"content-type": "application/json"})
    assert answer.status == 400 and field in json.loads(answer.body)["message"], answer
