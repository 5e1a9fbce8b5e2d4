"""A real MinIO for tests and benchmarks, alone on a free port with a temporary folder.

    with minio() as server:
        bucket = server.bucket("name")
        store = open_store(f"s3://{bucket}/lake", server.options)

The binary is kept in `.cache/bin`. When it is not there it is copied from this machine's Go folder, or built with Go.
"""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.port import free_port, wait_until_healthy

_BIN = Path(__file__).parents[2] / ".cache" / "bin"
_BUILD_SECONDS = 1200


@dataclass(frozen=True)
class MinioServer:
    endpoint: str
    access_key: str
    secret_key: str

    @property
    def options(self) -> dict[str, str]:
        """For `open_store`."""
        return {
            "endpoint": self.endpoint,
            "access_key_id": self.access_key,
            "secret_access_key": self.secret_key,
            "region": "us-east-1",
        }

    def bucket(self, name: str) -> str:
        """Makes the bucket if it is not there; returns its name."""
        client = self.boto3()
        with suppress(client.exceptions.BucketAlreadyOwnedByYou), closing(client):
            client.create_bucket(Bucket=name)
        return name

    def user(self, bucket: str, *, only: str = "", denied: str = "") -> dict[str, str]:
        """Options for `open_store` of somebody who may do everything in this bucket, or there below one prefix, except
        to read objects that a pattern denies. The keys are for a while, with a session token."""
        import boto3

        allowed = [{"Effect": "Allow", "Action": ["s3:*"], "Resource": [f"arn:aws:s3:::{bucket}/{only}*"]}]
        listed = {"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": [f"arn:aws:s3:::{bucket}"]}
        refused = {"Effect": "Deny", "Action": ["s3:GetObject"], "Resource": [f"arn:aws:s3:::{bucket}/{denied}"]}
        policy = {"Version": "2012-10-17", "Statement": [*allowed, listed, *([refused] if denied else [])]}
        keys = {"aws_access_key_id": self.access_key, "aws_secret_access_key": self.secret_key}
        with closing(boto3.client("sts", endpoint_url=self.endpoint, region_name="us-east-1", **keys)) as client:
            made = client.assume_role(
                RoleArn="arn:aws:iam::0:role/r", RoleSessionName="test", Policy=json.dumps(policy)
            )
        found = made["Credentials"]
        return {
            **self.options,
            "access_key_id": found["AccessKeyId"],
            "secret_access_key": found["SecretAccessKey"],
            "session_token": found["SessionToken"],
        }

    def boto3(self) -> Any:
        """A client of another make, to look at the server with other eyes. The caller closes it."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
        )


@contextmanager
def minio() -> Iterator[MinioServer]:
    program = binary()
    with tempfile.TemporaryDirectory(prefix="lochan-minio-") as folder:
        port = free_port()
        server = MinioServer(f"http://127.0.0.1:{port}", "lochan-test", "lochan-test-secret")
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [program, "server", "--quiet", "--address", f"127.0.0.1:{port}", f"{folder}/data"],
                env=os.environ
                | {
                    "MINIO_ROOT_USER": server.access_key,
                    "MINIO_ROOT_PASSWORD": server.secret_key,
                    "MINIO_BROWSER": "off",
                    "MINIO_UPDATE": "off",
                    "HOME": folder,
                },
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            wait_until_healthy(f"{server.endpoint}/minio/health/cluster", process, log)
            yield server
        finally:
            process.terminate()
            process.wait(20)


def binary() -> str:
    """The lock lets several test runs start at once: one builds, the others wait."""
    _BIN.mkdir(parents=True, exist_ok=True)
    target = _BIN / "minio"
    with (_BIN / "minio.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            found = _elsewhere()
            if found:
                partial = target.with_suffix(".part")
                shutil.copy2(found, partial)
                partial.rename(target)
            else:
                _build()
    return str(target)


def _elsewhere() -> str | None:
    places = [os.environ.get("GOBIN", ""), *(f"{path}/bin" for path in _go_path().split(os.pathsep) if path)]
    return shutil.which("minio") or shutil.which("minio", path=os.pathsep.join(filter(None, places)))


def _go_path() -> str:
    if shutil.which("go") is None:
        return ""
    return subprocess.run(["go", "env", "GOPATH"], capture_output=True, text=True, check=True).stdout.strip()


def _build() -> None:
    if shutil.which("go") is None:
        raise RuntimeError("MinIO is needed: put a minio binary on the PATH, or install Go, with which it is built")
    subprocess.run(
        ["go", "install", "github.com/minio/minio@latest"],
        env=os.environ | {"GOBIN": str(_BIN)},
        check=True,
        timeout=_BUILD_SECONDS,
    )
