"""Hostile files through every door but HTTP: commands and Python say what is wrong, and nothing changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import lochan as api
from lochan.cli.exit_codes import INVALID, REFUSED
from lochan.errors import Invalid, LochanError
from tests.hostile_files import fast
from tests.integration.cli import fine, lochan, wrong
from tests.servers.processes import decoders

NAMES = (
    "offsets-beyond.arrow", "unpacked-1099511627776-zstd.arrow", "count-of-nulls.avro", "recursion-endless.avro",
    "bomb.parquet", "value-length.parquet", "zeros.orc", "deep.xml", "not-utf8.csv", "deep.ndjson", "cut.ndjson.gz",
)  # fmt: skip
FILES = {each.path: each for each in fast() if each.path in NAMES}
CODES = {"unpacked-1099511627776-zstd.arrow": REFUSED}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    (folder / "up").mkdir()
    for each in FILES.values():
        (folder / "up" / each.path).write_bytes(each.data)
    (folder / "rows.ndjson").write_bytes(b'{"k":1}\n')
    at = str(folder / "lake")
    fine("init", at)
    fine("--lake", at, "load", "logs", "--key", "k", str(folder / "rows.ndjson"))
    fine("--lake", at, "repo", "create", "files")
    fine("--lake", at, "fs", "upload", "-r", str(folder / "up"), "files@main/")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_load_says_what_is_wrong_and_changes_nothing(lake: Path, name: str) -> None:
    path = lake / "up" / name
    said = wrong(
        CODES.get(name, INVALID), "--lake", str(lake / "lake"), "load", "logs", str(path), "--memory", "256MiB"
    )
    assert str(path) in said and (FILES[name].said or "") in said
    new = lochan("--lake", str(lake / "lake"), "load", "new", "--create", str(path), "--memory", "256MiB")
    assert new.exit_code in (INVALID, REFUSED) and name in new.stderr
    assert fine("--lake", str(lake / "lake"), "query", "from logs | count()") == '{"count":1}\n'
    assert "new" not in fine("--lake", str(lake / "lake"), "ls")


@pytest.mark.parametrize("name", NAMES)
def test_a_query_and_a_load_at_its_end_say_it_too(lake: Path, name: str) -> None:
    for end in ("| head 5", "| load logs"):
        result = lochan("--lake", str(lake / "lake"), "query", f"from files@main/{name} {end}", "--memory", "256MiB")
        assert result.exit_code in (INVALID, REFUSED), result.output
        assert result.stderr.startswith("lochan: ") and name in result.stderr
    assert fine("--lake", str(lake / "lake"), "query", "from logs | count()") == '{"count":1}\n'


def test_rows_of_files_that_lie_are_not_compared(lake: Path) -> None:
    at = str(lake / "lake")
    fine("--lake", at, "commit", "files@main", "-m", "files")
    fine("--lake", at, "branch", "create", "files@other", "--from", "main")
    (lake / "offsets-beyond.arrow").write_bytes(FILES["offsets-beyond.arrow"].data + b"\0")
    fine("--lake", at, "fs", "upload", str(lake / "offsets-beyond.arrow"), "files@other/")
    fine("--lake", at, "commit", "files@other", "-m", "another")
    result = lochan(
        "--lake",
        at,
        "diff",
        "--rows",
        "--no-key",
        "files@main/offsets-beyond.arrow",
        "files@other/offsets-beyond.arrow",
    )
    assert result.exit_code == INVALID and "offsets-beyond.arrow" in result.stderr


def test_python_says_it_too(lake: Path) -> None:
    with api.connect(str(lake / "lake")) as connection:
        for name in NAMES[:3]:
            with pytest.raises(LochanError, match=name):
                connection.pool("logs").load([str(lake / "up" / name)])  # paths are rows too
        with pytest.raises(Invalid, match=NAMES[0]):
            list(connection.query("from files@main/offsets-beyond.arrow").rows())
    assert decoders(os.getpid()) == []
