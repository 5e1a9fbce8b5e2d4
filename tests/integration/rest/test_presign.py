"""Presigned addresses: to read an object, and to put the bytes of one."""

import http.client
import json
from hashlib import md5
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

import lochan
from tests.integration.api.client import Answer, Client
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import MinioServer

HERE = "/api/v1/repositories/signed"


@pytest.fixture(scope="module", autouse=True)
def signed(server: LochanServer) -> None:
    server.lochan("repo", "create", "signed")


def fetch(method: str, url: str, body: bytes | None = None, **headers: str) -> Answer:
    """Without credentials."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.netloc, timeout=30)
    try:
        connection.request(method, f"{where.path}?{where.query}", body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["main", "", "main~1"])
def test_a_lake_behind_a_server_gives_urls_on_any_store(server: LochanServer, name: str) -> None:
    with lochan.connect(f"http://{server.api}", access_key=server.access_key, secret_key=server.secret_key) as lake:
        main = lake.repository("signed").branch("main")
        for number in range(2):
            main.put("by python/ü.txt", b"bytes")
            main.commit(f"{name} {number}", lochan.CommitOptions(), allow_empty=True)
        ref = lake.repository("signed").ref(name)
        given = ref.presign("by python/ü.txt", expires_s=60)
        assert given is not None and given.expires is not None
        assert fetch("GET", given.url).body == b"bytes"
        assert (
            fetch("GET", given.url.replace("expires", "Expires").replace("X-Amz-Expires=60", "X-Amz-Expires=61")).status
            == 403
        )
        with pytest.raises(lochan.errors.NotFound):
            ref.presign("none")
        with pytest.raises(lochan.errors.Invalid):
            ref.presign("by python/ü.txt", expires_s=0)


def found(answer: Answer) -> Any:
    assert answer.status in (200, 201), (answer.status, answer.body)
    return json.loads(answer.body)


def upload_and_link(client: Client, here: str, path: str, data: bytes) -> str:
    """The presigned address that took the bytes."""
    at = f"{here}/branches/main/staging/backing?path={quote(path, safe='')}"
    given = found(client.ask("GET", f"{at}&presign=true"))
    put = fetch("PUT", given["presigned_url"], data)
    assert put.status == 200, (given, put)
    assert (put.status, put.headers["etag"].strip('"')) == (200, md5(data).hexdigest()), put.body
    value = {"staging": given, "checksum": put.headers["etag"].strip('"'), "size_bytes": len(data)}
    linked = client.ask("PUT", at, json.dumps(value).encode(), **{"content-type": "application/json"})
    assert found(linked)["size_bytes"] == len(data)
    return str(given["presigned_url"])


@pytest.mark.parametrize("path", ["plain.txt", "a b/c+d é%41.txt"])
def test_an_object_is_put_and_read(admin: Client, path: str) -> None:
    url = upload_and_link(admin, HERE, path, b"presigned")
    name = quote(path, safe="")
    stat = found(admin.ask("GET", f"{HERE}/refs/main/objects/stat?path={name}&presign=true"))
    assert stat["physical_address_expiry"] > stat["mtime"]
    assert fetch("GET", stat["physical_address"]).body == b"presigned"
    listed = found(admin.ask("GET", f"{HERE}/refs/main/objects/ls?prefix={name}&presign=true"))["results"]
    assert [fetch("GET", each["physical_address"]).body for each in listed] == [b"presigned"]
    led = admin.ask("GET", f"{HERE}/refs/main/objects?path={name}&presign=true")
    assert led.status == 302
    assert fetch("GET", led.headers["location"], None, **admin.authorization).body == b"presigned"
    assert fetch("PUT", url, b"another").status in (400, 409)  # it was linked


def test_a_link_that_was_changed(admin: Client) -> None:
    upload_and_link(admin, HERE, "one", b"1")
    upload_and_link(admin, HERE, "two", b"2")
    url = found(admin.ask("GET", f"{HERE}/refs/main/objects/stat?path=one&presign=true"))["physical_address"]
    assert fetch("GET", url.replace("/one?", "/two?")).status == 403
    given = found(admin.ask("GET", f"{HERE}/branches/main/staging/backing?path=one&presign=true"))
    assert fetch("PUT", given["presigned_url"].replace("path=one", "path=two"), b"x").status == 401
    assert fetch("PUT", given["presigned_url"].partition("&X-Amz")[0], b"x").status == 401
    missing = admin.ask("GET", f"{HERE}/refs/main/objects/stat?path=none&presign=true")
    assert missing.status == 404


def test_only_what_is_given_out_is_signed_in_the_query(admin: Client) -> None:
    url = found(admin.ask("GET", f"{HERE}/branches/main/staging/backing?path=one&presign=true"))["presigned_url"]
    query = urlsplit(url).query
    assert fetch("GET", f"http://{admin.address}/api/v1/repositories?{query}").status == 401


def test_on_a_bucket_the_store_signs(minio_server: MinioServer) -> None:
    bucket = minio_server.bucket("presigned-by-rest")
    env = {
        "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
        "LOCHAN_BLOCKSTORE__S3__ENDPOINT": minio_server.endpoint,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": minio_server.access_key,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": minio_server.secret_key,
    }
    with lochan_server(f"s3://{bucket}/lake", env=env) as running:
        running.lochan("repo", "create", "signed")
        client = Client(running.api, running.access_key, running.secret_key)
        url = upload_and_link(client, HERE, "of/its own", b"12345")
        assert urlsplit(url).netloc in minio_server.endpoint
        assert fetch("PUT", url, b"other").status == 200  # the store still takes bytes there, which nobody reads
        assert client.ask("GET", f"{HERE}/refs/main/objects?path=of%2Fits%20own").body == b"12345"
        stat = found(client.ask("GET", f"{HERE}/refs/main/objects/stat?path=of%2Fits%20own&presign=true"))
        assert urlsplit(stat["physical_address"]).netloc in minio_server.endpoint
        assert fetch("GET", stat["physical_address"]).body == b"12345"
        for name in ("x", "y"):  # small ones share a file
            made = client.ask("POST", f"{HERE}/branches/main/objects?path={name}", name.encode())
            assert made.status == 201
            stat = found(client.ask("GET", f"{HERE}/refs/main/objects/stat?path={name}&presign=true"))
            assert fetch("GET", stat["physical_address"]).body == name.encode()
        assert "https://" in running.lochan("fs", "presign", "signed@main/of/its own") or "http://" in running.lochan(
            "fs", "presign", "signed@main/of/its own"
        )
        assert not running.traceback()
