"""Users, keys and policies from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lochan.cli.exit_codes import CONFLICT, INVALID, NOT_FOUND, REFUSED
from tests.integration.test_cli_versioning import LOCHAN, answer, fine, lochan, newcomer, wrong
from tests.servers.minio import MinioServer

__all__ = ["newcomer"]  # a fixture

A_CSV = "repository/demo/branch/main/object/a.csv"
POLICY = """
statements:
  - effect: allow
    actions: ["fs:Read*", "fs:List*"]
    resources: repository/demo/*
  - effect: deny
    actions: "*"
    resources: repository/demo/object/secret/*
"""


@pytest.fixture
def lake() -> None:
    fine("init")


def put(name: str, text: str, folder: Path) -> None:
    (folder / "policy.yaml").write_text(text)
    fine("auth", "policies", "put", name, str(folder / "policy.yaml"))


@pytest.mark.usefixtures("lake")
def test_a_story_of_one_user(tmp_path: Path) -> None:
    story(tmp_path)


def test_a_story_in_a_bucket(minio_server: MinioServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCHAN_LAKE", f"s3://{minio_server.bucket('access')}/lake")
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    fine("init")
    story(tmp_path)


def story(tmp_path: Path) -> None:
    made = answer("auth", "users", "create", "bob")
    assert (made["name"], made["policies"], made["keys"]) == ("bob", [], [])
    assert answer("auth", "users", "list") == [made]
    denied = lochan("auth", "can", "bob", "fs:ReadObject", A_CSV, "-f", "json")
    assert denied.exit_code == REFUSED
    assert json.loads(denied.stdout)["allowed"] is False

    put("Demo", POLICY, tmp_path)
    assert answer("auth", "attach", "bob", "Demo") == {"user": "bob", "policies": ["Demo"]}
    decision = answer("auth", "can", "bob", "fs:ReadObject", A_CSV)
    assert (decision["allowed"], decision["policy"], decision["number"]) == (True, "Demo", 1)
    assert decision["statement"]["resources"] == ["repository/demo/*"]
    shut = lochan("auth", "can", "bob", "fs:ReadObject", "repository/demo/tag/v1/object/secret/x")
    assert (shut.exit_code, shut.stdout.split(":")[0]) == (REFUSED, "denied")
    assert "statement 2 of policy Demo" in shut.stdout

    key = answer("auth", "keys", "create", "bob")
    assert (key["user"], len(key["access_key_id"]), len(key["secret_access_key"])) == ("bob", 20, 40)
    fine("auth", "keys", "create", "bob", "--access-key-id", "mine", "--secret-access-key", "0123456789abcdef")
    listed = answer("auth", "keys", "list", "bob")
    assert [each["access_key_id"] for each in listed] == [key["access_key_id"], "mine"]
    assert "secret" not in str(listed)
    assert answer("auth", "keys", "revoke", "mine", "--yes") == {"access_key_id": "mine"}
    assert answer("auth", "users", "show", "bob")["keys"] == [key["access_key_id"]]

    assert "attached to user/bob" in wrong(REFUSED, "auth", "policies", "delete", "Demo")
    assert answer("auth", "detach", "bob", "Demo") == {"user": "bob", "policies": []}
    assert answer("auth", "policies", "delete", "Demo") == {"name": "Demo"}
    assert answer("auth", "users", "delete", "bob", "--yes") == {"name": "bob"}
    assert answer("auth", "users", "list") == []
    events = [json.loads(line) for line in fine("events", "-f", "json").splitlines()]
    assert [each["type"] for each in events][:4] == ["user-created", "policy-put", "policy-attached", "key-created"]
    assert key["secret_access_key"] not in str(events)


@pytest.mark.usefixtures("lake")
def test_mistakes(tmp_path: Path) -> None:
    fine("auth", "users", "create", "ada")
    fine("auth", "attach", "ada", "Admin")
    wrong(CONFLICT, "auth", "users", "create", "ada")
    wrong(INVALID, "auth", "users", "create", "a/b")
    wrong(NOT_FOUND, "auth", "users", "show", "eve")
    wrong(NOT_FOUND, "auth", "users", "delete", "eve", "--yes")
    assert "another user first" in wrong(REFUSED, "auth", "users", "delete", "ada", "--yes")
    assert "the last" in wrong(REFUSED, "auth", "detach", "ada", "Admin")
    assert "--yes" in wrong(REFUSED, "auth", "users", "delete", "ada")
    wrong(NOT_FOUND, "auth", "keys", "create", "eve")
    wrong(NOT_FOUND, "auth", "keys", "list", "eve")
    wrong(NOT_FOUND, "auth", "keys", "revoke", "LKIA", "--yes")
    wrong(NOT_FOUND, "auth", "keys", "revoke", "LKIA")
    wrong(INVALID, "auth", "keys", "create", "ada", "--access-key-id", "")
    assert "short" not in wrong(INVALID, "auth", "keys", "create", "ada", "--secret-access-key", "short")
    fine("auth", "keys", "create", "ada", "--access-key-id", "mine")
    wrong(CONFLICT, "auth", "keys", "create", "ada", "--access-key-id", "mine")
    assert "--yes" in wrong(REFUSED, "auth", "keys", "revoke", "mine")
    wrong(CONFLICT, "auth", "attach", "ada", "Admin")
    wrong(NOT_FOUND, "auth", "attach", "ada", "Nothing")
    wrong(NOT_FOUND, "auth", "detach", "ada", "Analyst")
    wrong(NOT_FOUND, "auth", "policies", "show", "Nothing")
    wrong(NOT_FOUND, "auth", "policies", "delete", "Nothing")
    wrong(REFUSED, "auth", "policies", "delete", "Admin")
    wrong(NOT_FOUND, "auth", "policies", "put", "P", str(tmp_path / "nothing"))
    (tmp_path / "p").write_text(POLICY.replace("fs:List*", "fs:Lizt*"))
    assert "'fs:Lizt*'" in wrong(INVALID, "auth", "policies", "put", "P", str(tmp_path / "p"))
    (tmp_path / "p").write_text(POLICY)
    wrong(REFUSED, "auth", "policies", "put", "Admin", str(tmp_path / "p"))
    wrong(INVALID, "auth", "policies", "put", "a b", str(tmp_path / "p"))
    assert "did you mean 'fs:ReadObject'" in wrong(INVALID, "auth", "can", "ada", "fs:ReadObjekt", A_CSV)
    wrong(INVALID, "auth", "can", "ada", "fs:ReadObject", "demo/a.csv")
    wrong(NOT_FOUND, "auth", "can", "eve", "fs:ReadObject", A_CSV)


@pytest.mark.usefixtures("lake")
def test_policies_are_listed_and_shown_as_they_can_be_put(tmp_path: Path) -> None:
    put("Demo", POLICY, tmp_path)
    assert [each["name"] for each in answer("auth", "policies", "list")] == ["Admin", "Analyst", "Developer", "Demo"]
    shown = answer("auth", "policies", "show", "Demo")
    again = json.dumps({"statements": shown["statements"]})
    fine("auth", "policies", "put", "Copy", "-", stdin=again.encode())
    assert answer("auth", "policies", "show", "Copy")["statements"] == shown["statements"]
    assert "repository/demo/object/secret/*" in fine("auth", "policies", "show", "Demo")
    assert "fs:ReadObject" in fine("auth", "actions")
    assert "POLICIES" in fine("auth", "users", "list")


@pytest.mark.usefixtures("lake")
def test_a_secret_can_come_from_standard_input() -> None:
    fine("auth", "users", "create", "bob")
    words = ("auth", "keys", "create", "bob", "--secret-access-key", "-", "-f", "json")
    assert json.loads(fine(*words, stdin=b"0123456789abcdef\n"))["secret_access_key"] == "0123456789abcdef"
    assert lochan(*words, stdin=b"").exit_code == INVALID


@pytest.mark.usefixtures("lake")
def test_the_secrets_key_can_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fine("auth", "users", "create", "bob")
    file = ("-s", f"auth.encrypt.key_file={tmp_path / 'key'}")
    assert "no such key file" in wrong(NOT_FOUND, "auth", "keys", "create", "bob", *file)
    (tmp_path / "key").write_text("short\n")
    wrong(INVALID, "auth", "keys", "create", "bob", *file)
    (tmp_path / "key").write_text("long enough to be a key\n")
    fine("auth", "keys", "create", "bob", *file)
    assert not (tmp_path / ".lochan" / "_lake" / "keys" / "secrets").exists()
    wrong(INVALID, "auth", "users", "list", *file, "-s", "auth.encrypt.secret_key=0123456789abcdef")
    fine("auth", "keys", "create", "bob", "-s", "auth.encrypt.secret_key=0123456789abcdef")
    fine("auth", "keys", "create", "bob")
    assert (tmp_path / ".lochan" / "_lake" / "keys" / "secrets").exists()


@pytest.mark.usefixtures("lake")
def test_without_the_package_the_error_names_it(tmp_path: Path) -> None:
    fine("auth", "users", "create", "bob")
    script = "import sys; sys.modules['cryptography'] = None\nfrom lochan.cli.main import main; main()"
    words = [sys.executable, "-c", script, "auth", "keys", "create", "bob"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == INVALID
    assert "lochan[server]" in ran.stderr


@pytest.mark.usefixtures("lake")
def test_a_list_imports_no_cryptography() -> None:
    script = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "from lochan.cli.main import main; main()"
    )
    fine("auth", "users", "create", "bob")
    for words in (["ls"], ["auth", "users", "list"], ["auth", "can", "bob", "fs:ReadRepository", "repository/demo"]):
        ran = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
        loaded = set(ran.stderr.splitlines()[-1].split())
        assert not loaded & {"cryptography", "asyncio", "yaml", "pyarrow", "obstore"}, words
        if words == ["ls"]:
            assert "lochan.access.rights" not in loaded


@pytest.mark.usefixtures("lake")
def test_it_runs_as_a_process() -> None:
    ran = subprocess.run([LOCHAN, "auth", "users", "create", "bob"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "created user bob\n")


@pytest.mark.usefixtures("lake")
def test_a_revocation_that_is_killed_at_any_step_is_done_or_not_and_never_misreported() -> None:
    fine("auth", "users", "create", "bob")
    fine("auth", "keys", "create", "bob", "--access-key-id", "key0")
    steps = list(dict.fromkeys(revoke("key0", "").stderr.split()))
    assert {"append.composed", "append.decided"} <= set(steps)
    outcomes = set()
    for number, step in enumerate(steps, 1):
        fine("auth", "keys", "create", "bob", "--access-key-id", f"key{number}")
        killed = revoke(f"key{number}", step)
        assert killed.returncode == -9, step
        gone = f"key{number}" not in answer("auth", "users", "show", "bob")["keys"]
        outcomes.add(gone)
        assert gone or "revoked" not in killed.stdout, step
        again = lochan("auth", "keys", "revoke", f"key{number}", "--yes")
        assert again.exit_code == (NOT_FOUND if gone else 0), step
        assert answer("auth", "users", "show", "bob")["keys"] == []
    assert outcomes == {True, False}


def revoke(id: str, step: str) -> "subprocess.CompletedProcess[str]":
    """Runs in a process that is killed at `step`, and reports the steps it passed."""
    script = (
        "import os, sys\n"
        "from lochan.failpoints import arm\n"
        "def at(name):\n"
        "    print(name, file=sys.stderr, flush=True)\n"
        f"    if name == {step!r}: os.kill(os.getpid(), 9)\n"
        "arm(at)\n"
        "from lochan.cli.main import main; main()\n"
    )
    words = [sys.executable, "-c", script, "auth", "keys", "revoke", id, "--yes"]
    return subprocess.run(words, capture_output=True, text=True, check=False)
