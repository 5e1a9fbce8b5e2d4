"""Rows that differ, from the command line and from Python."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lochan
from lochan.cli.root import cli


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fine("init")
    fine("create", "users", "--key", "id", "--primary-key", "id")
    load("users", {"id": 1, "name": "ann"}, {"id": 2, "name": "bob"}, {"id": 3})
    fine("branch", "create", "users@dev", "--from", "main")
    load("users@dev", {"id": 4, "name": "dee"})
    fine("delete", "users@dev", "--where", "id == 2 or id == 3")
    load("users@dev", {"id": 2, "name": None})


def load(pool: str, *rows: dict[str, Any]) -> None:
    Path("rows.ndjson").write_text("\n".join(map(json.dumps, rows)))
    fine("load", pool, "rows.ndjson")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words, prog_name="lochan", catch_exceptions=False)


def fine(*words: str) -> str:
    result = run(*words)
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def test_rows_of_a_pool_by_its_primary_key() -> None:
    assert fine("diff", "--rows", "users@main", "users@dev").splitlines() == [
        "1 added, 1 removed, 1 changed",
        'changed    - {"id":2,"name":"bob"}',
        '           + {"id":2,"name":null}',
        'removed    - {"id":3}',
        'added      + {"id":4,"name":"dee"}',
    ]
    shown = fine("diff", "--rows", "users@main", "users@dev", "--limit", "1")
    assert shown.endswith("… and 2 more\n")
    assert fine("diff", "--rows", "users@main", "users@dev", "--limit", "0") == "1 added, 1 removed, 1 changed\n"
    assert fine("diff", "--rows", "users", "users@main", "--no-key") == "0 added, 0 removed\n"


def test_rows_as_json() -> None:
    found = json.loads(fine("diff", "--rows", "users@main", "users@dev", "--no-key", "-f", "json", "--limit", "1"))
    first = {"change": "removed", "times": 1, "key": None, "before": {"id": 2, "name": "bob"}, "after": None}
    assert (found["added"], found["removed"], found["changed"]) == (2, 2, 0)
    assert found["rows"] == [first]
    assert found["engine"] == "duckdb"
    assert (found["read"]["left"], found["read"]["right"]) == (1, 3)


def test_files_of_a_repository_and_what_the_right_has_changed() -> None:
    fine("repo", "create", "demo")
    Path("t").mkdir()
    for rows in ("id,v\n1,a\n2,b\n", "id,v\n1,a\n2,c\n"):
        Path("t/a.csv").write_text(rows)
        fine("fs", "upload", "-r", "t", "demo@main/t/")
        fine("commit", "demo@main", "-m", "rows")
    by_key = fine("diff", "--rows", "demo@main~1/t/a.csv", "demo@main", "--key", "id")
    assert by_key.splitlines()[0] == "0 added, 0 removed, 1 changed"
    fine("branch", "create", "demo@dev", "--from", "main~1")
    assert fine("diff", "--rows", "demo@main/t/", "demo@dev").startswith("1 added, 1 removed")
    assert fine("diff", "--rows", "demo@main/t/", "demo@dev", "--three-dot").startswith("0 added, 0 removed")


@pytest.mark.parametrize(
    "code, words, message",
    [
        (6, "--rows users@main users@dev --key name", 'lacks the key name, or has null in it, such as {"id":3}'),
        (6, "--rows users@main users@dev --key a..b", "a name is missing"),
        (6, "--rows users@main/x users@dev", "has rows and no paths"),
        (6, "--rows users@main files@main", "in different repositories"),
        (6, "--rows files@main/a files@main/b", "different paths"),
        (3, "--rows files@main/a files@main", "has 'a'"),
        (3, "--rows users@main users@nowhere", "nowhere"),
        (2, "--rows users@main", "--rows needs two refs"),
        (2, "--rows users@main users@dev --summary", "none of the options that count paths"),
        (2, "--rows users@main users@dev --key id --no-key", "exclude each other"),
        (2, "users@main users@dev --key id", "go with --rows"),
        (6, "--rows users@main users@dev --memory much", "--memory"),
    ],
)
def test_what_is_refused(code: int, words: str, message: str) -> None:
    fine("repo", "create", "files")
    result = run("diff", *words.split())
    assert result.exit_code == code, result.output
    assert message in result.stderr


def test_from_python() -> None:
    with lochan.connect(".lochan") as lake:
        with lake.diff_rows("users@main", "users@dev") as found:
            assert (found.added, found.removed, found.changed, found.same) == (1, 1, 1, False)
            assert found.sample[0].record()["after"] == {"id": 2, "name": None}
            table = found.to_arrow()
            assert sorted(table["change"].to_pylist()) == ["added", "changed", "removed"]
            assert table.schema.names == ["change", "times", "key", "before", "after", "lefts", "rights"]
        with lake.diff_rows("users@main", "users@dev", on="id", sample=0) as found:
            assert (found.changed, found.sample) == (1, [])
