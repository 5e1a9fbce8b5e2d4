"""Versioned repositories from the command line: one long story, and every kind of wrong input."""

import json
import os
import subprocess
import sys
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


def sample(folder: Path) -> Path:
    files = {"a.csv": b"one\n", "sub/b.json": b"{}", "sub/deep/c": b"", "\u00fc d.bin": bytes(range(256)) * 50_000}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def demo(tmp_path: Path) -> None:
    """A repository with one commit of one object."""
    fine("init")
    fine("repo", "create", "demo")
    fine("fs", "upload", "-", "demo@main/data/a.csv", stdin=b"one\n")
    fine("commit", "demo", "-m", "first")


def test_a_story_in_a_folder(tmp_path: Path) -> None:
    story(tmp_path)


def test_a_story_in_a_bucket(minio_server: MinioServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCHAN_LAKE", f"s3://{minio_server.bucket('versions')}/lake")
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    story(tmp_path)


def story(tmp_path: Path) -> None:
    fine("init")
    fine("repo", "create", "demo")
    data = sample(tmp_path / "data")
    before = contents(data)

    uploaded = answer("fs", "upload", "-r", str(data), "demo@main/data", "--metadata", "owner=ada")
    assert uploaded == {"objects": 4, "bytes": sum(map(len, before.values()))}
    assert {each["path"]: each["kind"] for each in answer("status", "demo")["staged"]} == {
        f"data/{name}": "added" for name in before
    }
    first = answer("commit", "demo@main", "-m", "first", "--meta", "k=v", "--author", "eve", "--date", "2020-01-01")
    assert (first["author"], first["date"], first["metadata"]) == ("eve", "2020-01-01T00:00:00.000000Z", {"k": "v"})
    assert answer("status", "demo") == {"branch": "main", "head": first["id"], "staged": []}

    assert [each["path"] for each in answer("fs", "ls", "demo@main/data/")] == [
        "data/a.csv",
        "data/sub/",
        "data/ü d.bin",
    ]
    assert [each["path"] for each in answer("fs", "ls", "-r", "demo")] == sorted(f"data/{name}" for name in before)
    stat = answer("fs", "stat", "demo@main/data/a.csv")
    assert (stat["size"], stat["content_type"], stat["metadata"]) == (4, "text/csv", {"owner": "ada"})

    assert answer("branch", "create", "demo@dev", "--from", "main") == {"name": "dev", "head": first["id"]}
    fine("fs", "upload", "-", "demo@main/data/a.csv", stdin=b"ours\n")
    ours = answer("commit", "demo", "-m", "ours")["id"]
    fine("fs", "upload", "-", "demo@dev/data/a.csv", stdin=b"theirs\n")
    fine("fs", "rm", "demo@dev/data/sub/b.json")
    assert {each["path"]: each["kind"] for each in answer("diff", "demo@dev")} == {
        "data/a.csv": "changed",
        "data/sub/b.json": "removed",
    }
    assert answer("diff", "demo@dev", "--summary") == {
        "added": 0,
        "removed": 1,
        "changed": 1,
        "bytes_added": 7,
        "bytes_removed": 6,
    }
    assert "uncommitted changes" in wrong(5, "merge", "demo@dev", "demo@main")
    theirs = answer("commit", "demo@dev", "-m", "theirs", "data/*.csv", "data/sub/**")["id"]

    changes = answer("diff", "demo@main", "demo@dev", "--three-dot")
    assert [(each["path"], each["kind"]) for each in changes] == [
        ("data/a.csv", "changed"),
        ("data/sub/b.json", "removed"),
    ]
    assert changes[0]["left"]["checksum"] == stat["checksum"]
    counts = {"added": 0, "removed": 1, "changed": 1, "bytes_added": 7}
    assert answer("diff", "demo@main", "demo@dev", "--summary") == {**counts, "bytes_removed": 5 + 2}
    assert answer("diff", "demo@main", "demo@dev", "--summary", "--three-dot") == {**counts, "bytes_removed": 4 + 2}

    refused = lochan("merge", "demo@dev", "demo@main", "-f", "json")
    assert refused.exit_code == 4
    [conflict] = json.loads(refused.stdout)
    assert conflict["path"] == "data/a.csv"
    assert [conflict[side]["size"] for side in ("base", "ours", "theirs")] == [4, 5, 7]
    assert "changed on both sides" in refused.stderr
    assert "data/a.csv  4 B " in lochan("merge", "demo@dev", "demo@main").stdout
    assert answer("branch", "list", "demo")[1]["head"] == ours

    merged = answer("merge", "demo@dev", "demo@main", "--strategy", "source-wins", "-m", "both")["head"]
    shown = answer("show", "demo@main")
    assert (shown["id"], shown["parents"], shown["message"]) == (merged, [ours, theirs], "both")
    assert len(shown["differences"]) == 2
    assert fine("fs", "cat", "demo@main/data/a.csv") == "theirs\n"
    assert fine("fs", "cat", "demo@main~1/data/a.csv") == "ours\n"
    assert fine("fs", "cat", "demo@main~2/data/a.csv") == "one\n"
    assert [each["message"] for each in answer("log", "demo", "-n", "2", "--first-parent")] == ["both", "ours"]
    assert [each["id"] for each in answer("log", "demo", "--prefix", "data/sub/")] == [theirs, first["id"]]
    assert [each["id"] for each in answer("log", "demo", "--until", "2020-06-01")] == [first["id"]]

    fine("tag", "create", "demo@v1", "--from", "main~2")
    assert [(each["name"], each["commit"]) for each in answer("tag", "list", "demo")] == [("v1", first["id"])]
    fine("revert", "demo@main", "main")
    assert fine("fs", "cat", "demo/data/a.csv") == "ours\n"
    assert answer("diff", "demo@main", "demo@main~2") == []
    fine("cherry-pick", "demo@main", merged)
    assert fine("fs", "cat", "demo/data/a.csv") == "theirs\n"

    assert answer("fs", "download", "-r", "demo@v1/data", "out") == {**uploaded, "skipped": 0}
    assert contents(tmp_path / "out") == before
    fine("reset", "demo@main", "--hard", "v1", "--yes")
    assert answer("branch", "list", "demo")[1]["head"] == first["id"]


def test_copies_moves_and_removals(demo: None, tmp_path: Path) -> None:
    fine("fs", "cp", "demo@main~0/data/a.csv", "demo@main/copies/")
    fine("fs", "mv", "demo@main/copies/a.csv", "demo/copies/b.csv")
    assert [each["path"] for each in answer("fs", "ls", "-r", "demo")] == ["copies/b.csv", "data/a.csv"]
    assert [each["path"] for each in answer("fs", "ls", "-r", "demo@main@")] == ["data/a.csv"]
    assert answer("fs", "rm", "-r", "demo/copies", "--yes") == {"removed": 1}
    assert answer("status", "demo")["staged"] == []


def test_branches_come_back_with_what_was_staged(demo: None) -> None:
    fine("branch", "create", "demo@dev")
    fine("fs", "upload", "-", "demo@dev/new", stdin=b"x")
    fine("branch", "delete", "demo@dev")
    wrong(3, "fs", "ls", "demo@dev")
    fine("branch", "restore", "demo@dev")
    assert fine("fs", "cat", "demo@dev/new") == "x"
    fine("reset", "demo@dev", "--yes")
    wrong(3, "fs", "cat", "demo@dev/new")


def test_many_objects_are_listed_in_pages_and_uploaded_in_batches(demo: None, tmp_path: Path) -> None:
    names = [f"{number:04}" for number in range(1_203)]
    (tmp_path / "many").mkdir()
    for name in names:
        (tmp_path / "many" / name).write_text(name)
    fine("fs", "upload", "-r", "many", "demo/many/")
    assert [each["path"] for each in answer("fs", "ls", "demo/many/")] == [f"many/{name}" for name in names]
    lines = fine("fs", "ls", "-r", "demo/many/").splitlines()
    assert [line.split()[-1] for line in lines] == ["PATH", *(f"many/{name}" for name in names)]
    fine("fs", "download", "-r", "demo/many", "out")
    assert contents(tmp_path / "out") == {name: name.encode() for name in names}
    assert answer("fs", "rm", "-r", "demo/many", "--yes") == {"removed": len(names)}


def test_the_lake_is_not_uploaded_into_itself(demo: None, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "linked").symlink_to("folder/file")
    (tmp_path / "lost").symlink_to("nowhere")
    done = lochan("fs", "upload", "-r", ".", "demo@main")
    assert done.exit_code == 0
    assert sorted(done.stderr.splitlines()) == [
        "lochan: left out .lochan: it is the lake itself",
        "lochan: left out link: it is a link to a folder",
        "lochan: left out lost: it is a link to nothing",
    ]
    assert [each["path"] for each in answer("status", "demo")["staged"]] == ["folder/file", "linked"]


def test_an_object_and_a_folder_of_one_name(demo: None, tmp_path: Path) -> None:
    """A repository can hold both, a disk cannot; what comes between the two in order changes nothing."""
    for path in ("data/a.csv/inner/deep", "data/a.csv-more", "data/a.csv/inner"):
        fine("fs", "upload", "-", f"demo/{path}", stdin=b"x")
    done = lochan("fs", "download", "-r", "demo", "out")
    assert done.exit_code == 5
    message = done.stderr.splitlines()
    assert [line for line in message if "is an object too" in line] == [
        f"lochan: '{path}' was not downloaded: 'data/a.csv' is an object too, and a file cannot be a folder"
        for path in ("data/a.csv/inner", "data/a.csv/inner/deep")
    ]
    assert "lochan: 2 objects were not downloaded" in message
    assert contents(tmp_path / "out") == {"data/a.csv": b"one\n", "data/a.csv-more": b"x"}


@pytest.mark.parametrize("path", ["../evil", "a/../../evil", "/etc/evil", "a//b", "./a", "a/.", ".", "..", "k" * 300])
def test_nothing_is_downloaded_to_elsewhere(path: str, demo: None, tmp_path: Path) -> None:
    fine("fs", "upload", "-", f"demo/{path}", stdin=b"x")
    done = lochan("fs", "download", "-r", "demo", "out", "-f", "json")
    assert done.exit_code == 5
    assert f"lochan: {path!r} was not downloaded" in done.stderr
    assert "lochan: 1 object was not downloaded" in done.stderr
    assert json.loads(done.stdout) == {"objects": 1, "bytes": 4, "skipped": 1}
    assert contents(tmp_path / "out") == {"data/a.csv": b"one\n"}, "the rest is there"
    assert not (tmp_path / "evil").exists()
    assert fine("fs", "cat", f"demo/{path}") == "x"


def test_nothing_is_downloaded_through_a_link_to_elsewhere(demo: None, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "data").symlink_to(tmp_path / "elsewhere")
    done = lochan("fs", "download", "-r", "demo", "out", "--force")
    assert (done.exit_code, "a link leads out of" in done.stderr) == (5, True)
    assert contents(tmp_path / "elsewhere") == {}


def test_links_out_of_a_folder_are_followed_only_on_request(demo: None, tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "in"
    for each in (outside, folder):
        (each / "deep").mkdir(parents=True)
        (each / "deep" / "rows.json").write_text('{"k": 1}\n')
    (folder / "secret.json").symlink_to(outside / "deep" / "rows.json")
    (folder / "own.json").symlink_to("deep/rows.json")
    (folder / "linked").symlink_to(outside)
    (folder / "deep" / "loop").symlink_to(folder)
    done = lochan("fs", "upload", "-r", "in", "demo@main/up/")
    assert done.exit_code == 0
    assert [line for line in done.stderr.splitlines() if line.startswith("lochan:")] == [
        "lochan: left out in/linked: it is a link to a folder that leads out of the folder",
        "lochan: left out in/secret.json: it is a link that leads out of the folder",
        "lochan: left out in/deep/loop: it is a link to a folder",
    ]
    assert [each["path"] for each in answer("status", "demo")["staged"]] == ["up/deep/rows.json", "up/own.json"]
    done = lochan("fs", "upload", "-r", "--follow-links", "in", "demo@main/all/")
    assert done.stderr.splitlines() == ["lochan: left out in/deep/loop: it is a link to a folder that it lies in"]
    staged = [each["path"] for each in answer("status", "demo")["staged"]]
    assert [path for path in staged if path.startswith("all/")] == [
        "all/deep/rows.json", "all/linked/deep/rows.json", "all/own.json", "all/secret.json"
    ]  # fmt: skip
    for words, rows in (((), 2), (("--follow-links",), 4)):
        assert answer("load", f"rows{rows}", "in", "--create", *words)["rows"] == rows


def test_a_file_that_is_there_is_replaced_only_by_force(demo: None, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("mine")
    assert "is there already" in wrong(4, "fs", "download", "demo/data/a.csv")
    assert "is there already" in wrong(4, "fs", "download", "-r", "demo/data", ".")
    assert (tmp_path / "a.csv").read_text() == "mine"
    fine("fs", "download", "demo/data/a.csv", "--force")
    assert (tmp_path / "a.csv").read_text() == "one\n"
    fine("fs", "download", "demo/data/a.csv", "other")
    assert (tmp_path / "other").read_text() == "one\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == [".lochan", "a.csv", "other"]


@pytest.mark.parametrize(
    "words, code, message",
    [
        ("fs ls demo@none", 3, "no branch, tag or commit 'none'"),
        ("fs ls none@main", 3, "no repository 'none'"),
        ("fs ls demo@main~9", 3, "beyond the first commit"),
        ("fs cat demo/none", 3, "no object 'none' at main"),
        ("fs cat demo", 6, "the path is missing"),
        ("fs stat demo/none", 3, "no object 'none' at main"),
        ("fs rm demo/none", 3, "no object demo/none"),
        ("fs rm -r demo/data", 5, "demo/data was not removed: nobody confirmed it"),
        ("fs rm -r demo/none --yes", 3, "no objects in demo/none"),
        ("fs rm demo@main~1/data/a.csv", 6, "'main~1' is not a branch"),
        ("fs mv demo/data/a.csv demo/data/a.csv", 6, "are the same"),
        ("fs mv demo/data/a.csv demo@dev/a.csv", 6, "on different branches"),
        ("fs cp demo/data/a.csv other/a.csv", 3, "no repository 'other'"),
        ("fs cp demo/data/a.csv demo@none/a.csv", 3, "no branch 'none'"),
        ("fs upload none demo/", 3, "no file none"),
        ("fs upload . demo/", 6, "upload it with -r"),
        ("fs upload -r empty demo/", 3, "no files in empty"),
        ("fs upload - demo", 6, "which needs a path"),
        ("fs upload file demo@none/a", 3, "no branch 'none'"),
        ("fs upload file demo/a --metadata x", 6, "metadata is given as KEY=VALUE"),
        ("fs download demo/none", 3, "no object 'none' at main"),
        ("fs download -r demo/none", 3, "no objects in 'none' at main"),
        ("branch create demo", 6, "the name after the @ is missing"),
        ("branch create demo@main", 4, "there is a branch 'main' already"),
        ("branch create demo@dev --from none", 3, "no branch, tag or commit 'none'"),
        ("branch delete demo@main", 5, "is the default branch"),
        ("branch delete demo@none", 3, "no branch 'none'"),
        ("branch restore demo@none", 3, "no deleted branch 'none'"),
        ("branch list demo@main", 6, "only a repository can be given"),
        ("tag create demo@main", 4, "there is a branch 'main' already"),
        ("tag delete demo@none", 3, "no tag 'none'"),
        ("commit demo -m x", 6, "nothing is staged on branch 'main'"),
        ("commit demo@none -m x", 3, "no branch 'none'"),
        ("commit demo@main~1 -m x", 6, "'main~1' is not a branch"),
        ("commit demo -m x --date soon", 6, "--date 'soon': not a time"),
        ("log demo/data", 6, "a path cannot be given here"),
        ("log demo --since soon", 6, "--since 'soon': not a time"),
        ("show demo@none", 3, "no branch, tag or commit 'none'"),
        ("diff demo other", 6, "in different repositories"),
        ("diff demo@main~1", 6, "'main~1' is not a branch"),
        ("merge demo@main demo", 6, "cannot be merged into itself"),
        ("merge demo@main~1 demo", 6, "is there already"),
        ("merge demo@none demo", 3, "no branch, tag or commit 'none'"),
        ("merge other@main demo", 6, "in different repositories"),
        ("revert demo none", 3, "no branch, tag or commit 'none'"),
        ("revert demo main --parent 2", 6, "no number 2"),
        ("cherry-pick demo main", 6, "would change nothing"),
        ("reset demo", 5, "demo was not reset: nobody confirmed it"),
        ("reset demo --yes", 6, "nothing is staged"),
        ("reset demo --hard none --yes", 3, "no branch, tag or commit 'none'"),
    ],
)
def test_a_mistake_is_one_clear_line(words: str, code: int, message: str, demo: None, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    assert message in wrong(code, *words.split())
    assert len(answer("log", "demo")) == 2
    assert answer("status", "demo")["staged"] == []


def test_bytes_go_through_pipes_as_they_are(demo: None) -> None:
    """With real processes, because CliRunner does not show this."""
    data = bytes(range(256)) * 100_000
    subprocess.run([LOCHAN, "fs", "upload", "-", "demo/bin"], input=data, capture_output=True, check=True, timeout=120)
    read = subprocess.run([LOCHAN, "fs", "cat", "demo/bin"], capture_output=True, check=True, timeout=120)
    assert read.stdout == data
    left = subprocess.run(f"{LOCHAN} fs cat demo/bin | head -c 5", shell=True, capture_output=True, timeout=120)
    assert (left.stdout, left.stderr) == (data[:5], b"")


def test_trees_of_a_bucket_are_kept_on_the_disk(
    minio_server: MinioServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copies there may be deleted or damaged at any time."""
    monkeypatch.setenv("LOCHAN_LAKE", f"s3://{minio_server.bucket('cached')}/lake")
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    monkeypatch.setenv("LOCHAN_CACHE__PATH", str(tmp_path / "cache"))
    fine("init")
    fine("repo", "create", "demo")
    fine("fs", "upload", "-", "demo@main/a", stdin=b"x")
    fine("commit", "demo", "-m", "a")
    assert "a" in fine("fs", "ls", "demo@main/")
    kept = list((tmp_path / "cache").rglob("*.arrow"))
    assert kept
    for file in kept:
        file.write_bytes(b"damaged")
    assert "a" in fine("fs", "ls", "demo@main/")
