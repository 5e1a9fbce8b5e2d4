"""Files of a folder, and those that a pattern matches. A folder that cannot be read is not an empty one."""

import os
from pathlib import Path
from typing import Any

import pytest

from lochan.api.local_files import files_in, matching

NAMES = ["a.json", "b.csv", "deep/c.json", "deep/er/d.json", ".hidden/e.json", "x[1].json"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "link").symlink_to("deep")
    return tmp_path


@pytest.mark.parametrize(
    "pattern",
    [
        "*.json",
        "*/*.json",
        "**/*.json",
        "deep/**/d.json",
        "?.csv",
        "[ab].*",
        "none/*",
        "a.json/*",
        "deep/../*.csv",
        "**",
    ],
)
def test_patterns_are_as_pathlib_reads_them(pattern: str, folder: Path) -> None:
    assert matching(folder / pattern) == sorted(set(folder.glob(pattern)))


def test_what_cannot_be_read_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "er":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    for pattern in ("**/*.json", "*/*/*.json"):
        with pytest.raises(PermissionError):
            matching(folder / pattern)
    with pytest.raises(PermissionError):
        list(files_in(folder))
    assert [each.name for each in matching(folder / "*.csv")] == ["b.csv"]
