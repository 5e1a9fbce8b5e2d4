"""A rule about the last read, beside a server that notes what is read through it."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.servers.lochan import LochanServer, lochan_server

SOON = {"LOCHAN_USAGE__FLUSH_S": "0.3"}
RULE = ("--drop", "main=unread 6s")  # long enough for a busy machine between a read and the look
_WAIT_S = 120


def check(server: LochanServer, *rules: str) -> dict[str, Any]:
    found = json.loads(server.lochan("gc", "rules", "check", "used", *rules, "-f", "json"))
    part: dict[str, Any] = found["drops"][0]
    return part


def until(look: Callable[[], dict[str, Any]], wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + _WAIT_S
    found = look()
    while not wanted(found) and time.monotonic() < deadline:
        found = look()
    assert wanted(found), found
    return found


def test_what_is_read_through_a_server_stays_and_without_one_everything_does(tmp_path: Path) -> None:
    with lochan_server(tmp_path / "lake", env=SOON) as server, closing(server.boto3()) as s3:
        s3.create_bucket(Bucket="used")
        for name in ("read", "idle"):
            s3.put_object(Bucket="used", Key=f"main/{name}", Body=b"x")
        server.lochan("commit", "used", "-m", "both")

        def look() -> dict[str, Any]:
            s3.get_object(Bucket="used", Key="main/read")["Body"].read()
            return check(server, *RULE)

        found = until(look, lambda part: part["objects"] > 0)
        assert (found["examples"], found["waits"]) == (["idle"], "")
    gone = until(lambda: check(server, *RULE), lambda part: bool(part["waits"]))
    assert gone["objects"] == 0 and "no server" in gone["waits"]
