"""`lochan doctor` on good and bad stores."""

import json
from pathlib import Path
from typing import Any

import pytest

from lochan import __version__
from lochan.errors import Transient
from lochan.store import open as store_open
from lochan.store import probe as store_probe
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Stat, Store
from tests.unit.cli.invoke import lochan


def doctor(*words: str, code: int = 0) -> dict[str, dict[str, Any]]:
    result = lochan("doctor", *words, "-f", "json")
    assert result.exit_code == code, result.output
    return {each["check"]: each for each in json.loads(result.stdout)}


def test_a_lake_in_good_health(tmp_path: Path) -> None:
    lochan("init", str(tmp_path))
    lochan("repo", "create", "demo-repo", "--lake", str(tmp_path))
    checks = doctor("--lake", str(tmp_path))
    assert checks["lochan"]["found"] == __version__
    assert not [each for each in checks.values() if each["status"] == "fail"]
    assert checks["store"]["found"].startswith(f"file://{tmp_path}: 4 races of 8 creators had one winner each")
    assert checks["lake"]["found"] == f"file://{tmp_path}: format 1, journals on the store, lake journal at record 1"
    assert checks["clock"]["status"] == checks["lake disk"]["status"] == "ok"


def test_before_there_is_a_lake(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"
    checks = doctor("--lake", str(folder))
    assert checks["store"]["status"] == "ok"
    assert checks["lake"]["status"] == "warn"
    assert checks["lake"]["advice"].startswith(f"make one with `lochan init {folder}`")
    assert list(tmp_path.iterdir()) == []


def test_lines_for_people(tmp_path: Path) -> None:
    lines = lochan("doctor", "--lake", str(tmp_path)).output.splitlines()
    assert all(line.startswith(("ok    ", "warn  ", "      ")) for line in lines)
    assert any(line.strip().startswith("→ make one with") for line in lines)


class Careless(MemoryStore):
    """Takes the condition and ignores it."""

    async def put_if_absent(self, path: str, data: bytes) -> None:
        await self.put(path, data)


class Down(MemoryStore):
    async def head(self, path: str) -> Stat:
        raise Transient("no answer")

    async def get(self, path: str) -> bytes:
        raise Transient("no answer")


def use(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_open, "open_store", lambda *_, **__: store)


@pytest.mark.parametrize("verb", ["doctor", "init"])
def test_a_store_where_two_creators_win_is_refused(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(Careless("careless"), monkeypatch)
    result = lochan(verb, "--lake", "memory://careless")
    assert result.exit_code == 5
    assert "memory://careless does not keep its promise that an object is created only once" in result.output
    assert "use a store that honours If-None-Match" in result.output


def test_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    use(Down("down"), monkeypatch)
    checks = doctor("--lake", "memory://down", code=9)
    assert checks["store"]["status"] == checks["lake"]["status"] == "fail"
    assert checks["store"]["found"] == "no answer"


@pytest.mark.parametrize(
    "skew_s, status, code, found",
    [
        (0.0, "ok", 0, "agree"),
        (-5.0, "ok", 0, "5 s behind this machine's"),
        (70.0, "warn", 0, "70 s ahead of this machine's"),
        (-2000.0, "fail", 1, "2000 s behind this machine's"),
    ],
)
def test_clocks(
    skew_s: float, status: str, code: int, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def probed(*_: object) -> store_probe.ProbeReport:
        return store_probe.ProbeReport("memory://", 4, skew_s, 0.001)

    monkeypatch.setattr("lochan.store.probe.probe", probed)
    clock = doctor("--lake", str(tmp_path), code=code)["clock"]
    assert clock["status"] == status
    assert clock["found"].endswith(found)


def test_a_damaged_lake_fails(tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text("{")
    checks = doctor("--lake", str(tmp_path), code=8)
    assert checks["lake"]["status"] == "fail"
