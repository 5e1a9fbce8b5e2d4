"""What is uploaded, under which path, and how it is cut into batches."""

import io
from pathlib import Path
from typing import BinaryIO

import pytest

from lochan.api import upload
from lochan.api.object_results import UploadResult
from lochan.api.upload import UploadFile, upload_files
from lochan.connection import connect
from lochan.errors import Invalid, NotFound
from tests.unit.cli.invoke import lochan


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "a.csv").write_text("one")
    (tmp_path / "data" / "sub" / "b").write_text("")
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path)


def _given(source: str) -> Path | BinaryIO:
    return io.BytesIO(b"typed") if source == "-" else Path(source)


@pytest.mark.parametrize(
    "source, path, recursive, paths",
    [
        pytest.param("data/a.csv", "", False, ["a.csv"], id="keeps its name"),
        pytest.param("data/a.csv", "x/", False, ["x/a.csv"], id="into a folder"),
        pytest.param("data/a.csv", "x", False, ["x"], id="under another name"),
        pytest.param("data", "", True, ["a.csv", "sub/b"], id="a folder to the top"),
        pytest.param("data", "x", True, ["x/a.csv", "x/sub/b"], id="a folder"),
        pytest.param("data/", "x/", True, ["x/a.csv", "x/sub/b"], id="a folder, with slashes"),
        pytest.param("-", "x", False, ["x"], id="standard input"),
    ],
)
def test_paths(source: str, path: str, recursive: bool, paths: list[str], folder: None) -> None:
    assert [each.path for each in upload_files(_given(source), path, recursive=recursive)] == paths


@pytest.mark.parametrize(
    "source, path, recursive, error",
    [
        pytest.param("nowhere", "x", False, NotFound, id="not there"),
        pytest.param("none", "x", True, NotFound, id="an empty folder"),
        pytest.param("data", "x", False, Invalid, id="a folder without -r"),
        pytest.param("data/a.csv", "x", True, Invalid, id="a file with -r"),
        pytest.param("-", "", False, Invalid, id="standard input without a path"),
        pytest.param("-", "x/", False, Invalid, id="standard input without a name"),
        pytest.param("data", "x" * 1_020, True, Invalid, id="too long a path"),
    ],
)
def test_what_cannot_be_uploaded(source: str, path: str, recursive: bool, error: type[Exception], folder: None) -> None:
    with pytest.raises(error):
        upload_files(_given(source), path, recursive=recursive)


@pytest.mark.parametrize(
    "sizes, batches",
    [
        pytest.param([1], [1], id="one"),
        pytest.param([1] * 1_001, [500, 500, 1], id="by number"),
        pytest.param([1 << 29, 1 << 29, 1], [2, 1], id="by bytes"),
        pytest.param([1 << 40, 1, 1 << 40], [1, 1, 1], id="one that is larger than a batch"),
    ],
)
def test_batches(sizes: list[int], batches: list[int]) -> None:
    files = [UploadFile(Path(str(number)), str(number), size) for number, size in enumerate(sizes)]
    cut = list(upload._batches(files))
    assert [len(batch) for batch in cut] == batches
    assert [each for batch in cut for each in batch] == files


@pytest.mark.parametrize("at", ["main", "workspace"])
def test_what_would_change_nothing_is_skipped(at: str, folder: None, tmp_path: Path) -> None:
    lochan("init", str(tmp_path / "lake"))
    with connect(tmp_path / "lake") as lake:
        main = lake.create_repository("demo").branch("main")
        target = main if at == "main" else main.workspace()
        assert target.upload("data", "x", resume=True) == UploadResult(objects=2, bytes=3)
        assert target.upload("data", "x", resume=True) == UploadResult(objects=0, bytes=0, skipped=2)
        Path("data/a.csv").write_text("two")
        assert target.upload("data", "x", resume=True) == UploadResult(objects=1, bytes=3, skipped=1)
        note = {"from": "here"}
        assert target.upload("data", "x", resume=True, metadata=note) == UploadResult(objects=2, bytes=3)
        assert target.upload("data", "x", resume=True, metadata=note) == UploadResult(objects=0, bytes=0, skipped=2)
        typed = target.upload("data/a.csv", "x/", resume=True, content_type="text/plain", metadata=note)
        assert typed == UploadResult(objects=1, bytes=3)
        assert target.stat("x/a.csv").content_type == "text/plain"


def test_progress_counts_what_is_skipped(folder: None, tmp_path: Path) -> None:
    lochan("init", str(tmp_path / "lake"))
    with connect(tmp_path / "lake") as lake:
        main = lake.create_repository("demo").branch("main")
        main.upload("data/a.csv")
        done: list[int] = []
        main.upload("data/a.csv", resume=True, progress=done.append)
        assert sum(done) == 3
        with pytest.raises(Invalid, match="standard input cannot be resumed"):
            main.upload(io.BytesIO(b"typed"), "x", resume=True)
