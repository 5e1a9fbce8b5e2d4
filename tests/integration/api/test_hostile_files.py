"""Hostile files in a repository of a served lake: queries get an error message, and nothing of the server's leaks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile_files import Hostile, avro_file, changed, every, fast, record, valid_files
from tests.integration.api.client import Client
from tests.integration.api.conftest import FEW, NO_SPARK
from tests.integration.cli import fine
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.processes import decoders, fork_servers, workers

CANARY = "a-text-of-somebody-else"
GROWTH_MIB_MAX = 120  # of a worker, over all of these files
FILES = {each.path: each for each in fast()}
AGAIN = 3


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    """It has a pool whose rows are in the server's memory."""
    folder = tmp_path_factory.mktemp("hostile")
    up = folder / "up"
    up.mkdir()
    for each in FILES.values():
        (up / each.path).write_bytes(each.data)
    (up / "fine.csv").write_bytes(b"a,b\n1,x\n")
    (up / "slow.avro").write_bytes(_slow())
    (folder / "rows.ndjson").write_bytes(b"".join(b'{"k":%d,"t":"%s"}\n' % (k, CANARY.encode()) for k in range(20_000)))
    with lochan_server(folder / "lake", env={**FEW, **NO_SPARK}) as server:
        fine("--lake", server.lake, "repo", "create", "hostile")
        fine("--lake", server.lake, "fs", "upload", "-r", str(up), "hostile@main/")
        fine("--lake", server.lake, "load", "canary", "--key", "k", str(folder / "rows.ndjson"))
        yield server
        traceback = server.traceback()
    assert not traceback, traceback


@pytest.fixture(scope="module")
def admin(hostile: LochanServer) -> Client:
    return Client(hostile.api, hostile.access_key, hostile.secret_key)


def _slow() -> bytes:
    """Rows that are right, and take a minute."""
    return avro_file(record(m={"type": "map", "values": "long"}), 30_000_000, b"\0" * 30_000_000)


def test_every_file_is_answered_in_words(hostile: LochanServer, admin: Client) -> None:
    for _ in range(AGAIN):
        assert len(admin.query("from canary").rows) == 20_000
    assert admin.query("from hostile@main/fine.csv").rows == [{"a": 1, "b": "x"}]
    pid = hostile.process.pid
    before = {each.pid: each.peak_mib for each in workers(pid)}
    wrong = [said for each in FILES.values() if (said := _asked(hostile, admin, each))]
    assert not wrong, "\n".join(wrong)
    assert admin.query("from hostile@main/fine.csv").rows == [{"a": 1, "b": "x"}], "it goes on"
    after = {each.pid: each.peak_mib for each in workers(pid)}
    assert after.keys() == before.keys(), "the same processes serve"
    grown = {each: after[each] - before[each] for each in after}
    assert max(grown.values()) < GROWTH_MIB_MAX, grown


def _asked(server: LochanServer, admin: Client, each: Hostile) -> str:
    """Returns what is wrong with the answer, or nothing."""
    answer = admin.query(f"from hostile@main/{each.path} | head 100", memory="256MiB")
    text = answer.body.decode()
    left = decoders(server.process.pid)
    right = answer.status == 200 if each.said is None else answer.status in (400, 413) and each.said in text
    if right and not left and CANARY not in text and (each.said is None or each.path in text):
        return ""
    return f"{each.path}: {answer.status} {text[:300]} {left}"


def test_a_query_that_is_given_up_leaves_no_decoder(hostile: LochanServer, admin: Client) -> None:
    answer = admin.query("from hostile@main/slow.avro | count()", timeout=1)
    assert (answer.status, decoders(hostile.process.pid)) == (408, [])
    connection = admin.sent("from hostile@main/slow.avro | count()")
    id = next(each["id"] for each in _until_planning(admin) if "slow" in each["query"])
    admin.ask("DELETE", f"/api/v1/query/{id}")
    admin.until(id, "cancelled")
    connection.close()
    assert decoders(hostile.process.pid) == []


def _until_planning(admin: Client) -> list[dict[str, Any]]:
    for _ in range(600):
        found = [each for each in admin.running() if "slow" in each["query"] and each["state"] == "planning"]
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it does not begin")


def test_a_decoder_knows_nothing_of_the_server(hostile: LochanServer, admin: Client) -> None:
    assert admin.query("from hostile@main/fine.csv").status == 200
    (server,) = fork_servers(hostile.process.pid)
    environment = Path(f"/proc/{server.pid}/environ").read_bytes()
    assert hostile.secret_key.encode() not in environment and b"LOCHAN_" not in environment
    assert len(list(Path(f"/proc/{server.pid}/task").iterdir())) == 1, "what is forked has one thread"


def test_valid_files_with_changes_are_answered_too(
    hostile: LochanServer, admin: Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the change, the answer has rows of the file or an error message."""
    folder = tmp_path_factory.mktemp("changed")
    count = 60 if os.environ.get("FULL") else 10
    files = [(name, data) for name, whole in valid_files() for data in changed(name, whole, count)]
    for number, (name, data) in enumerate(files):
        (folder / f"{number}-{name}").write_bytes(data)
    fine("--lake", hostile.lake, "fs", "upload", "-r", str(folder), "hostile@main/changed/")
    pids = {each.pid for each in workers(hostile.process.pid)}
    assert len(admin.query("from canary").rows) == 20_000
    wrong = []
    for number, (name, _) in enumerate(files):
        answer = admin.query(f"from hostile@main/changed/{number}-{name} | head 100", memory="256MiB")
        if answer.status not in (200, 400, 413) or CANARY.encode() in answer.body or decoders(hostile.process.pid):
            wrong.append(f"{number}-{name}: {answer.status} {answer.body[:300]!r}")
    assert not wrong, "\n".join(wrong)
    assert {each.pid for each in workers(hostile.process.pid)} == pids


@pytest.mark.full
def test_every_large_file_too(hostile: LochanServer, admin: Client, tmp_path: Path) -> None:
    for each in every():
        if each.path not in FILES:
            (tmp_path / each.path).write_bytes(each.data)
            fine("--lake", hostile.lake, "fs", "upload", str(tmp_path / each.path), "hostile@main/")
            assert not (said := _asked(hostile, admin, each)), said
