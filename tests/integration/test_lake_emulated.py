"""A lake on Azure and on Google Cloud Storage, by the command line and by the S3 gateway: objects of several blocks, a
round of garbage collection, and a pool that is loaded and queried."""

import json
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from lochan.config.settings import variable
from lochan.store.open import open_store
from tests.integration.cli import fine, wrong
from tests.integration.emulators import Emulator
from tests.run import run
from tests.servers.lochan import lochan_server
from tests.store_contract import MIB, stats

_lakes = count()
Command = Callable[..., str]


@pytest.fixture
def url(emulator: Emulator) -> str:
    return f"{emulator.url('lakes')}/lake{next(_lakes)}"


@pytest.fixture
def lake(emulator: Emulator, url: str) -> Command:
    """Runs a command on a new lake, whose store is opened by the settings that a user would write."""
    settings = [word for key, value in emulator.settings.items() for word in ("--set", f"{key}={value}")]

    def command(*words: str) -> str:
        return fine("--lake", url, *settings, *words)

    command("init")
    return command


def test_garbage_goes_and_what_is_named_stays(lake: Command, emulator: Emulator, url: str, tmp_path: Path) -> None:
    body = tmp_path / "a"
    lake("repo", "create", "demo")
    for size in (70 * MIB, 5 * MIB, 7):  # of two blocks, of one, and in a pack
        body.write_bytes(bytes([size % 251]) * size)
        lake("fs", "upload", str(body), "demo/a")
    body.write_bytes(b"kept")
    lake("fs", "upload", str(body), "demo/b")
    before = _stored(emulator, url)
    assert before > 75 * MIB
    assert json.loads(lake("gc", "plan", "demo", "--dry-run", "--grace", "0", "-f", "json"))["bytes"] == 75 * MIB
    for _ in range(2):  # the first plan draws the line, the second one lists
        lake("gc", "plan", "demo", "--grace", "0")
        lake("gc", "sweep", "demo", "--grace", "0", "--confirm")
    assert before - _stored(emulator, url) > 74 * MIB
    assert lake("fs", "cat", "demo/b") == "kept"
    assert len(lake("fs", "cat", "demo/a")) == 7


def test_a_pool_is_loaded_merged_and_queried(lake: Command, tmp_path: Path) -> None:
    lake("create", "logs", "--key", "ts")
    for start in (0, 2000, 1000):
        rows = tmp_path / f"{start}.ndjson"
        rows.write_text("".join(json.dumps({"ts": start + n, "host": f"h{n % 3}"}) + "\n" for n in range(1000)))
        lake("load", "logs", str(rows))
    asked = ("query", "-f", "ndjson", "from logs | count() by host | sort host")
    answer = lake(*asked)
    assert [json.loads(line)["count"] for line in answer.splitlines()] == [1002, 999, 999]
    lake("compact", "logs")
    assert lake(*asked) == answer
    assert json.loads(lake("query", "-f", "ndjson", "from logs | ts >= 2999"))["ts"] == 2999


def test_a_wrong_endpoint_is_an_error_of_one_line(emulator: Emulator, url: str) -> None:
    settings = {**emulator.settings, next(key for key in emulator.settings if "endpoint" in key): "http://127.0.0.1:1"}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    assert "Traceback" not in wrong(9, "--lake", url, *words, "repo", "list")


def _stored(emulator: Emulator, url: str) -> int:
    return sum(each.size for each in run(stats(open_store(url, emulator.options))))


def test_the_gateway_serves_it(emulator: Emulator, url: str) -> None:
    env = {variable(key): value for key, value in emulator.settings.items()}
    with lochan_server(url, env=env) as server, closing(server.boto3()) as client:
        client.create_bucket(Bucket="demo")
        begun = client.create_multipart_upload(Bucket="demo", Key="main/big")["UploadId"]
        there = {"Bucket": "demo", "Key": "main/big", "UploadId": begun}
        bodies = [b"a" * (5 * MIB), b"b" * (6 * MIB), b"the end"]
        etags = [
            client.upload_part(**there, PartNumber=number, Body=body)["ETag"] for number, body in enumerate(bodies, 1)
        ]
        parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, 1)]
        client.complete_multipart_upload(**there, MultipartUpload={"Parts": parts})
        span = f"bytes={5 * MIB - 3}-{5 * MIB + 2}"
        assert client.get_object(Bucket="demo", Key="main/big", Range=span)["Body"].read() == b"aaabbb"
        assert client.get_object(Bucket="demo", Key="main/big")["Body"].read() == b"".join(bodies)
        for number in range(30):
            client.put_object(Bucket="demo", Key=f"main/small/{number:02d}", Body=b"%d" % number)
        listed = client.list_objects_v2(Bucket="demo", Prefix="main/small/")["Contents"]
        assert [each["Key"] for each in listed] == [f"main/small/{number:02d}" for number in range(30)]
        assert server.traceback() == ""
