"""The command line on the stores that need a server: a bucket, and journals in PostgreSQL."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lochan.cli.exit_codes import BY_KIND
from tests.servers.minio import MinioServer
from tests.servers.postgres import PostgresServer

LOCHAN = Path(sys.executable).parent / "lochan"


def lochan(*words: str, config: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if k == "LOCHAN_COMPANION" or not k.startswith(("LOCHAN_", "AWS_"))
    }
    return subprocess.run(
        [LOCHAN, "--config", str(config), *words], capture_output=True, text=True, timeout=120, env=environment
    )


def configuration(folder: Path, server: MinioServer, bucket: str, **changed: str) -> Path:
    """A configuration file as in the documentation."""
    values = {"endpoint": server.endpoint, "key": server.access_key, "secret": server.secret_key, **changed}
    file = folder / "lochan.yaml"
    file.write_text(f"""
lake: s3://{bucket}/a/lake
blockstore:
  type: s3
  s3:
    region: us-east-1
    endpoint: {values["endpoint"]}
    credentials:
      access_key_id: {values["key"]}
      access_secret_key: {values["secret"]}
""")
    return file


def play(config: Path) -> None:
    """A small life: a lake is created once, used, and read by a later process."""
    assert "made a lake" in _fine(lochan("init", config=config))
    again = lochan("init", config=config)
    assert again.returncode == BY_KIND["already-exists"]
    assert "nothing was changed" in again.stderr
    _fine(lochan("repo", "create", "demo-repo", config=config))
    taken = lochan("repo", "create", "demo-repo", config=config)
    assert taken.returncode == BY_KIND["already-exists"]
    assert [r["name"] for r in json.loads(_fine(lochan("ls", "-f", "json", config=config)))] == ["demo-repo"]
    types = [
        json.loads(line)["type"] for line in _fine(lochan("events", "_lake", "-f", "json", config=config)).splitlines()
    ]
    assert types == ["repository-created"]
    doctor = json.loads(_fine(lochan("doctor", "-f", "json", config=config)))
    assert any("one winner each" in json.dumps(check) for check in doctor)


def _fine(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_lake_in_a_bucket(minio_server: MinioServer, tmp_path: Path) -> None:
    play(configuration(tmp_path, minio_server, minio_server.bucket("cli")))


def test_a_lake_with_its_journals_in_postgresql(postgres_server: PostgresServer, tmp_path: Path) -> None:
    config = tmp_path / "lochan.yaml"
    config.write_text(f"""
lake: {tmp_path / "lake"}
journal: postgres
""")
    missing = lochan("init", config=config)
    assert missing.returncode == BY_KIND["invalid"]
    assert "journal.postgres.url" in missing.stderr
    config.write_text(f"""
lake: {tmp_path / "lake"}
journal:
  type: postgres
  postgres:
    url: {postgres_server.url}
""")
    play(config)
    config.write_text(f"lake: {tmp_path / 'lake'}\n")
    without = lochan("ls", config=config)
    assert without.returncode == BY_KIND["invalid"]
    assert "journal.postgres.url" in without.stderr


@pytest.mark.parametrize(
    ("changed", "kind", "says"),
    [
        ({"secret": "wrong-secret"}, "refused", "s3://"),
        ({"endpoint": "http://127.0.0.1:9"}, "transient", "is the store up?"),
    ],
    ids=["wrong secret", "nobody there"],
)
def test_a_store_that_does_not_let_us(
    changed: dict[str, str], kind: str, says: str, minio_server: MinioServer, tmp_path: Path
) -> None:
    config = configuration(tmp_path, minio_server, minio_server.bucket("denied"), **changed)
    for verb in (("init",), ("ls",), ("repo", "create", "demo-repo")):
        done = lochan(*verb, config=config)
        assert done.returncode == BY_KIND[kind], done.stderr
        assert says in done.stderr
        assert "Traceback" not in done.stderr


def test_a_bucket_that_is_not_there(minio_server: MinioServer, tmp_path: Path) -> None:
    config = configuration(tmp_path, minio_server, "no-such-bucket")
    done = lochan("init", config=config)
    assert done.returncode != 0
    assert "no-such-bucket" in done.stderr
    assert "Traceback" not in done.stderr
