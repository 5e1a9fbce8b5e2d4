"""Workspaces from the command line, on a local disk and in a bucket, with files that other programs write."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lochan.cli.root import cli
from tests.servers.minio import MinioServer

LOCHAN = Path(sys.executable).parent / "lochan"


@pytest.fixture(autouse=True)
def newcomer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name != "LOCHAN_COMPANION" and name.startswith(("LOCHAN_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def lochan(*words: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, words, input=stdin, prog_name="lochan", catch_exceptions=False)


def fine(*words: str, stdin: bytes | None = None) -> str:
    result = lochan(*words, stdin=stdin)
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def answer(*words: str) -> Any:
    return json.loads(fine(*words, "-f", "json"))


def wrong(code: int, *words: str) -> str:
    """Returns the error message."""
    result = lochan(*words)
    assert result.exit_code == code, (words, result.output)
    assert result.stderr.startswith("lochan: ")
    assert len(result.stderr.splitlines()) <= 2
    return result.stderr


@pytest.fixture
def workspace() -> str:
    """The id of one over a commit with `data/a.csv` and `data/b.csv`."""
    fine("init")
    fine("repo", "create", "demo")
    for name in ("a", "b"):
        fine("fs", "upload", "-", f"demo@main/data/{name}.csv", stdin=f"{name}\n".encode())
    fine("commit", "demo", "-m", "first")
    made = answer("workspace", "create", "demo", "--note", "nightly")
    assert made["ref"] == f"main+{made['id']}"
    return str(made["id"])


def file_of(id: str, path: str) -> Path:
    """The path at which another program would write."""
    file = Path(fine("workspace", "path", f"demo@main+{id}/{path}").rstrip("\n"))
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def paths(ref: str) -> list[str]:
    return [each["path"] for each in answer("fs", "ls", "-r", f"demo@{ref}")]


def test_files_are_written_read_added_and_committed(workspace: str) -> None:
    ref = f"main+{workspace}"
    file_of(workspace, "data/ü 1%.csv").write_text("new\n")
    file_of(workspace, "data/a.csv").write_text("other\n")
    fine("fs", "upload", "-", f"demo@{ref}/log/run.txt", stdin=b"ok")
    fine("fs", "rm", f"demo@{ref}/data/b.csv")
    assert paths(ref) == ["data/a.csv", "data/ü 1%.csv", "log/run.txt"]
    assert paths("main") == ["data/a.csv", "data/b.csv"]
    assert fine("fs", "cat", f"demo@{ref}/data/ü 1%.csv") == "new\n"
    assert [each["path"] for each in answer("fs", "ls", f"demo@{ref}")] == ["data/", "log/"]
    assert answer("workspace", "diff", "demo", workspace) == [
        {"path": "data/a.csv", "kind": "changed", "before": 2, "after": 6, "added": False},
        {"path": "data/b.csv", "kind": "removed", "before": 2, "after": None, "added": False},
        {"path": "data/ü 1%.csv", "kind": "added", "before": None, "after": 4, "added": False},
        {"path": "log/run.txt", "kind": "added", "before": None, "after": 2, "added": False},
    ]
    assert answer("diff", f"demo@{ref}", "--summary")["added"] == 2
    assert "nothing was added" in wrong(6, "workspace", "commit", "demo", workspace, "-m", "x")
    assert answer("workspace", "add", "demo", workspace, "data/*.csv")["added"] == ["data/*.csv"]
    assert len(answer("workspace", "diff", "demo", workspace, "--added")) == 3
    shown = answer("workspace", "show", "demo", workspace)
    assert (shown["note"], shown["added"], shown["changes"]["removed"]) == ("nightly", ["data/*.csv"], 1)
    made = answer("workspace", "commit", "demo", workspace, "-m", "nightly", "--meta", "job=7")
    assert made["metadata"] == {"job": "7"}
    assert paths("main") == ["data/a.csv", "data/ü 1%.csv"]
    assert answer("log", "demo", "-n", "1")[0]["id"] == made["id"]
    assert answer("workspace", "list", "demo") == []
    for words in (
        ("workspace", "commit", "demo", workspace, "-m", "x"),
        ("workspace", "add", "demo", workspace, "x"),
        ("workspace", "drop", "demo", workspace, "--yes"),
        ("fs", "cat", f"demo@{ref}/data/a.csv"),
        ("workspace", "path", f"demo@{ref}/x"),
    ):
        assert f"was committed as {made['id'][:12]}" in wrong(5, *words)


def test_a_whole_folder_is_uploaded_and_downloaded(workspace: str, tmp_path: Path) -> None:
    ref = f"main+{workspace}"
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "x").write_bytes(b"1" * 3_000_000)
    (source / "deep" / "y").write_bytes(b"2")
    assert answer("fs", "upload", "-r", str(source), f"demo@{ref}/up/") == {"objects": 2, "bytes": 3_000_001}
    assert file_of(workspace, "up/deep/y").read_bytes() == b"2"
    fine("fs", "upload", str(source / "x"), f"demo@{ref}/noted", "--metadata", "k=v")
    assert answer("fs", "stat", f"demo@{ref}/noted")["metadata"] == {"k": "v"}
    fine("fs", "cp", f"demo@{ref}/up/deep/y", f"demo@{ref}/copy/")
    fine("fs", "mv", f"demo@{ref}/data/a.csv", f"demo@{ref}/moved.csv")
    fine("fs", "rm", "-r", "--yes", f"demo@{ref}/up/deep/")
    assert paths(ref) == ["copy/y", "data/b.csv", "moved.csv", "noted", "up/x"]
    fine("fs", "download", "-r", f"demo@{ref}", str(tmp_path / "got"))
    assert (tmp_path / "got" / "up" / "x").read_bytes() == b"1" * 3_000_000
    fine("workspace", "commit", "demo", ref, "-m", "by its ref", "--all")
    assert paths("main") == ["copy/y", "data/b.csv", "moved.csv", "noted", "up/x"]
    assert answer("fs", "stat", "demo@main/noted")["metadata"] == {"k": "v"}


def test_revert_and_drop_ask_first(workspace: str) -> None:
    file_of(workspace, "x/1").write_text("1")
    file_of(workspace, "y").write_text("1")
    assert "--yes" in wrong(5, "workspace", "revert", "demo", workspace)
    assert answer("workspace", "revert", "demo", workspace, "x/*", "--yes") == {"reverted": 1}
    assert paths(f"main+{workspace}") == ["data/a.csv", "data/b.csv", "y"]
    assert "--yes" in wrong(5, "workspace", "drop", "demo", workspace)
    fine("workspace", "drop", "demo", workspace, "--yes")
    assert "was dropped" in wrong(5, "workspace", "show", "demo", workspace)
    assert paths("main") == ["data/a.csv", "data/b.csv"]


def test_the_branch_changed_the_same_path(workspace: str) -> None:
    file_of(workspace, "data/a.csv").write_text("mine\n")
    fine("fs", "upload", "-", "demo@main/data/a.csv", stdin=b"theirs\n")
    staged = lochan("workspace", "commit", "demo", workspace, "-m", "x", "--all", "-f", "json")
    assert staged.exit_code == 4
    assert json.loads(staged.stdout) == [{"path": "data/a.csv"}]
    fine("commit", "demo", "-m", "theirs")
    both = lochan("workspace", "commit", "demo", workspace, "-m", "x", "--all", "-f", "json")
    assert both.exit_code == 4
    [conflict] = json.loads(both.stdout)
    assert (conflict["path"], conflict["ours"]["size"], conflict["theirs"]["size"]) == ("data/a.csv", 7, 5)
    assert "were changed on branch 'main' since" in both.stderr
    assert fine("fs", "cat", "demo@main/data/a.csv") == "theirs\n"


def test_every_conflict_is_listed_however_many(workspace: str, tmp_path: Path) -> None:
    """More than come with the error itself."""
    count = 1_203
    for ref in (f"demo@main+{workspace}", "demo@main"):
        folder = tmp_path / ref
        folder.mkdir()
        for number in range(count):
            (folder / f"{number:05d}").write_text(ref)
        fine("fs", "upload", "-r", str(folder), f"{ref}/many/")
    fine("commit", "demo@main", "-m", "theirs")
    refused = lochan("workspace", "commit", "demo", workspace, "-m", "x", "--all", "-f", "json")
    assert refused.exit_code == 4
    listed = json.loads(refused.stdout)
    assert [each["path"] for each in listed] == [f"many/{number:05d}" for number in range(count)]
    assert all(each["base"] is None and each["ours"] != each["theirs"] for each in listed)
    assert "1203 of the paths" in refused.stderr
    table = lochan("workspace", "commit", "demo", workspace, "-m", "x", "--all").stdout.splitlines()
    assert len(table) == count + 1
    assert table[-1].startswith("many/01202")


def test_a_late_writer_is_noticed(workspace: str) -> None:
    file = file_of(workspace, "x")
    file.write_text("what was committed")
    made = answer("workspace", "commit", "demo", workspace, "-m", "x", "--all")
    again = answer("workspace", "create", "demo")["id"]
    file.write_text("written too late !")
    assert "was overwritten after its workspace was committed" in wrong(4, "fs", "cat", "demo@main/x")
    file.unlink()
    assert "is gone" in wrong(10, "fs", "cat", "demo@main/x")
    lock = file.parents[1] / "_committed" / workspace
    assert lock.read_text() == f"{made['id']}\n"
    fine("workspace", "drop", "demo", again, "--yes")


def test_a_commit_asked_for_twice_with_one_key(workspace: str) -> None:
    file_of(workspace, "x").write_text("1")
    words = ("workspace", "commit", "demo", workspace, "-m", "x", "--all", "--key", "job-7")
    first = answer(*words)
    assert answer(*words) == first
    assert "was used for another request" in wrong(4, *words[:5], "y", *words[6:])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (6, ("workspace", "show", "demo", "17")),
        (6, ("workspace", "show", "demo@main", "17-00000000")),
        (3, ("workspace", "show", "demo", "17-00000000")),
        (3, ("workspace", "create", "demo@none")),
        (6, ("workspace", "create", "demo@main~1")),
        (6, ("workspace", "path", "demo@main/x")),
        (6, ("workspace", "path", "demo/x")),
        (6, ("fs", "cat", "demo@main+17/x")),
        (3, ("fs", "cat", "demo@main+17-00000000/x")),
        (6, ("commit", "demo@main+17-00000000", "-m", "x")),
        (6, ("workspace", "commit", "demo", "17-00000000", "-m", "x", "--meta", "none")),
    ],
)
def test_mistakes(workspace: str, code: int, words: tuple[str, ...]) -> None:
    wrong(code, *words)


def test_names_that_no_file_can_have(workspace: str) -> None:
    ref = f"main+{workspace}"
    for path in ("../x", "a//b", "line\nbreak", "a/./b"):
        message = wrong(6, "fs", "upload", __file__, f"demo@{ref}/{path}")
        assert "cannot be a file of a workspace" in message
        assert "write other paths to the branch" in message
    assert "cannot be a file of a workspace" in wrong(6, "workspace", "path", f"demo@{ref}/a/../../b")
    fine("fs", "cp", "demo@main/data/a.csv", f"demo@{ref}/a//b")  # what is staged has any name
    assert paths(ref) == ["a//b", "data/a.csv", "data/b.csv"]


def test_on_a_disk_what_lies_below_a_file_is_staged(workspace: str) -> None:
    file_of(workspace, "a").write_text("1")
    fine("fs", "upload", __file__, f"demo@main+{workspace}/a/b")
    assert not file_of(workspace, "a").is_dir()
    assert paths(f"main+{workspace}") == ["a", "a/b", "data/a.csv", "data/b.csv"]


def test_nothing_that_a_file_held_is_lost_by_an_upload_or_a_delete(workspace: str) -> None:
    ref = f"demo@main+{workspace}"
    file_of(workspace, "a").write_text("first")
    fine("fs", "upload", __file__, f"{ref}/a")
    assert fine("fs", "cat", f"{ref}/a") == Path(__file__).read_text()
    fine("fs", "rm", f"{ref}/a")
    assert file_of(workspace, "a").read_text() == "first"
    assert paths(f"main+{workspace}") == ["data/a.csv", "data/b.csv"]
    file_of(workspace, "a").write_text("second")
    fine("workspace", "commit", "demo", workspace, "-m", "x", "--all")
    assert fine("fs", "cat", "demo@main/a") == "second"


def test_a_file_whose_name_is_not_utf8_is_not_silently_lost(workspace: str) -> None:
    file_of(workspace, "fine").write_text("1")
    root = os.fsencode(file_of(workspace, "fine").parent)
    Path(os.fsdecode(root + b"/bad-\xff")).write_text("2")
    assert "not valid UTF-8" in wrong(6, "workspace", "commit", "demo", workspace, "-m", "x", "--all")


# --- in a bucket -----------------------------------------------------------------------------------------------------
def test_in_a_bucket_another_client_writes_the_files(minio_server: MinioServer, tmp_path: Path) -> None:
    bucket = minio_server.bucket("workspaces")
    config = tmp_path / "lochan.yaml"
    config.write_text(f"""
lake: s3://{bucket}/a lake
blockstore:
  type: s3
  s3:
    region: us-east-1
    endpoint: {minio_server.endpoint}
    credentials:
      access_key_id: {minio_server.access_key}
      access_secret_key: {minio_server.secret_key}
""")

    def in_bucket(*words: str, code: int = 0, stdin: str = "") -> str:
        done = subprocess.run(
            [LOCHAN, "--config", str(config), *words], capture_output=True, text=True, timeout=120, input=stdin
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    in_bucket("init")
    in_bucket("repo", "create", "demo")
    id = json.loads(in_bucket("workspace", "create", "demo", "-f", "json"))["id"]
    url = in_bucket("workspace", "path", f"demo@main+{id}/t/").strip()
    assert url.startswith(f"s3://{bucket}/a lake/")
    prefix = url.removeprefix(f"s3://{bucket}/")
    with closing(minio_server.boto3()) as client:
        for name, body in (("part-ü.csv", b"1,2\n"), ("deep/part-1.csv", b"3,4\n"), ("empty", b""), ("deep/", b"")):
            client.put_object(Bucket=bucket, Key=prefix + name, Body=body)
        parts = client.create_multipart_upload(Bucket=bucket, Key=f"{prefix}big")
        large = b"x" * (5 << 20)
        uploaded = [
            client.upload_part(
                Bucket=bucket, Key=f"{prefix}big", UploadId=parts["UploadId"], PartNumber=number, Body=large
            )
            for number in (1, 2)
        ]
        client.complete_multipart_upload(
            Bucket=bucket,
            Key=f"{prefix}big",
            UploadId=parts["UploadId"],
            MultipartUpload={"Parts": [{"ETag": p["ETag"], "PartNumber": n} for n, p in enumerate(uploaded, 1)]},
        )
        in_bucket("fs", "upload", "-", f"demo@main+{id}/t/by-lochan", stdin="ours")
        assert client.get_object(Bucket=bucket, Key=f"{prefix}by-lochan")["Body"].read() == b"ours"
        for name in ("again", "replaced", "removed"):
            client.put_object(Bucket=bucket, Key=prefix + name, Body=b"the same")
            in_bucket("fs", "rm", f"demo@main+{id}/t/{name}")
            assert client.get_object(Bucket=bucket, Key=prefix + name)["Body"].read() == b"the same"
        in_bucket("fs", "upload", "-", f"demo@main+{id}/t/replaced", stdin="staged")
        client.put_object(Bucket=bucket, Key=f"{prefix}again", Body=b"the same")  # its ETag stays
        listed = json.loads(in_bucket("fs", "ls", "-r", f"demo@main+{id}", "-f", "json"))
        names = ["again", "big", "by-lochan", "deep/part-1.csv", "empty", "part-ü.csv", "replaced"]
        expected = [f"t/{name}" for name in names]
        assert [each["path"] for each in listed] == expected
        in_bucket("workspace", "commit", "demo", id, "-m", "from elsewhere", "--all")
        stat = json.loads(in_bucket("fs", "stat", "demo@main/t/part-ü.csv", "-f", "json"))
        assert stat["blocks"][0]["address"].endswith(f"/workspaces/{id}/t/part-ü.csv")
        assert in_bucket("fs", "cat", "demo@main/t/deep/part-1.csv") == "3,4\n"
        assert in_bucket("fs", "cat", "demo@main/t/again") == "the same"
        assert in_bucket("fs", "cat", "demo@main/t/replaced") == "staged"
        assert in_bucket("fs", "cat", "demo@main/t/big") == "x" * (10 << 20)
        client.put_object(Bucket=bucket, Key=f"{prefix}part-ü.csv", Body=b"9,9\n")
        assert "was overwritten after" in in_bucket("fs", "cat", "demo@main/t/part-ü.csv", code=4)
        client.put_object(Bucket=bucket, Key=f"{prefix}part-ü.csv", Body=b"1,2\n")
        assert in_bucket("fs", "cat", "demo@main/t/part-ü.csv") == "1,2\n"
