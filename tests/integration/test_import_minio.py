"""A real bucket: listed in spans, followed by the events that it sends, and exported to."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_cli_versioning import answer, fine, newcomer
from tests.run import run
from tests.servers.minio import MinioServer
from tests.until import until

__all__ = ["newcomer"]  # a fixture

BUCKET = "import-source"


@pytest.fixture
def client(minio_server: MinioServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    monkeypatch.setenv("LOCHAN_LAKE", f"s3://{minio_server.bucket('import-lake')}/lake")
    minio_server.bucket(BUCKET)
    made = minio_server.boto3()
    yield made
    made.close()


def test_a_bucket_is_imported_followed_and_exported_to(client: Any, tmp_path: Path) -> None:
    keys = [f"in/{number % 5}/{number:03d}" for number in range(60)]
    for key in [*keys, "other/x"]:
        client.put_object(Bucket=BUCKET, Key=key, Body=key.encode())
    client.put_object(Bucket=BUCKET, Key="in/empty/", Body=b"")
    fine("init")
    fine("repo", "create", "demo")
    done = answer("import", f"s3://{BUCKET}/in/", "demo/data/")
    assert (done["added"], done["changed"]) == (60, 0)

    found = answer("export", "demo/data/", f"s3://{BUCKET}/copy/")
    assert found["files"] == 60
    assert client.get_object(Bucket=BUCKET, Key="copy/3/003")["Body"].read() == b"in/3/003"
    assert answer("export", "demo/data/", f"s3://{BUCKET}/copy/")["present"] == 60

    command = [str(Path(sys.executable).with_name("lochan")), "ingest", "watch", "-f", "json"]
    places = ["--from-path", f"s3://{BUCKET}/in/", "--to-path", "demo/data/"]
    with (tmp_path / "out").open("w+b") as out:
        watch = subprocess.Popen([*command, *places, "--events", "listen", "--batch-age", "0.2s"], stdout=out)
        try:

            def batches() -> list[dict[str, Any]]:
                return [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]

            run(until(lambda: len(batches()) >= 1))  # it has compared, and begins to listen
            number = 0

            def seen(kind: str) -> bool:
                """The store sends what happens after it was asked to, and nobody tells when that is. It sends blocks
                of 4 KiB, so something has to go on happening."""
                nonlocal number
                number += 1
                client.put_object(Bucket=BUCKET, Key="in/new", Body=str(number).encode())
                return any(each[kind] for each in batches())

            run(until(lambda: seen("added")))
            client.delete_object(Bucket=BUCKET, Key="in/0/000")
            run(until(lambda: seen("removed")))
        finally:
            watch.terminate()
            assert watch.wait(30) == 0
    paths = {each["path"] for each in answer("fs", "ls", "-r", "demo/data/")}
    assert "data/new" in paths
    assert "data/0/000" not in paths
