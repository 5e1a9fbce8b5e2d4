"""A repository with a storage of its own, through the server: S3, REST, pools over HTTP; and who may make one."""

import json
from pathlib import Path
from typing import Any

from tests.integration.api.client import Answer, Client
from tests.servers.lochan import lochan_server


def send(client: Client, method: str, path: str, value: Any) -> Answer:
    return client.ask(method, path, json.dumps(value).encode(), content_type="application/json")


def test_every_door_follows(tmp_path: Path) -> None:
    own = tmp_path / "own"
    with lochan_server(tmp_path / "lake") as server:
        admin = Client(server.api, server.access_key, server.secret_key)
        made = json.loads(server.lochan("repo", "create", "shop", "--storage", str(own / "shop"), "-f", "json"))
        server.lochan("repo", "create", "rows", "--kind", "pool", "--storage", str(own / "rows"))

        s3 = server.boto3()
        s3.put_object(Bucket="shop", Key="main/a.txt", Body=b"one")
        s3.put_object(Bucket="shop", Key="main/large.bin", Body=b"x" * 300_000)
        assert s3.get_object(Bucket="shop", Key="main/a.txt")["Body"].read() == b"one"
        assert [each["Key"] for each in s3.list_objects_v2(Bucket="shop")["Contents"]] == [
            "main/a.txt",
            "main/large.bin",
        ]
        s3.copy_object(Bucket="shop", Key="main/b.txt", CopySource="shop/main/a.txt")
        s3.close()
        shown = json.loads(admin.ask("GET", "/api/v1/repositories/shop").body)
        assert shown["storage_namespace"] == (own / "shop").as_uri()
        committed = send(admin, "POST", "/api/v1/repositories/shop/branches/main/commits", {"message": "first"})
        assert committed.status == 201, committed.body
        assert admin.ask("GET", "/api/v1/repositories/shop/refs/main/objects?path=b.txt").body == b"one"
        assert admin.ask("POST", "/api/v1/pools/rows/rows", b'{"k": 1}').status == 200
        assert admin.query("from rows").rows == [{"k": 1}]

        inside = [path for path in (tmp_path / "lake").rglob("*") if made["id"] in str(path)]
        assert inside == [], "nothing of it lies in the lake"
        wanted = {"name": "new", "storage_namespace": f"file://{tmp_path}/else", "storage_id": "team"}
        refused = send(admin, "POST", "/api/v1/repositories", wanted)
        assert (refused.status, (tmp_path / "else").exists()) == (400, False), "a folder of the server's machine"
        wanted["storage_namespace"] = "s3://bucket/prefix"
        assert send(admin, "POST", "/api/v1/repositories", wanted).status == 404, "there is no such profile"
        traceback = server.traceback()
    assert not traceback, traceback
