"""Behind a trusted proxy, conditions, limits of sign-ins and the audit have the client's address; from anybody else the
header that says so counts for nothing. By the fast path and the general one, over S3 and the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server

INSIDE, OUTSIDE = "10.1.2.3", "203.0.113.9"
BASE = "/api/v1"
OPTIONS = ("-s", "usage.flush_s=0.1")


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[LochanServer, Client]]:
    """And a user who may read from inside alone."""
    with lochan_server(folder / "lake", options=(*OPTIONS, *options)) as server:
        server.lochan("repo", "create", "shop")
        server.lochan("fs", "upload", "-", "shop/a.csv", stdin=b"1")
        policy = {"effect": "allow", "actions": "*", "resources": "*", "when": {"source": f"{INSIDE}/32"}}
        server.lochan("auth", "policies", "put", "Inside", "-", stdin=json.dumps({"statements": [policy]}).encode())
        server.lochan("auth", "users", "create", "ada")
        server.lochan("auth", "attach", "ada", "Inside")
        key = json.loads(server.lochan("auth", "keys", "create", "ada", "-f", "json"))
        yield server, Client(server.api, key["access_key_id"], key["secret_access_key"])
        assert not server.traceback(), server.traceback()


def status(server: LochanServer, ada: Client, forwarded: str) -> tuple[int, int]:
    """Of an object, over the API and over S3."""
    by_api = ada.ask("GET", f"{BASE}/repositories/shop/refs/main/objects?path=a.csv", x_forwarded_for=forwarded)
    with closing(server.boto3(key=ada.key, secret=ada.secret)) as s3:

        def add(request: Any, **more: object) -> None:
            request.headers["X-Forwarded-For"] = forwarded

        s3.meta.events.register("before-send.s3.*", add)
        try:
            return by_api.status, s3.get_object(Bucket="shop", Key="main/a.csv")["ResponseMetadata"]["HTTPStatusCode"]
        except ClientError as error:
            return by_api.status, error.response["ResponseMetadata"]["HTTPStatusCode"]


def test_behind_a_trusted_proxy(tmp_path: Path) -> None:
    with served(tmp_path, "-s", "server.trusted_proxies=127.0.0.1 192.168.0.0/16") as (server, ada):
        assert status(server, ada, INSIDE) == (200, 200)
        assert status(server, ada, f"{INSIDE}, 192.168.1.1") == (200, 200)
        for claim in (OUTSIDE, f"{INSIDE}, {OUTSIDE}", f"{INSIDE}, unknown", "unknown"):
            assert status(server, ada, claim) == (401, 403), claim
        admin = Client(server.api, server.access_key, server.secret_key)
        path = f"{BASE}/repositories/shop/branches/main/objects?path=b.csv"
        put = admin.ask("POST", path, b"2", x_forwarded_for=OUTSIDE, content_type="application/octet-stream")
        assert put.status == 201, put.body
        with closing(server.boto3()) as s3:

            def add(request: Any, **more: object) -> None:
                request.headers["X-Forwarded-For"] = OUTSIDE

            s3.meta.events.register("before-send.s3.*", add)
            for number in range(3):  # the later ones on the fast path
                s3.put_object(Bucket="shop", Key=f"main/s3-{number}", Body=b"3")
                s3.get_object(Bucket="shop", Key=f"main/s3-{number}")
        staged = [json.loads(line) for line in server.lochan("events", "shop", "--all", "-f", "json").splitlines()]
        by_server = [each for each in staged if each["type"] == "staged" and each["client"] in ("s3", "rest")]
        assert len(by_server) == 4
        assert {each["source"] for each in by_server} == {OUTSIDE}

        # Wrong secrets from one address make nobody wait at another.
        for _ in range(25):
            last = Client(server.api, server.access_key, "wrong").ask(
                "GET", f"{BASE}/user", x_forwarded_for="198.51.100.66"
            )
        assert last.status == 429
        elsewhere = Client(server.api, server.access_key, "wrong").ask("GET", f"{BASE}/user", x_forwarded_for=OUTSIDE)
        assert elsewhere.status == 401


@pytest.mark.parametrize("options", [(), ("-s", "server.trusted_proxies=192.168.0.0/16")], ids=["none", "others"])
def test_a_claim_of_anybody_else_counts_for_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    with served(tmp_path, *options) as (server, ada):
        for claim in (INSIDE, f"127.0.0.1, {INSIDE}"):
            assert status(server, ada, claim) == (401, 403), claim


def test_a_server_does_not_start_with_what_is_no_network(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="is no address and no network"),
        lochan_server(tmp_path / "lake", options=("-s", "server.trusted_proxies=proxy.example.org")),
    ):
        pass
