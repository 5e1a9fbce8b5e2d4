"""`lochan manage`, and the same inside a server."""

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lochan.formats.lake_events import RepositoryCreated, RepositoryDeleted
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.versioning import branches
from tests.integration.cli import fine, lochan, wrong
from tests.servers.lochan import LOCHAN, lochan_server

ROWS = "".join(f'{{"k": {number}, "text": "row {number}"}}\n' for number in range(50))
EAGER = "every: 100ms\ndefaults: {compact: {overlapping: 1}}\npools: {scratch: {compact: false}}\n"
_PATIENCE_S = 180


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("rows.ndjson").write_text(ROWS)
    Path("policy.yaml").write_text(EAGER)


def test_a_round_trims_the_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The journals of a lake whose writers did not trim."""

    async def keep(self: Journal) -> None:
        await self.checkpoint()

    fine("init")
    fine("create", "logs", "--key", "k")
    monkeypatch.setattr(Journal, "_keep_small", keep)
    asyncio.run(_fill_journals(260))
    assert len(_slots()) > 2 * 256
    said = fine("manage", "--once")
    assert "journal of _lake: trimmed: 1 segments made, 255 slots deleted" in said
    assert "journal of logs: trimmed: 1 segments made, 255 slots deleted" in said
    assert len(_slots()) < 40
    assert "journal" not in fine("manage", "--once")
    assert fine("branch", "list", "logs")


def _slots() -> list[Path]:
    return [path for path in Path(".lochan").rglob("journal/*") if path.name.isdigit()]


async def _fill_journals(count: int) -> None:
    lake = await Lake.open(LocalStore(".lochan"))
    actor = Actor("ann", "test", "")
    journal = await lake.journal()
    for number in range(count):
        id = f"id-{number}"
        made = RepositoryCreated(id, f"repo-{number}", "files", "main"), RepositoryDeleted(id)
        await journal.submit(AppendRequest(actor, lambda state, made=made: made))  # type: ignore[misc]
    pool = await lake.open_repository("logs")
    for number in range(count):
        await branches.create_tag(pool, f"tag-{number}", "main", actor=actor)
    await pool.close()
    await lake.close()


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def pool_with_overlaps(name: str, *lake: str) -> None:
    fine(*lake, "create", name, "--key", "k")
    for _ in range(2):
        fine(*lake, "load", name, "rows.ndjson")


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_round_and_every_mistake() -> None:
    fine("init")
    fine("repo", "create", "files")
    for name in ("logs", "scratch"):
        pool_with_overlaps(name)
    assert fine("manage", "--once").splitlines() == ["logs@main: in order", "scratch@main: in order"]
    [logs, scratch] = records(fine("manage", "--once", "--policy", "policy.yaml", "-f", "json"))
    assert (logs["pool"], logs["branch"], logs["outcome"]) == ("logs", "main", "compacted")
    assert (logs["before"], logs["after"], logs["rows"]) == (2, 1, 100)
    assert scratch == {"pool": "scratch", "branch": None, "outcome": "left alone"}
    assert fine("query", "from logs | count()").strip() == '{"count":100}'
    assert fine("--set", "manage.policy=policy.yaml", "manage", "--once", "logs") == "logs@main: in order\n"

    assert "exclude each other" in wrong(6, "manage", "--once", "--every", "5m")
    assert "not a length of time" in wrong(6, "manage", "--every", "soon")
    assert "'nowhere'" in wrong(3, "manage", "--once", "nowhere")
    assert "holds files" in wrong(5, "manage", "--once", "files")
    assert "only a repository" in wrong(6, "manage", "--once", "logs@main")
    assert "no such policy file" in wrong(3, "manage", "--once", "--policy", "none.yaml")
    Path("policy.yaml").write_text("defaults:\n  compact: {overlaps: 3}\n")
    assert "policy.yaml, line 2: there is no 'overlaps'" in wrong(6, "manage", "--once", "--policy", "policy.yaml")
    Path("policy.yaml").write_text("vacuum: {}\n")
    assert "vacuum is not implemented yet" in wrong(5, "manage", "--once", "--policy", "policy.yaml")


def test_a_failure_is_reported_and_the_rest_is_done() -> None:
    fine("init")
    for name in ("aaa", "bbb"):
        pool_with_overlaps(name)
    [row, _] = records(fine("query", "from aaa:objects", "-f", "ndjson"))
    Path(".lochan", row["address"]).unlink()
    result = lochan("manage", "--once", "--policy", "policy.yaml")
    assert result.exit_code == 10
    first, second = result.stdout.splitlines()
    assert first.startswith("aaa@main: failed: ")
    assert second.startswith("bbb@main: compacted 2 data objects into 1")


def test_it_goes_on_until_it_is_stopped() -> None:
    fine("init")
    pool_with_overlaps("logs")
    log = Path("managed.log")
    with log.open("wb") as output:
        command = [str(LOCHAN), "manage", "--policy", "policy.yaml", "-f", "json"]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        until(lambda: "in order" in log.read_text())
        fine("load", "logs", "rows.ndjson")
        until(lambda: log.read_text().count("compacted") == 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
    assert "Traceback" not in log.read_text()


def test_a_server_keeps_pools_in_order_and_stops(tmp_path: Path) -> None:
    """Its policy is read before anything is served."""
    lake = tmp_path / "lake"
    fine("init", str(lake))
    pool_with_overlaps("logs", "--lake", str(lake))
    Path("wrong.yaml").write_text("evry: 5m\n")
    said = wrong(6, "--lake", str(lake), "--set", "manage.policy=wrong.yaml", "serve")
    assert "did you mean 'every'?" in said
    with lochan_server(lake, init=False, env={"LOCHAN_MANAGE__POLICY": str(tmp_path / "policy.yaml")}) as server:
        until(lambda: "logs@main: compacted 2 data objects into 1, 100 rows" in server.log.read_text())
        assert fine("--lake", str(lake), "query", "from logs | count()").strip() == '{"count":100}'
        events = records(fine("--lake", str(lake), "events", "logs", "-f", "json"))
        assert [(each["type"], each["client"]) for each in events if each["user"] == "lochan"] == [("moved", "upkeep")]
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert "Traceback" not in server.log.read_text()
