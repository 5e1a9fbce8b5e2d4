"""Lakes that code of an earlier day has written: today's code reads all of it as it was, and goes on with it.

`expected.json` beside each lake is what was read when it was made. Fields that later code adds to an answer are not
compared; whatever was there must be there still. The same over S3 is in tests/integration/test_lakes_s3.py.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

import lochan as library
from tests.golden.play import alone, lochan
from tests.golden.read_lake import answer, missing, read_everything

LAKES = sorted((Path(__file__).parent / "lakes").iterdir())


@pytest.fixture(params=LAKES, ids=lambda place: place.name)
def place(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def lake(place: Path, tmp_path: Path) -> Path:
    """The lake, in another folder than the one it was made in."""
    with tarfile.open(place / "lake.tar.xz") as archive:
        archive.extractall(tmp_path / "moved", filter="data")
    return tmp_path / "moved" / "lake"


@pytest.mark.thorough
def test_everything_is_read_as_it_was(place: Path, lake: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    expected = json.loads((place / "expected.json").read_text())
    by_s3 = expected.pop("s3")
    before = _files(lake)
    found = read_everything(lake, tmp_path)
    noted = str(lake / "_lake" / "usage")  # that it was read is noted
    now = {file: time for file, time in _files(lake).items() if file in before or not file.startswith(noted)}
    assert now == before, "reading has changed something"
    if pytestconfig.getoption("update_golden"):
        text = json.dumps({**found, "s3": by_s3}, indent=1, ensure_ascii=False)
        (place / "expected.json").write_text(text + "\n")
    else:
        assert missing(expected, found) == []


@pytest.mark.thorough
def test_work_goes_on_where_it_was_left(place: Path, lake: Path, tmp_path: Path) -> None:
    """Staged changes are committed, stashes popped, open uploads and workspaces closed, and the past does not
    change."""
    before = json.loads((place / "expected.json").read_text())
    with alone(tmp_path, {"LOCHAN_LAKE": str(lake)}):
        [workspace] = answer("workspace", "list", "shop")
        _do("workspace", "commit", "shop", workspace["id"], "-m", "prices")
        _do("fs", "upload", "-", "shop@main/new.txt", stdin=b"new\n")
        _do("commit", "shop", "-m", "staged long ago, and now")
        _do("stash", "pop", "shop@dev")
        _do("commit", "shop@dev", "-m", "no more put aside")
        _do("merge", "shop@dev", "shop@main")
        _do("merge", "shop@main", "shop@release-1")
        _do("branch", "restore", "shop@gone")
        assert lochan(["fs", "upload", "-", "shop@release-1/a"], b"blocked")[2] == 5
        assert lochan(["fs", "upload", "-", "archive@trunk/a"], b"read-only")[2] == 5
        _do("commit", "busy", "-m", "the other half")
        _load("logs", '{"ts": "2026-01-01T00:00:00.5Z", "host": "today"}')
        _do("delete", "logs", "--where", 'host == "c"')
        _do("compact", "logs")
        _do("merge", "stock@dev", "stock@main")
        _load("numbers", '{"id": 7, "x": 0.30000000000000000001}')
        _do("auth", "users", "create", "frank")
        _do("manage", "--once")

        assert _cat("shop@release-1/prices.csv") == "1,2.50\n"
        assert _cat("shop@main/stashed.txt") == "stashed\n"
        assert lochan(["fs", "stat", "shop@main/raw/fruit.csv"])[2] == 3
        assert lochan(["fs", "stat", "shop@main/moved.md"])[2] == 0  # its removal was not added to the workspace
        assert _rows("from logs | cut host") == [
            *({"host": "a"}, {"host": "today"}, {"host": "a"}, {"host": "dev"}, {}),
            {"host": "no key at all"},
        ]
        stock = [{"id": 4, "n": 2}, {"id": 1, "n": 6}, {"id": 3, "n": 0}, {"id": 2, "n": 7}]
        assert _rows("from stock | cut id, n") == stock
        assert _do("query", "from numbers | id == 7 | yield x") == "0.30000000000000000001\n"
        if "tidy" in before["repositories"]:
            _check_upkeep()

    after = read_everything(lake, tmp_path)
    for name, repository in before["repositories"].items():
        now = after["repositories"][name]
        for tag in repository["tags"]:
            assert missing(repository["refs"][tag["name"]], now["refs"][tag["name"]]) == []
        for branch in repository["branches"]:
            commits = [each["id"] for each in now["log"][branch["name"]]]
            assert {each["id"] for each in repository["log"][branch["name"]]} <= set(commits)
        if isinstance(repository["events"], list):
            assert missing(repository["events"], now["events"][: len(repository["events"])]) == []


def test_python_writes_to_it(lake: Path, tmp_path: Path) -> None:
    with alone(tmp_path), library.connect(lake) as opened:
        topic = opened.repository("shop").branch("topic")
        with topic.transaction("from Python") as work:
            work.put("python.txt", "put\n")
        opened.repository("shop").branch("squashed").merge(topic)
        assert opened.repository("shop").ref("squashed").read("python.txt") == b"put\n"
        opened.pool("stock").load([{"id": 9, "region": "eu"}])
        assert list(opened.query("from stock | id == 9").rows()) == [{"id": 9, "region": "eu"}]


def test_what_is_missing_is_found() -> None:
    assert missing({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "new": 3}], "c": 4}) == []
    assert missing({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == ["a[1].b: 2, now 3"]
    assert missing({"a": [1]}, {"a": [1, 2]}) == ["a: 1 items, now 2"]
    assert missing({"a": 1, "b": 2}, {"b": 2}) == ["a: 1, now nothing"]


def _check_upkeep() -> None:
    """What moved behind aliases stays readable, deleted repositories come back, and nothing is damaged."""
    _do("repo", "restore", "dropped")
    assert _cat("dropped@main/back.txt") == "back again\n"
    for _ in range(3):
        _do("gc", "run", "tidy", "--grace", "0")
    assert [_cat(f"tidy@main/equal/{name}") for name in "abc"] == ["equal bytes\n"] * 3
    _do("fsck", "--data")


def _files(lake: Path) -> dict[str, int]:
    """All files except those of a scratch folder."""
    files = (file for file in lake.rglob("*") if file.is_file() and ".tmp" not in file.parts)
    return {str(file): file.stat().st_mtime_ns for file in files}


def _load(pool: str, *rows: str) -> None:
    _do("load", pool, "-", stdin="\n".join(rows).encode())


def _rows(query: str) -> list[Any]:
    return [json.loads(line) for line in _do("query", query).splitlines()]


def _cat(place: str) -> str:
    return _do("fs", "cat", place)


def _do(*words: str, stdin: bytes = b"") -> str:
    stdout, stderr, code = lochan(words, stdin)
    assert code == 0, (words, stdout, stderr)
    return stdout
