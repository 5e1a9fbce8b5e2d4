"""Programs written for lakeFS, with its published packages, work against a served lake as they are."""

import subprocess
from pathlib import Path

from lochan.store.open import open_store
from tests.run import run
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import MinioServer


def play(script: str, server: LochanServer, last: str) -> None:
    arguments = [f"http://{server.api}", server.access_key, server.secret_key, last]
    command: list[str | Path] = [program("lakefs"), Path(__file__).with_name(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout == "done\n"


def test_python_packages(server: LochanServer, tmp_path: Path) -> None:
    play("run_lakefs.py", server, str(tmp_path))


def test_an_import_of_a_bucket(minio_server: MinioServer) -> None:
    bucket = minio_server.bucket("taken-in-by-rest")
    source = open_store(f"s3://{bucket}/files", minio_server.options)
    for number in range(3):
        run(source.put(f"{number}.csv", b"%d\n" % number))
    env = {
        "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
        "LOCHAN_BLOCKSTORE__S3__ENDPOINT": minio_server.endpoint,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": minio_server.access_key,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": minio_server.secret_key,
    }
    with lochan_server(f"s3://{bucket}/lake", env=env) as running:
        play("run_lakefs_import.py", running, f"s3://{bucket}/files/")
        assert not running.traceback()
