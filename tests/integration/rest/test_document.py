"""Requests made from the OpenAPI document, sensible and senseless ones: none has an answer that the document does not
know, and none makes the server fail."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.api.client import Client
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer, lochan_server

# The names of what there is; others would only ever be refused. Half of the fuzzed requests break them anyway.
NAMES = """
[parameters]
"path.repository" = "demo"
"path.branch" = "main"
"path.ref" = "main"
"path.leftRef" = "main"
"path.rightRef" = "dev"
"path.sourceRef" = "dev"
"path.destinationBranch" = "main"
"path.commitId" = "main"
"path.pool" = "logs"
"""
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# They take away what the others work on, or answer for as long as somebody listens.
LEFT_OUT = (
    "deleteRepository",
    "Repository.delete",
    "Repository.rename",
    "Access.delete_user",
    "Access.revoke_key",
    "Access.delete_policy",
    "Access.put_policy",
    "Access.detach",
    "Access.rotate_key",
    "Access.set_disabled",
    "Access.end_session",
    "Access.end_sessions",
    "logout",
    "deleteUser",
    "deleteCredentials",
    "deletePolicy",
    "updatePolicy",
    "detachPolicyFromUser",
    "Lake.events",
    "streamEvents",
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("fuzzed") / "lake") as running:
        running.lochan("repo", "create", "demo")
        running.lochan("branch", "create", "demo@dev")
        running.lochan("fs", "upload", "-", "demo@main/a.txt", stdin=b"x")
        running.lochan("create", "logs")
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


# Who may do what decides how far a request comes.
USERS = ("administrator", *(pytest.param(who, marks=pytest.mark.full) for who in ("Developer", "Analyst", "nobody")))


def _key(server: LochanServer, who: str) -> str:
    """`who` is a policy."""
    if who == "administrator":
        return f"{server.access_key}:{server.secret_key}"
    server.lochan("auth", "users", "create", who)
    if who != "nobody":
        server.lochan("auth", "attach", who, who)
    made = json.loads(server.lochan("auth", "keys", "create", who, "-f", "json"))
    return f"{made['access_key_id']}:{made['secret_access_key']}"


@pytest.mark.parametrize("who", USERS)
def test_every_operation_answers_as_the_document_says(fuzzed: LochanServer, who: str, tmp_path: Path) -> None:
    (tmp_path / "names.toml").write_text(NAMES)
    options = {
        "--auth": _key(fuzzed, who),
        "--checks": CHECKS,
        "--phases": "coverage,fuzzing",
        "--max-examples": "2",
        "--seed": "1",
        "--workers": "1",  # CPython 3.11 cannot parse source in two threads, and the generators of requests do
        "--request-timeout": "60",
        "--max-redirects": "0",
        "--warnings": "off",
        "--suppress-health-check": "all",
    }
    command: list[str | Path] = [
        program("schemathesis", "st"),
        "--config-file",
        tmp_path / "names.toml",
        "run",
        "--no-color",
    ]
    words = [word for pair in options.items() for word in pair]
    left_out = [word for each in LEFT_OUT for word in ("--exclude-operation-id", each)]
    done = subprocess.run(
        [*command, *words, *left_out, f"http://{fuzzed.api}/openapi.json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-6_000:]
    client = Client(fuzzed.api, fuzzed.access_key, fuzzed.secret_key)
    for path in ("repositories/demo/branches/main", "repositories/demo/branches/dev"):
        assert client.ask("GET", f"/api/v1/{path}").status == 200, "what the requests were about is gone"


@pytest.mark.parametrize("number", ["0", "-1", "nan", "inf", "1e300"])
def test_numbers_that_cannot_be_meant(fuzzed: LochanServer, number: str) -> None:
    client = Client(fuzzed.api, fuzzed.access_key, fuzzed.secret_key)
    assert client.ask("GET", f"/api/v1/repos/demo/gc?every_hours={number}").status == 400
    assert client.ask("GET", f"/api/v1/usage?days={number}").status in (200, 400)
