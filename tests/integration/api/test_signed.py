"""Requests to the API that are signed like those to the gateway, and what only some users may read."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.integration.api.client import QUERY, Answer, Client
from tests.integration.api.test_query_rights import Made, person

__all__ = ["person"]  # a fixture
BODY = json.dumps({"query": "from logs | count()"}).encode()


def signed(
    client: Client,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    token: str | None = None,
    ago: timedelta = timedelta(0),
) -> dict[str, str]:
    """The headers, as botocore signs."""
    request = AWSRequest(method, f"http://{client.address}{path}", {"Host": client.address}, body)
    moment = (datetime.now(UTC) - ago).replace(tzinfo=None)
    request.context["timestamp"] = moment.strftime("%Y%m%dT%H%M%SZ")
    with patch("botocore.auth.get_current_datetime", lambda: moment):
        S3SigV4Auth(Credentials(client.key, client.secret, token), "s3", "us-east-1").add_auth(request)
    return dict(request.headers.items())


def sent(client: Client, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
    return client._replace(key="").ask(method, path, body or None, **headers)


@pytest.mark.parametrize("path", [QUERY, f"{QUERY}?a=b&c=%20d", f"{QUERY}/no%2Bsuch%C3%BC"])
def test_a_signed_request_is_its_users(admin: Client, path: str) -> None:
    answer = sent(admin, "GET", path, b"", signed(admin, "GET", path))
    assert answer.status == (404 if "such" in path else 200), answer


def test_a_signed_query_is_answered(admin: Client) -> None:
    answer = sent(admin, "POST", QUERY, BODY, signed(admin, "POST", QUERY, BODY))
    assert (answer.status, len(answer.rows)) == (200, 1)


SPOILED: dict[str, tuple[Callable[[Client], tuple[str, bytes, dict[str, str]]], int, str]] = {
    "another body": (
        lambda c: (QUERY, BODY + b" ", signed(c, "POST", QUERY, BODY)),
        400,
        "not the one that was signed",
    ),
    "another path": (lambda c: (f"{QUERY}/x", BODY, signed(c, "POST", QUERY, BODY)), 405, ""),
    "another query": (lambda c: (f"{QUERY}?a", BODY, signed(c, "POST", QUERY, BODY)), 401, "signature is wrong"),
    "another secret": (
        lambda c: (QUERY, BODY, signed(c._replace(secret="guessed"), "POST", QUERY, BODY)),
        401,
        "signature is wrong",
    ),
    "an unknown key": (
        lambda c: (QUERY, BODY, signed(c._replace(key="NOBODY"), "POST", QUERY, BODY)),
        401,
        "signature is wrong",
    ),
    "an old one": (lambda c: (QUERY, BODY, signed(c, "POST", QUERY, BODY, ago=timedelta(hours=1))), 401, "difference"),
    "a session": (lambda c: (QUERY, BODY, signed(c, "POST", QUERY, BODY, token="t")), 401, "session"),
    "a header more": (
        lambda c: (QUERY, BODY, {**signed(c, "POST", QUERY, BODY), "x-amz-meta-a": "b"}),
        401,
        "not signed",
    ),
}


@pytest.mark.parametrize("how", SPOILED)
def test_one_that_was_spoiled_is_refused(admin: Client, how: str) -> None:
    make, status, words = SPOILED[how]
    path, body, headers = make(admin)
    answer = sent(admin, "POST", path, body, headers)
    assert answer.status == status, answer
    assert words in answer.message


def test_the_body_must_be_signed(admin: Client) -> None:
    with patch.object(S3SigV4Auth, "payload", lambda *_: "UNSIGNED-PAYLOAD"):
        headers = {**signed(admin, "POST", QUERY, BODY), "X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}
    answer = sent(admin, "POST", QUERY, BODY, headers)
    assert answer.status == 400 and "must cover the body" in answer.message


def test_settings_of_logins_need_the_right_to_read_them(admin: Client, person: Made) -> None:
    for client in (admin._replace(key=""), person(), person(("fs:*", "*"), ("auth:*", "*"))):
        assert client.ask("GET", "/api/v1/auth/settings").status == 401
    for client in (admin, person(("lake:ReadSettings", "lake"))):
        assert json.loads(client.ask("GET", "/api/v1/auth/settings").body) == {"oidc": None, "ldap": None}


def test_metrics_need_the_right_to_read_them(admin: Client, person: Made) -> None:
    for client in (admin._replace(key=""), person(), person(("fs:*", "*"))):
        answer = client.ask("GET", "/_metrics")
        assert answer.status == 401 and b"lochan_" not in answer.body
        assert answer.headers["content-type"].startswith("text/plain"), "below /api alone JSON is spoken"
    for client in (admin, person(("lake:ReadMetrics", "lake"))):
        assert b"lochan_queries_now" in client.ask("GET", "/_metrics").body
