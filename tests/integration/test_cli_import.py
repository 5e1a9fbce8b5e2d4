"""Files of folders and buckets are imported without a copy, once or repeatedly as they change."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lochan.cli.exit_codes import CONFLICT, GONE, INVALID, NOT_FOUND, REFUSED
from tests.integration.test_cli_versioning import answer, contents, demo, fine, lochan, newcomer, sample, wrong
from tests.servers.minio import MinioServer

__all__ = ["demo", "newcomer"]  # fixtures

pytestmark = pytest.mark.usefixtures("demo")


def listed(where: str) -> list[str]:
    return [each["path"] for each in answer("fs", "ls", "-r", where)]


def assert_gone(where: str) -> None:
    assert lochan("fs", "ls", "-r", where).exit_code == NOT_FOUND


def bytes_written() -> int:
    """The number of bytes in the folders of bodies."""
    return sum(file.stat().st_size for file in Path(".lochan").glob("*/data/**/*") if file.is_file())


def test_a_folder_is_imported(tmp_path: Path) -> None:
    folder = sample(tmp_path / "100% in")
    before = bytes_written()
    assert answer("import", "100% in", "demo@main/in", "--dry-run") == {
        "commit": None,
        "added": 4,
        "changed": 0,
        "removed": 0,
        "bytes": sum(map(len, contents(folder).values())),
    }
    assert len(answer("branch", "list", "demo")) == 1
    assert_gone("demo/in/")
    done = answer("import", "100% in", "demo@main/in", "-m", "all of it", "--metadata", "from=there")
    assert done["added"] == 4
    assert bytes_written() == before
    shown = answer("show", "demo@main")
    assert (shown["id"], shown["message"], shown["metadata"]) == (done["commit"], "all of it", {"from": "there"})
    fine("fs", "download", "-r", "demo@main/in", "out")
    assert contents(tmp_path / "out") == contents(folder)
    assert listed("demo@main~1/") == ["data/a.csv"]
    assert "has all of it already" in wrong(INVALID, "import", str(folder), "demo@main/in")
    assert answer("import", f"{folder}/sub", "demo/data", "--path", f"{folder}/sub/deep=in2")["added"] == 3
    assert listed("demo@main@/in2/") == ["in2/c"]
    (folder / "a.csv").unlink()
    assert "gone" in wrong(GONE, "fs", "cat", "demo/in/a.csv")
    assert lochan("fs", "download", "-r", "demo/in", "out2").exit_code == GONE


def test_uncommitted_paths_are_in_the_way(tmp_path: Path) -> None:
    sample(tmp_path / "in")
    fine("fs", "upload", "-", "demo/in/a.csv", stdin=b"mine")
    fine("fs", "upload", "-", "demo/other", stdin=b"mine")
    refused = lochan("import", "in", "demo/in", "-f", "json")
    assert refused.exit_code == CONFLICT
    assert json.loads(refused.stdout) == [{"path": "in/a.csv"}]
    assert "have uncommitted changes: 'in/a.csv'" in refused.stderr
    assert fine("fs", "cat", "demo/in/a.csv") == "mine"
    fine("fs", "mv", "demo/in/a.csv", "demo/mine")
    assert lochan("import", "in", "demo/in").exit_code == CONFLICT, "there is a tombstone now"
    fine("commit", "demo", "-m", "in/a.csv", "in/a.csv", "--allow-empty")
    assert answer("import", "in", "demo/in")["added"] == 4
    assert sorted(each["path"] for each in answer("status", "demo")["staged"]) == ["mine", "other"]


def test_an_ingest_follows_a_folder(tmp_path: Path) -> None:
    folder = sample(tmp_path / "in")
    places = ("--from-path", "in", "--to-path", "demo@main/in")
    assert {each["path"]: each["kind"] for each in answer("ingest", "diff", *places)} == {
        f"in/{name}": "added" for name in contents(folder)
    }
    assert answer("ingest", "commit", *places, "-m", "first")["added"] == 4
    assert answer("ingest", "diff", *places) == []
    assert "nothing to commit" in wrong(INVALID, "ingest", "commit", *places)
    (folder / "new").write_bytes(b"new")
    (folder / "a.csv").write_bytes(b"other\n")
    (folder / "sub" / "b.json").unlink()
    differences = answer("ingest", "diff", *places)
    assert differences == [
        {"path": "in/a.csv", "kind": "changed", "before": 4, "after": 6},
        {"path": "in/new", "kind": "added", "before": None, "after": 3},
        {"path": "in/sub/b.json", "kind": "removed", "before": 2, "after": None},
    ]
    kept = answer("ingest", "diff", *places, "--keep-removed")
    assert kept == differences[:2]
    assert "1 added, 1 changed, 1 removed" in fine("ingest", "commit", *places)
    fine("fs", "download", "-r", "demo/in", "out")
    assert contents(tmp_path / "out") == contents(folder)
    assert listed("demo@main@/data/") == ["data/a.csv"]
    changes = {each["path"]: each["kind"] for each in answer("diff", "demo@main~1", "demo@main")}
    assert changes == {each["path"]: each["kind"] for each in differences}


@pytest.mark.parametrize(
    "words, code, message",
    [
        ("import none demo", NOT_FOUND, "there is nothing to import under file://"),
        ("import file demo", NOT_FOUND, "links one file"),
        ("import empty demo", NOT_FOUND, "there is nothing to import"),
        ("import .lochan demo", REFUSED, "lake.json is there"),
        ("import . demo", REFUSED, "lake.json is there"),
        ("import folder demo@none", NOT_FOUND, "no branch 'none'"),
        ("import folder none", NOT_FOUND, "no repository 'none'"),
        ("import folder demo@main~1", INVALID, "is not a branch"),
        ("import ftp://x/y demo", INVALID, "is not a place to read from"),
        ("import folder demo --path x", INVALID, "a source is given as URL=PREFIX"),
        ("import folder demo --path folder=", INVALID, "two files would become the object 'x'"),
        ("ingest commit --from-path none --to-path demo", NOT_FOUND, "there is nothing to import"),
        ("ingest diff --from-path folder --to-path demo@none", NOT_FOUND, "no branch 'none'"),
    ],
)
def test_a_mistake_is_one_clear_line(words: str, code: int, message: str, tmp_path: Path) -> None:
    for name in ("empty", "folder"):
        (tmp_path / name).mkdir()
    for name in ("file", "folder/x"):
        (tmp_path / name).write_text("x")
    before = answer("branch", "list", "demo")
    assert message in wrong(code, *words.split())
    assert answer("branch", "list", "demo") == before


def test_a_name_that_is_not_utf8_is_not_skipped(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good").write_bytes(b"")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/in/b\xffd")).write_bytes(b"")
    assert "is not valid UTF-8" in wrong(INVALID, "import", "in", "demo")


@pytest.fixture
def client(minio_server: MinioServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    minio_server.bucket("imports")
    made = minio_server.boto3()
    yield made
    made.close()


def test_a_bucket_is_imported_and_followed(client: Any, tmp_path: Path) -> None:
    for key in ("events/1", "events/2", "events/sub/", "other"):
        client.put_object(Bucket="imports", Key=key, Body=b"" if key.endswith("/") else key.encode())
    assert answer("import", "s3://imports/events/", "demo/in")["added"] == 2
    assert fine("fs", "cat", "demo/in/1") == "events/1"
    places = ("--from-path", "s3://imports/events", "--to-path", "demo/in/")
    assert answer("ingest", "diff", *places) == []
    client.put_object(Bucket="imports", Key="events/2", Body=b"changed")
    client.put_object(Bucket="imports", Key="events/3", Body=b"new")
    client.delete_object(Bucket="imports", Key="events/1")
    assert "has changed since" in wrong(CONFLICT, "fs", "cat", "demo/in/2")
    assert "gone" in wrong(GONE, "fs", "cat", "demo/in/1")
    done = answer("ingest", "commit", *places)
    assert (done["added"], done["changed"], done["removed"]) == (1, 1, 1)
    assert [fine("fs", "cat", f"demo/in/{name}") for name in "23"] == ["changed", "new"]
    fine("fs", "link", "s3://imports/other", "demo/other")
    assert fine("fs", "cat", "demo/other") == "other"
