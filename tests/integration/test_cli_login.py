"""`lochan login` and `logout`, and commands on the lake of a server."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from tests.servers.lochan import LOCHAN, LochanServer, lochan_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("login") / "lake") as running:
        yield running
        assert not running.traceback()


class User:
    def __init__(self, home: Path) -> None:
        self.profiles = home / ".config" / "lochan" / "profiles.json"
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("LOCHAN_", "XDG_"))}
        self.env = {**ours, "HOME": str(home), "LOCHAN_COMPANION": "0"}
        self.home = home

    def lochan(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [LOCHAN, *words],
            input=stdin,
            capture_output=True,
            text=True,
            env={**self.env, **env},
            cwd=self.home,
            check=False,
        )


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def login(user: User, server: LochanServer, *words: str, secret: str = "") -> subprocess.CompletedProcess[str]:
    key = "--access-key-id", server.access_key, "--secret-stdin"
    return user.lochan("login", f"http://{server.api}", *key, *words, stdin=f"{secret or server.secret_key}\n")


def test_a_login_is_all_that_a_command_needs(user: User, server: LochanServer) -> None:
    done = login(user, server, "--profile", "work", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"profile": "work", "url": f"http://{server.api}", "user": "admin"}
    assert stat.S_IMODE(user.profiles.stat().st_mode) == 0o600

    assert user.lochan("repo", "create", "shop", "--profile", "work").returncode == 0
    (user.home / "a.txt").write_text("one\n")
    assert user.lochan("fs", "upload", "a.txt", "shop/a.txt", LOCHAN_PROFILE="work").returncode == 0
    committed = user.lochan("commit", "shop", "-m", "first", "--lake", f"http://{server.api}", "--author", "bob")
    assert committed.returncode == 0, committed.stderr
    assert user.lochan("fs", "cat", "shop/a.txt", "--profile", "work").stdout == "one\n"
    log = user.lochan("log", "shop", "--profile", "work", "-f", "json").stdout
    assert '"author":"bob"' in log.replace(" ", "") and '"committer":"admin"' in log.replace(" ", "")
    with lochan.connect(f"http://{server.api}", access_key=server.access_key, secret_key=server.secret_key) as lake:
        assert [each.path for each in lake.repository("shop").ref("main").list()] == ["a.txt"]

    assert user.lochan("logout", "work").stdout == f"forgot the key for http://{server.api}\n"
    gone = user.lochan("ls", "--profile", "work")
    assert gone.returncode == 3 and "there is no profile 'work'" in gone.stderr


def test_a_repeated_request_is_done_once(user: User, server: LochanServer) -> None:
    login(user, server)
    for _ in range(2):
        again = "--request-key", "1790000000000000-0123456789abcdef"
        done = user.lochan("repo", "create", "once", *again, "--lake", f"http://{server.api}")
        assert done.returncode == 0, done.stderr


def test_mistakes(user: User, server: LochanServer) -> None:
    wrong = login(user, server, secret="wrong")
    assert wrong.returncode == 5 and "Traceback" not in wrong.stderr, wrong.stderr
    assert not user.profiles.exists()
    assert "no address of a server" in user.lochan("login", "s3://bucket/x", "--access-key-id", "a").stderr
    nobody = user.lochan("login", "http://127.0.0.1:9", "--access-key-id", "a", "--secret-stdin", stdin="b\n")
    assert nobody.returncode not in (0, 1) and "127.0.0.1:9" in nobody.stderr
    assert "no secret was given" in user.lochan("login", f"http://{server.api}", "--access-key-id", "a").stderr

    assert login(user, server).returncode == 0
    there = user.lochan("doctor", "--lake", f"http://{server.api}")
    assert there.returncode not in (0, 1) and "Traceback" not in there.stderr, there.stderr
    elsewhere = user.lochan("ls", "--profile", "default", "--lake", "http://127.0.0.1:9")
    assert elsewhere.returncode == 5 and "its secret is not sent elsewhere" in elsewhere.stderr
    user.profiles.chmod(0o644)
    assert "others may read it" in user.lochan("ls", "--lake", f"http://{server.api}").stderr
    user.profiles.chmod(0o600)
    user.profiles.write_text("{")
    assert "is damaged" in user.lochan("ls", "--lake", f"http://{server.api}").stderr
