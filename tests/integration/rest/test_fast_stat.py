"""A plain `stat` takes a short way, and its answer is never older than the moment it is asked for: whatever another
process has changed in between is seen."""

import json
import time

import pytest

from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer

STAT = "/api/v1/repositories/known/refs/main/objects/stat"


@pytest.fixture(scope="module", autouse=True)
def known(server: LochanServer) -> None:
    server.lochan("repo", "create", "known")


def stat(client: Client, query: str = "path=a", at: str = STAT) -> Answer:
    return client.ask("GET", f"{at}?{query}")


def put(server: LochanServer, data: bytes, path: str = "a") -> None:
    server.lochan("fs", "upload", "-", f"known/{path}", stdin=data)


def test_what_another_process_changes_is_seen(server: LochanServer, admin: Client) -> None:
    for size in (1, 2, 3):
        put(server, b"x" * size)
        found = [stat(admin) for _ in range(4)]
        assert {(each.status, json.loads(each.body)["size_bytes"]) for each in found} == {(200, size)}
        assert len({each.headers["x-request-id"] for each in found}) == 4
    server.lochan("fs", "rm", "known/a")
    assert stat(admin).status == 404


def test_rights_that_are_taken_away(server: LochanServer) -> None:
    put(server, b"1")
    server.lochan("auth", "users", "create", "stat-reader")
    server.lochan("auth", "attach", "stat-reader", "Admin")
    made = json.loads(server.lochan("auth", "keys", "create", "stat-reader", "-f", "json"))
    reader = Client(server.api, made["access_key_id"], made["secret_access_key"])
    assert {stat(reader).status for _ in range(4)} == {200}
    assert stat(reader._replace(secret="wrong")).status == 401
    server.lochan("auth", "detach", "stat-reader", "Admin")
    assert stat(reader).status in (401, 403)
    server.lochan("auth", "attach", "stat-reader", "Admin")
    assert {stat(reader).status for _ in range(4)} == {200}
    server.lochan("auth", "keys", "revoke", made["access_key_id"], "--yes")
    assert stat(reader).status == 401


def test_a_repository_that_gets_another_name(server: LochanServer, admin: Client) -> None:
    put(server, b"1")
    assert {stat(admin).status for _ in range(4)} == {200}
    server.lochan("rename", "known", "renamed")
    assert stat(admin).status == 404
    server.lochan("rename", "renamed", "known")
    assert stat(admin).status == 200


def test_a_presigned_address_is_made_each_time(server: LochanServer, admin: Client) -> None:
    put(server, b"1")
    for query in ("path=a&presign=true", "path=a&%70resign=true"):
        first = json.loads(stat(admin, query).body)["physical_address_expiry"]
        time.sleep(1.1)  # the seconds of its end are what is looked at
        assert json.loads(stat(admin, query).body)["physical_address_expiry"] > first
