"""`lochan import --from-lakefs`. The server speaks lakeFS's API, and is a lake of ours: what came over can be compared
with what it has."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.store.open import open_store
from tests.run import run
from tests.servers.lochan import LOCHAN, LochanServer, lochan_server
from tests.servers.minio import MinioServer

_KILLED = Path(__file__).with_name("run_killed.py")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("migration") / "lake") as running:
        yield running
        assert not running.traceback()


class Here:
    """A lake on this machine, and the command line on it."""

    def __init__(self, folder: Path, server: LochanServer, **env: str) -> None:
        self.folder = folder
        self._url = f"http://{server.api}"
        keys = {
            "LAKECTL_CREDENTIALS_ACCESS_KEY_ID": server.access_key,
            "LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY": server.secret_key,
        }
        self._env = {**os.environ, **keys, **env}
        self.done("init")

    def done(self, *words: str) -> str:
        done = self.tried(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tried(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [LOCHAN, "--lake", str(self.folder), *words]
        return subprocess.run(command, capture_output=True, text=True, env={**self._env, **env}, check=False)

    def killed(self, count: int, *words: str) -> int:
        """The exit status of a migration that is killed at its next appends; 0: it came to its end before."""
        command = [sys.executable, str(_KILLED), str(count), "append.before_put,append.after_put"]
        command += ["--lake", str(self.folder), "import", "--from-lakefs", self._url, *words]
        env = {**self._env, "LOCHAN_COMPANION": "0"}
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False).returncode

    def migrate(self, *words: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.done("import", "--from-lakefs", self._url, *words, "-f", "json"))
        return told


def told(lake: str | Path, repository: str) -> dict[str, Any]:
    """All that two lakes must agree on: for each ref its history, and the objects with their bytes."""
    with lochan.connect(str(lake)) as opened:
        found = opened.repository(repository)
        refs = [*(each.name for each in found.branches()), *(each.name for each in found.tags())]
        return {name: (_history(found, name), _objects(found, name)) for name in refs}


def _history(repository: Any, ref: str) -> list[Any]:
    lines = []
    for commit in repository.ref(ref).log():
        if commit.parents:
            metadata = {name: value for name, value in commit.metadata.items() if name != "lakefs.commit"}
            lines.append((commit.message, len(commit.parents), int(commit.date.timestamp()), commit.author, metadata))
    return sorted(lines, key=str)  # of commits in one second the order is not told


def _objects(repository: Any, ref: str) -> list[Any]:
    at = repository.ref(next(repository.ref(ref).log()).id)  # without what is staged
    return [
        (
            each.path,
            each.size,
            each.etag,
            each.content_type or "application/octet-stream",
            dict(each.metadata),
            at.read(each.path),
        )
        for each in at.list()
    ]


def _shop(lake: str) -> None:
    with lochan.connect(lake) as opened:
        shop = opened.create_repository("shop")
        main = shop.branch("main")
        for number in range(40):
            main.put(f"raw/{number:03}.csv", b"%d\n" % number)
        main.put("notes ü?&.txt", b"x" * 3_000_000, lochan.PutOptions(content_type="text/plain", metadata={"a": "b"}))
        main.commit("first", lochan.CommitOptions(metadata={"ticket": "7"}))
        dev = shop.create_branch("dev", "main")
        dev.put("raw/001.csv", b"changed\n")
        dev.put("dev.txt", b"dev")
        dev.commit("dev 1")
        main.delete("raw/000.csv")
        main.put("empty", b"")
        main.commit("second")
        dev.merge("main")
        dev.put("dev.txt", b"dev again")
        dev.commit("dev 2")
        main.merge("dev")
        shop.create_tag("v1", "main~1")
        gone = shop.create_branch("gone", "dev")
        gone.put("only tagged", b"1")
        gone.commit("on no branch")
        shop.create_tag("lonely", "gone")
        shop.delete_branch("gone")
        main.put("staged", b"not committed")


def test_a_repository_with_its_history(source: LochanServer, tmp_path: Path) -> None:
    _shop(source.lake)
    here = Here(tmp_path / "lake", source)
    first = here.migrate("--repo", "shop")
    assert (first["branches"], first["tags"], first["commits"]) == (2, 2, 7)
    assert first["uncommitted"] == ["main"]
    assert first["linked"] == 0
    assert first["copied"] == 41 + 2 + 1 + 1 + 1  # what a merge brings is not copied twice
    assert told(here.folder, "shop") == told(source.lake, "shop")

    again = here.migrate("--repo", "shop")
    assert (again["commits"], again["copied"]) == (0, 0)
    with lochan.connect(source.lake) as opened:
        shop = opened.repository("shop")
        shop.branch("main").commit("third")
        shop.branch("dev").reset("main")  # moves to commits that are known
        shop.create_branch("new", "main~1")
    more = here.migrate("--repo", "shop")
    assert (more["commits"], more["copied"], more["uncommitted"]) == (1, 1, [])
    assert told(here.folder, "shop") == told(source.lake, "shop")
    here.done("fsck", "--data")


def test_killed_again_and_again_it_goes_on(source: LochanServer, tmp_path: Path) -> None:
    """Each life dies before or after an append to a journal, a little later than the one before."""
    with lochan.connect(source.lake) as opened:
        _history_to_kill(opened.create_repository("killed"))
    here = Here(tmp_path / "lake", source)
    lives = 0
    while (status := here.killed(1 + lives % 5, "--repo", "killed")) == -signal.SIGKILL:
        lives += 1
        assert lives < 60, "it does not come to an end"
    assert status == 0
    assert lives >= 4
    assert told(here.folder, "killed") == told(source.lake, "killed")
    again = here.migrate("--repo", "killed")
    assert (again["commits"], again["copied"]) == (0, 0)
    here.done("fsck", "--data")


def _history_to_kill(repository: lochan.Repository) -> None:
    main = repository.branch("main")
    for number in range(4):
        main.put(f"files/{number}", b"%d" % number)
        main.commit(f"commit {number}")
    dev = repository.create_branch("dev", "main~2")
    dev.put("dev", b"dev")
    dev.commit("dev")
    main.merge("dev")
    repository.create_tag("v1", "main~1")


def test_what_was_changed_here_is_not_overwritten(source: LochanServer, tmp_path: Path) -> None:
    with lochan.connect(source.lake) as opened:
        main = opened.create_repository("ours").branch("main")
        main.put("a", b"1")
        main.commit("a")
    here = Here(tmp_path / "lake", source)
    here.migrate("--repo", "ours", "--to", "theirs")
    with lochan.connect(str(here.folder)) as opened:
        opened.repository("theirs").branch("main").put("a", b"2")
    refused = here.tried("import", "--from-lakefs", f"http://{source.api}", "--repo", "ours", "--to", "theirs")
    assert refused.returncode == 4 and "was changed here" in refused.stderr
    here.done("commit", "theirs@main", "-m", "own")
    refused = here.tried("import", "--from-lakefs", f"http://{source.api}", "--repo", "ours", "--to", "theirs")
    assert refused.returncode == 4 and "was changed here" in refused.stderr
    here.done("repo", "create", "ours")
    refused = here.tried("import", "--from-lakefs", f"http://{source.api}", "--repo", "ours")
    assert refused.returncode == 4 and "already" in refused.stderr


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (["--from-lakefs", "nonsense"], {}, "is no address of a server"),
        (["--from-lakefs", "http://127.0.0.1:99999"], {}, "is no address of a server"),
        (["--from-lakefs", "http://[1"], {}, "is no address of a server"),
        (["--from-lakefs", "http://127.0.0.1:9"], {}, "cannot be reached"),
        (["--from-lakefs", "URL", "--repo", "none"], {}, "answers 404"),
        (["--from-lakefs", "URL", "--to", "x"], {}, "--to is for one repository"),
        (["--from-lakefs", "URL", "s3://bucket/"], {}, "there is no other source"),
        (["--from-lakefs", "URL"], {"LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY": "wrong"}, "answers 401"),
        (["--from-lakefs", "URL"], {"LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY": "", "HOME": "/"}, "there is no key"),
        (["s3://bucket/"], {}, "--from-lakefs URL"),
    ],
)
def test_mistakes(words: list[str], env: dict[str, str], message: str, source: LochanServer, tmp_path: Path) -> None:
    here = Here(tmp_path / "lake", source)
    refused = here.tried("import", *(f"http://{source.api}" if word == "URL" else word for word in words), **env)
    assert refused.returncode not in (0, 1)
    assert message in refused.stderr and "Traceback" not in refused.stderr


def test_files_of_a_bucket_are_linked(source: LochanServer, minio_server: MinioServer, tmp_path: Path) -> None:
    bucket = minio_server.bucket("linked-by-lakefs")
    files = open_store(f"s3://{bucket}/files", minio_server.options)
    for number in range(3):
        run(files.put(f"{number}.csv", b"%d\n" % number))
    env = {
        "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
        "LOCHAN_BLOCKSTORE__S3__ENDPOINT": minio_server.endpoint,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": minio_server.access_key,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": minio_server.secret_key,
    }
    with lochan_server(f"s3://{bucket}/lake", env=env) as server:
        server.lochan("repo", "create", "linked")
        server.lochan("fs", "upload", "-", "linked@main/own.txt", stdin=b"own")
        server.lochan("commit", "linked@main", "-m", "own")
        server.lochan("import", f"s3://{bucket}/files/", "linked@main/files/")
        here = Here(tmp_path / "lake", server, **env)
        done = here.migrate("--repo", "linked", "--link-also", f"s3://{bucket}/files")
        assert (done["linked"], done["copied"]) == (3, 1)
        stat = json.loads(here.done("fs", "stat", "linked@main/files/1.csv", "-f", "json"))
        assert stat["blocks"][0]["address"] == f"s3://{bucket}/files/1.csv", stat
        assert here.done("fs", "cat", "linked@main/files/1.csv") == "1\n"
        refused = here.tried(
            "import", "--from-lakefs", f"http://{server.api}", "--repo", "linked", "--to", "again", "--bodies", "link"
        )
        assert refused.returncode not in (0, 1) and "--link-also" in refused.stderr
