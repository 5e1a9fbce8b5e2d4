"""The server's log follows the configuration: destination, format and level."""

import json
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.integration.gateway.test_notes import block
from tests.servers.lochan import LOCHAN, lochan_server


def lines(file: Path, logger: str) -> list[dict[str, Any]]:
    """Every line is one object; those of one logger."""
    found = [json.loads(line) for line in file.read_text().splitlines()]
    return [each for each in found if each["logger"] == logger]


def eventually(file: Path, logger: str, count: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (not file.exists() or len(lines(file, logger)) < count):
        time.sleep(0.1)
    return lines(file, logger)


def test_json_lines_in_a_file_that_may_be_moved_away(tmp_path: Path) -> None:
    log, moved, lake = tmp_path / "log", tmp_path / "log.1", tmp_path / "lake"
    logging = {"LOCHAN_LOGGING__FORMAT": "json", "LOCHAN_LOGGING__OUTPUT": str(log), "LOCHAN_USAGE__FLUSH_S": "0.3"}
    with lochan_server(lake, env=logging) as server, closing(server.boto3()) as s3:
        s3.create_bucket(Bucket="demo")
        block(lake / "_lake" / "usage")
        s3.put_object(Bucket="demo", Key='main/a"b\nc', Body=b"x")
        _, put = eventually(log, "lochan.access", 2)
        head = {"level": "INFO", "user": "admin", "operation": "PutObject", "method": "PUT", "status": 200, "sent": 0}
        assert {name: put[name] for name in head} == head
        assert put["path"] == '/demo/main/a"b\nc'
        assert put["time"].endswith("Z") and put["request_id"] and put["seconds"] > 0
        [warning, *_] = eventually(log, "lochan.server", 1)
        assert (warning["level"], "could not be written yet" in warning["message"]) == ("WARN", True)
        log.rename(moved)
        s3.list_buckets()
        assert [each["operation"] for each in eventually(log, "lochan.access", 1)] == ["ListBuckets"]
        told = server.log.read_text()
    assert "PutObject" not in told and "wait to be written" not in told, told


def test_a_log_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    subprocess.run([LOCHAN, "init", str(lake)], check=True, capture_output=True)
    words = ["--lake", str(lake), "--set", "logging.output=/nowhere/log", "serve", "--s3-listen", "127.0.0.1:1"]
    done = subprocess.run([LOCHAN, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0 and "cannot log to /nowhere/log" in done.stderr and "Traceback" not in done.stderr
