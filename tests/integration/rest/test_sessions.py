"""Short-lived credentials and limited keys over REST and S3, and what a session must not become."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import boto3
import pytest
import urllib3
from botocore.config import Config
from botocore.exceptions import ClientError

import lochan
from lochan.errors import LochanError
from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer

TOKENS = "/api/v1/auth/tokens"
_http = partial(urllib3.request, retries=False, timeout=60)
OBJECTS = "/api/v1/repositories/{}/refs/main/objects"


class Shop(NamedTuple):
    name: str
    limits: list[str]


@pytest.fixture(scope="module")
def shop(server: LochanServer) -> Iterator[Shop]:
    with lochan.connect(server.lake, user="ann") as lake:
        main = lake.create_repository("sessions").branch("main")
        main.put("in/a.csv", b"n\n1\n")
        main.put("out/b.csv", b"n\n2\n")
        main.commit("both")
        lake.create_pool("sessionrows").load([{"n": 1}])
        yield Shop("sessions", ["repository/sessions/branch/main/object/in/*"])


def asked(client: Client, **body: Any) -> Answer:
    return client.ask("POST", TOKENS, json.dumps(body).encode(), content_type="application/json")


def made(client: Client, limits: list[str]) -> dict[str, Any]:
    answer = asked(client, limits=limits, duration_seconds=600)
    assert answer.status == 201, answer
    found: dict[str, Any] = json.loads(answer.body)
    return found


def by_token(server: LochanServer, token: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
    sent = {"authorization": f"Bearer {token}", **headers}
    return _http(method, f"http://{server.api}{path}", json=body, headers=sent)


def test_a_session_reads_what_its_limits_contain(server: LochanServer, admin: Client, shop: Shop) -> None:
    token = made(admin, shop.limits)["session_token"]
    objects = OBJECTS.format(shop.name)
    assert by_token(server, token, "GET", f"{objects}?path=in/a.csv").data == b"n\n1\n"
    denied = by_token(server, token, "GET", f"{objects}?path=out/b.csv")
    absent = by_token(server, token, "GET", f"{objects}?path=out/none")
    assert (denied.status, denied.data) == (absent.status, absent.data) == (401, denied.data)
    listed = json.loads(by_token(server, token, "GET", f"{objects}/ls?prefix=in/").data)
    assert [each["path"] for each in listed["results"]] == ["in/a.csv"]
    assert by_token(server, token, "GET", f"{objects}/ls").status == 401
    assert json.loads(by_token(server, token, "GET", "/api/v1/repositories").data)["results"] == []


def test_a_link_of_a_session_is_no_wider(server: LochanServer, admin: Client, shop: Shop) -> None:
    token = made(admin, shop.limits)["session_token"]
    objects = OBJECTS.format(shop.name)
    stat = json.loads(by_token(server, token, "GET", f"{objects}/stat?path=in/a.csv&presign=true").data)
    link = stat["physical_address"]
    assert "X-Amz-Security-Token" in link
    s3 = _http("GET", link.replace(f"http://{server.api}", server.endpoint), headers={"host": server.api})
    assert (s3.status, s3.data) == (200, b"n\n1\n")
    moved = link.replace("in/a.csv", "out/b.csv").replace(f"http://{server.api}", server.endpoint)
    assert _http("GET", moved, headers={"host": server.api}).status == 403


def test_a_session_makes_no_session(server: LochanServer, admin: Client, shop: Shop) -> None:
    token = made(admin, shop.limits)["session_token"]
    again = by_token(server, token, "POST", TOKENS, {"limits": ["*"]})
    assert again.status == 403, again.data
    login = {"access_key_id": server.access_key, "secret_access_key": server.secret_key}
    logged_in = _http("POST", f"http://{server.api}/api/v1/auth/login", json=login)
    assert by_token(server, logged_in.json()["token"], "POST", TOKENS, {}).status == 403


@pytest.mark.parametrize("body", [{"duration_seconds": 0}, {"duration_seconds": 10**9}, {"limits": ["nonsense"]}])
def test_bad_requests_for_sessions(admin: Client, body: dict[str, Any]) -> None:
    assert asked(admin, **body).status == 400


def test_a_forged_token(server: LochanServer, admin: Client, shop: Shop) -> None:
    token = made(admin, shop.limits)["session_token"]
    for other in (token[:-4], token[:-6] + "AAAAAA", "lochan1.", "lochan1.!!!", "x" * 9_000):
        assert by_token(server, other, "GET", "/api/v1/repositories").status == 401


def test_over_s3(server: LochanServer, admin: Client, shop: Shop) -> None:
    session = made(admin, [*shop.limits, "repository/sessions"])
    with closing(
        boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            aws_access_key_id=session["access_key_id"],
            aws_secret_access_key=session["secret_access_key"],
            aws_session_token=session["session_token"],
            region_name="us-east-1",
            config=Config(retries={"max_attempts": 1}, signature_version="s3v4"),
        )
    ) as s3:
        assert s3.get_object(Bucket="sessions", Key="main/in/a.csv")["Body"].read() == b"n\n1\n"
        s3.put_object(Bucket="sessions", Key="main/in/new", Body=b"new")
        s3.head_bucket(Bucket="sessions")
        listed = s3.list_objects_v2(Bucket="sessions", Prefix="main/in/")
        assert [each["Key"] for each in listed["Contents"]] == ["main/in/a.csv", "main/in/new"]
        link = s3.generate_presigned_url("get_object", {"Bucket": "sessions", "Key": "main/in/a.csv"})
        assert _http("GET", link).data == b"n\n1\n"
        for key in ("main/out/b.csv", "main/none"):
            with pytest.raises(ClientError, match="AccessDenied"):
                s3.get_object(Bucket="sessions", Key=key)
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.copy_object(
                Bucket="sessions", Key="main/in/b", CopySource={"Bucket": "sessions", "Key": "main/out/b.csv"}
            )
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.copy_object(
                Bucket="sessions", Key="main/out/c", CopySource={"Bucket": "sessions", "Key": "main/in/a.csv"}
            )


def test_a_limited_key_through_the_verbs(server: LochanServer, shop: Shop) -> None:
    """Not by a merge, a workspace, a stash, a query or a branch of one's own does it reach further."""
    with lochan.connect(server.lake, user="ann") as lake:
        key = lake.access.create_key("admin", limits=[*shop.limits, "repository/sessions/branch/main"])
    with lochan.connect(
        f"http://{server.api}", access_key=key.access_key_id, secret_key=key.secret_access_key
    ) as limited:
        main = limited.repository("sessions").branch("main")
        assert main.read("in/a.csv") == b"n\n1\n"
        main.put("in/again", b"x")
        tries: list[Callable[[], object]] = [
            lambda: main.read("out/b.csv"),
            lambda: main.put("out/new", b"x"),
            lambda: main.move("in/a.csv", "out/a.csv"),
            lambda: main.copy(main, "out/b.csv", "in/b.csv"),
            lambda: main.delete("out/b.csv"),
            lambda: main.merge("dev"),
            lambda: limited.repository("sessions").create_branch("mine"),
            lambda: limited.repository("sessions").create_tag("mine"),
            lambda: limited.repository("sessions").unprotect("main"),
            lambda: limited.repository("sessions").delete(),
            lambda: limited.create_repository("mine"),
            lambda: limited.query("from sessionrows").rows(),
            lambda: limited.query("from sessions@main/out/b.csv").rows(),
            lambda: limited.access.create_key("admin"),
            lambda: limited.access.create_token(key.access_key_id),
            lambda: limited.access.rotate_key(key.access_key_id),
            lambda: limited.access.attach("Admin", "admin"),
        ]
        for number, each in enumerate(tries):
            with pytest.raises(LochanError) as caught:
                each()
            assert caught.value.kind in ("refused", "denied"), (number, caught.value)
        assert list(limited.repositories()) == []


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://elsewhere.example"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}],
)
def test_a_page_of_another_site_changes_nothing(server: LochanServer, headers: dict[str, str]) -> None:
    login = {"access_key_id": server.access_key, "secret_access_key": server.secret_key}
    answer = _http("POST", f"http://{server.api}/api/v1/auth/login", json=login)
    cookie = answer.headers["set-cookie"].partition(";")[0]
    url, body = f"http://{server.api}/api/v1/auth/users", {"id": "made-by-a-page"}
    refused = _http("POST", url, json=body, headers={"cookie": cookie, **headers})
    assert (refused.status, b"another site" in refused.data) == (403, True)
    own = {"cookie": cookie, "origin": f"http://{server.api}", "sec-fetch-site": "same-origin"}
    assert _http("GET", url, headers=own).status == 200
