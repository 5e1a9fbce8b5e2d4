"""Programs written for lakeFS, with its published packages, work against a served lake as they are."""

import json
import re
import subprocess
from pathlib import Path

from lochan.store.open import open_store
from tests.run import run
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import MinioServer


def play(script: str, server: LochanServer, last: str, client: str = "lakefs") -> list[str]:
    """Gives the lines that it printed before its last one."""
    arguments = [f"http://{server.api}", server.access_key, server.secret_key, last]
    command: list[str | Path] = [program(client), Path(__file__).with_name(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    *lines, end = done.stdout.splitlines()
    assert end == "done"
    return lines


def test_python_packages(server: LochanServer, tmp_path: Path) -> None:
    play("run_lakefs.py", server, str(tmp_path))


def test_uploads_in_presigned_parts(server: LochanServer) -> None:
    play("run_lakefs_parts.py", server, "in-parts")


# What the published client can call, and a lake does not have: logins by other services, files
# of trees, preflights, and routes that were replaced by others.
NOT_SUPPORTED = {
    "ExternalApi": "*",
    "MetadataApi": "*",
    "AuthApi": r".*external_",
    "ExperimentalApi": r"(?!hard_reset_branch$|update_object_user_metadata$|upload_part|.*presign_multipart_upload$"
    r"|.*_pull_requests?$)",
    "InternalApi": r"internal_|prepare_|.*_preflight|create_(commit_record|symlink_file)$"
    r"|get_(garbage_collection_config|metadata_object)$|setup_comm_prefs$",
}


def test_runs_of_hooks(server: LochanServer) -> None:
    play("run_lakefs_actions.py", server, "")


def test_every_method_of_the_client_has_a_clear_answer(server: LochanServer) -> None:
    answers = json.loads(play("run_lakefs_sdk.py", server, "")[0])
    assert len(answers) > 140
    for name, (status, message) in answers.items():
        api, _, method = name.partition(".")
        pattern = NOT_SUPPORTED.get(api, "")
        if pattern == "*" or (pattern and re.match(pattern, method)):
            assert status == 501 or (status, "anonymous" in message) == (401, True), (name, status, message)
            assert message, name
        else:
            assert status < 500 and status != 405, (name, status, message)
            assert message != "there is no such resource", name


def test_users_groups_and_policies(tmp_path: Path) -> None:
    with lochan_server(tmp_path / "lake") as running:
        play("run_lakefs_auth.py", running, str(tmp_path))
        assert not running.traceback()


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


def test_pull_requests(server: LochanServer) -> None:
    play("run_lakefs_pulls.py", server, "")
