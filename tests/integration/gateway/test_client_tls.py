"""The same clients over TLS, where most of them sign their bodies in another way: in chunks with a checksum behind
them, or not at all. Each gets the certificate, and writes and reads the same small tree."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import obstore
import pytest
from botocore.config import Config
from obstore.store import S3Store
from pyarrow.fs import S3FileSystem

from tests.integration.gateway.trees import LARGE, ODD, files, objects, ran, same, sizes, staged, write
from tests.servers.certificate import Identity, identity
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer, lochan_server

TREE = {**ODD, "large.bin": LARGE}


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, trusted: Identity) -> Iterator[LochanServer]:
    options = ["--tls-cert", str(trusted.certificate), "--tls-key", str(trusted.key)]
    with lochan_server(tmp_path_factory.mktemp("served") / "lake", options=options) as running:
        yield running
        log, traceback = running.log.read_text(), running.traceback()
    assert not traceback, traceback
    assert "InternalError" not in log, log


@pytest.fixture
def s3(server: LochanServer, trusted: Identity) -> Iterator[Any]:
    client = boto3.client(
        "s3",
        endpoint_url=f"https://{server.s3}",
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name="us-east-1",
        verify=str(trusted.authority),
        config=Config(retries={"max_attempts": 1}),
    )
    with closing(client):
        yield client


@pytest.fixture
def here(folder: Path) -> Path:
    write(folder / "here", TREE)
    return folder / "here"


def test_boto3(s3: Any, server: LochanServer, bucket: str, here: Path) -> None:
    for path, data in ODD.items():
        s3.put_object(Bucket=bucket, Key=f"main/{path}", Body=data)
    s3.upload_file(str(here / "large.bin"), bucket, "main/large.bin")
    same(objects(s3, bucket, "main/"), TREE)
    assert staged(server, bucket) == sizes(TREE)
    for algorithm in ("CRC32C", "CRC64NVME", "SHA256"):
        with (here / "a.txt").open("rb") as file:  # its checksum comes behind it
            put = s3.put_object(Bucket=bucket, Key="main/sum", Body=file, ChecksumAlgorithm=algorithm)
        head = s3.head_object(Bucket=bucket, Key="main/sum", ChecksumMode="ENABLED")
        assert head[f"Checksum{algorithm}"] == put[f"Checksum{algorithm}"]


def test_aws_cli(s3: Any, server: LochanServer, trusted: Identity, bucket: str, here: Path) -> None:
    env = {
        "HOME": str(here.parent),
        "LC_ALL": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "AWS_ENDPOINT_URL": f"https://{server.s3}",
        "AWS_CA_BUNDLE": str(trusted.authority),
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret_key,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    aws = program("awscli", "aws")
    ran([aws, "s3", "sync", str(here), f"s3://{bucket}/main"], env)
    same(objects(s3, bucket, "main/"), TREE)
    ran([aws, "s3", "sync", f"s3://{bucket}/main", str(here.parent / "back")], env)
    same(files(here.parent / "back"), TREE)
    ran([aws, "s3", "rm", "--recursive", f"s3://{bucket}/main"], env)
    assert staged(server, bucket) == {}


def test_s3cmd(s3: Any, server: LochanServer, trusted: Identity, bucket: str, here: Path) -> None:
    config = here.parent / "s3cfg"
    config.write_text(
        f"""[default]
access_key = {server.access_key}
secret_key = {server.secret_key}
host_base = {server.s3}
host_bucket = {server.s3}
use_https = True
ca_certs_file = {trusted.authority}
"""
    )
    env = {"HOME": str(here.parent), "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    s3cmd: list[str | Path] = [program("s3cmd", "s3cmd"), "-c", str(config), "--no-progress"]
    ran([*s3cmd, "sync", f"{here}/", f"s3://{bucket}/main/"], env)
    same(objects(s3, bucket, "main/"), TREE)
    (here.parent / "back").mkdir()
    ran([*s3cmd, "sync", f"s3://{bucket}/main/", f"{here.parent}/back/"], env)
    same(files(here.parent / "back"), TREE)


def test_rclone(s3: Any, server: LochanServer, trusted: Identity, bucket: str, here: Path) -> None:
    env = {
        "HOME": str(here.parent),
        "RCLONE_CONFIG_LAKE_TYPE": "s3",
        "RCLONE_CONFIG_LAKE_PROVIDER": "Other",
        "RCLONE_CONFIG_LAKE_ENDPOINT": f"https://{server.s3}",
        "RCLONE_CONFIG_LAKE_ACCESS_KEY_ID": server.access_key,
        "RCLONE_CONFIG_LAKE_SECRET_ACCESS_KEY": server.secret_key,
        "RCLONE_CA_CERT": str(trusted.authority),
        "RCLONE_S3_UPLOAD_CUTOFF": "8M",
        "RCLONE_RETRIES": "1",
        "RCLONE_LOW_LEVEL_RETRIES": "1",
    }
    rclone = program("rclone", "rclone")
    ran([rclone, "sync", str(here), f"lake:{bucket}/main"], env)
    same(objects(s3, bucket, "main/"), TREE)
    ran([rclone, "check", "--download", str(here), f"lake:{bucket}/main"], env)


def test_pyarrow(s3: Any, server: LochanServer, trusted: Identity, bucket: str) -> None:
    fs = S3FileSystem(
        endpoint_override=server.s3,
        region="us-east-1",
        access_key=server.access_key,
        secret_key=server.secret_key,
        tls_ca_file_path=str(trusted.authority),
    )
    for path, data in TREE.items():
        with fs.open_output_stream(f"{bucket}/main/{path}") as stream:
            stream.write(data)
    same(objects(s3, bucket, "main/"), TREE)


def test_obstore(s3: Any, server: LochanServer, bucket: str) -> None:
    store = S3Store(
        bucket,
        prefix="main",
        endpoint=f"https://{server.s3}",
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
        region="us-east-1",
        checksum_algorithm="sha256",
        client_options={"allow_invalid_certificates": True},
    )
    for path, data in TREE.items():
        obstore.put(store, path, data)
    same(objects(s3, bucket, "main/"), TREE)
    assert bytes(obstore.get(store, "large.bin").bytes()) == LARGE


def test_minio_client(s3: Any, server: LochanServer, trusted: Identity, bucket: str) -> None:
    script = f"""
import io
from minio import Minio
client = Minio({server.s3!r}, access_key={server.access_key!r}, secret_key={server.secret_key!r})
client.put_object({bucket!r}, "main/a", io.BytesIO(b"one"), 3)
data = bytes(range(256)) * (48 << 10)
client.put_object({bucket!r}, "main/b", io.BytesIO(data), -1, part_size=5 << 20)
assert client.get_object({bucket!r}, "main/b").read() == data
"""
    ran([program("minio"), "-W", "ignore", "-c", script], {"SSL_CERT_FILE": str(trusted.authority)})
    same(objects(s3, bucket, "main/"), {"a": b"one", "b": bytes(range(256)) * (48 << 10)})


def test_polars(s3: Any, server: LochanServer, trusted: Identity, bucket: str) -> None:
    """In a separate process, because it reads the system's certificates once."""
    script = f"""
import polars as pl
options = {{
    "aws_endpoint_url": "https://{server.s3}",
    "aws_access_key_id": {server.access_key!r},
    "aws_secret_access_key": {server.secret_key!r},
    "aws_region": "us-east-1",
}}
frame = pl.DataFrame({{"id": range(100_000)}})
frame.write_parquet("s3://{bucket}/main/t.parquet", storage_options=options)
assert pl.scan_parquet("s3://{bucket}/main/t.parquet", storage_options=options).collect().equals(frame)
"""
    env = {"SSL_CERT_FILE": str(trusted.authority), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(staged(server, bucket)) == ["t.parquet"]
