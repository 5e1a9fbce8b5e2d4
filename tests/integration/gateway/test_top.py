"""`lochan top` on a real server: its figures, who may see them, and the page that is refreshed in place."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.servers.lochan import LOCHAN, LochanServer, lochan_server
from tests.until import until

_PAGE = b"S3 requests within"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("top") / "lake") as running:
        with closing(running.boto3()) as s3:
            s3.create_bucket(Bucket="demo")
            for number in range(5):
                s3.put_object(Bucket="demo", Key=f"main/{number}", Body=b"x" * 1_000)
        yield running
        assert not running.traceback()


def _env(server: LochanServer, home: Path, key: str = "", secret: str = "") -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCHAN_", "XDG_"))}
    return {
        **kept,
        "HOME": str(home),
        "LOCHAN_COMPANION": "0",
        "LOCHAN_LAKE": f"http://{server.api}",
        "LOCHAN_REMOTE__ACCESS_KEY_ID": key or server.access_key,
        "LOCHAN_REMOTE__SECRET_ACCESS_KEY": secret or server.secret_key,
    }


def _top(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LOCHAN, "top", *words], env=env, capture_output=True, text=True, check=False)


def test_figures_of_each_operation(server: LochanServer, tmp_path: Path) -> None:
    env = _env(server, tmp_path)
    found: dict[str, Any] = {}

    def all_counted() -> bool:
        """They are counted up to a tenth of a second late."""
        done = _top(env, "--once", "-f", "json")
        assert done.returncode == 0, done.stderr
        found.update({each["operation"]: each for each in json.loads(done.stdout)["operations"]})
        return bool(found.get("PutObject", {}).get("requests") == 5)

    asyncio.run(until(all_counted, "five puts"))
    put = found["PutObject"]
    assert 0 < put["p50_ms"] <= put["p99_ms"] and put["requests_per_second"] > 0
    assert set(put["phases_seconds"]) == {"signature", "journal", "bodies", "lists", "other"}
    assert put["phases_seconds"]["journal"] > 0

    table = _top(env, "--once").stdout.splitlines()
    assert table[0] == "S3 requests since the server was started"
    assert re.match("PutObject +5 ", next(line for line in table if line.startswith("PutObject")))
    assert _top(env, "--once", "--interval", "0.2").stdout.startswith("S3 requests within 0.")


def test_only_for_those_who_may_read_metrics(server: LochanServer, tmp_path: Path) -> None:
    server.lochan("auth", "users", "create", "eve")
    server.lochan("auth", "attach", "eve", "Analyst")
    key = json.loads(server.lochan("auth", "keys", "create", "eve", "-f", "json"))
    done = _top(_env(server, tmp_path, key["access_key_id"], key["secret_access_key"]), "--once")
    assert done.returncode != 0 and not done.stdout
    assert "you may not read the server's metrics" in done.stderr and "Traceback" not in done.stderr


def test_a_terminal_has_one_page_that_changes(server: LochanServer, tmp_path: Path) -> None:
    mine, theirs = pty.openpty()
    env = {**_env(server, tmp_path), "COLUMNS": "100", "LINES": "24"}
    with subprocess.Popen([LOCHAN, "top", "--interval", "0.2"], env=env, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while shown.count(_PAGE) < 3:
            shown += os.read(mine, 65_536)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    os.close(mine)
    pages = shown.split(b"\x1b[J")[2:]  # behind nothing, and the first page
    assert all(page.startswith(_PAGE) for page in pages)
    lines = pages[0].count(b"\n")
    assert pages[0].endswith(f"\x1b[{lines}A\r".encode()), "the next page goes over this one"
