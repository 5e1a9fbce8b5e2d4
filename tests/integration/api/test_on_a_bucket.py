"""Queries over HTTP on a lake in a bucket that others write to."""

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.api.client import QUERY, Client
from tests.integration.api.test_query import ENDLESS
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import MinioServer


@pytest.fixture(scope="module")
def server(minio_server: MinioServer) -> Iterator[LochanServer]:
    env = {
        "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
        "LOCHAN_BLOCKSTORE__S3__ENDPOINT": minio_server.endpoint,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": minio_server.access_key,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": minio_server.secret_key,
        "LOCHAN_API__QUERY__AT_ONCE": "2",
    }
    with lochan_server(f"s3://{minio_server.bucket('below-the-queries')}/lake", env=env) as running:
        running.lochan("create", "logs", "--key", "k")
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


def test_each_query_sees_what_was_loaded_before(server: LochanServer) -> None:
    client = Client(server.api, server.access_key, server.secret_key)
    for number in range(1, 3):
        server.lochan("load", "logs", "-", stdin=b"".join(b'{"k":%d}\n' % (10 * number + k) for k in range(10)))
        with ThreadPoolExecutor(6) as pool:
            found = [pool.submit(client.query, "from logs | count()") for _ in range(6)]
        assert [each.result().rows for each in found] == [[{"count": 10 * number}]] * 6
    more = b"".join(b'{"k":%d}\n' % k for k in range(1_000, 3_000))  # so that a join of it with itself has no end
    server.lochan("load", "logs", "-", stdin=more)
    with client.begun(ENDLESS.replace("b.host", "b.k as other"), "application/json") as answer:
        assert answer.read(100)
        assert client.ask("DELETE", f"{QUERY}/{answer.headers['x-query-id']}").status == 204
        with pytest.raises(http.client.IncompleteRead):
            answer.read()


def test_a_key_works_at_once_and_not_any_more_once_it_is_revoked(server: LochanServer) -> None:
    server.lochan("auth", "users", "create", "ada")
    server.lochan("auth", "attach", "ada", "Analyst")
    made = json.loads(server.lochan("auth", "keys", "create", "ada", "-f", "json"))
    client = Client(server.api, made["access_key_id"], made["secret_access_key"])
    assert client.query("from logs | head 1").rows == [{"k": 10}]
    server.lochan("auth", "detach", "ada", "Analyst")
    assert client.query("from logs | head 1").status == 401
    assert client.ask("GET", QUERY).status == 200
    server.lochan("auth", "keys", "revoke", "--yes", made["access_key_id"])
    assert client.ask("GET", QUERY).status == 401
