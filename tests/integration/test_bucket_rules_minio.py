"""A real store takes the rendered lifecycle rules, and enforces the rendered policies."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from lochan.cli.exit_codes import REFUSED
from tests.integration.test_cli_versioning import answer, fine, newcomer, wrong
from tests.servers.minio import MinioServer

__all__ = ["newcomer"]  # a fixture

BUCKET = "bucket-rules"
PATHS = ("logs/raw/1", "logs/other", "public/logs/raw/3")


@pytest.fixture
def client(minio_server: MinioServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    monkeypatch.setenv("LOCHAN_LAKE", f"s3://{minio_server.bucket(BUCKET)}/lake")
    made = minio_server.boto3()
    yield made
    made.close()


def filled(tmp_path: Path) -> dict[str, str]:
    """The keys of objects by their paths."""
    (tmp_path / "lochan.yaml").write_text("blockstore:\n  address_style: path\n  tag_paths: true\n")
    fine("init")
    fine("repo", "create", "demo")
    for path in PATHS:
        fine("--config", "lochan.yaml", "fs", "upload", "-", f"demo/{path}", stdin=b"x")
    fine("commit", "demo", "-m", "first")
    keys = {}
    for path in PATHS:
        [block] = answer("fs", "stat", f"demo/{path}")["blocks"]
        keys[path] = f"lake/{block['address']}"
    return keys


def test_rules_and_policies_are_what_the_store_takes(client: Any, minio_server: MinioServer, tmp_path: Path) -> None:
    keys = filled(tmp_path)
    here = ("--config", "lochan.yaml")
    assert "tag_paths: true" in wrong(REFUSED, "lifecycle", "render", "demo", "--prefix", "logs/", "--expire-days", "9")

    rendered = answer(*here, "lifecycle", "render", "demo", "--prefix", "logs/raw/", "--expire-days", "9")
    client.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration=rendered["document"])
    [rule] = client.get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"]
    assert rule["Expiration"]["Days"] == 9
    prefix, tags = rule["Filter"]["And"]["Prefix"], rule["Filter"]["And"]["Tags"]
    found = client.list_objects_v2(Bucket=BUCKET, Prefix="lake/")["Contents"]
    assert {each["Key"] for each in found if each["Key"].startswith(prefix)} == set(keys.values())
    matched = []
    for path, key in keys.items():
        own = client.get_object_tagging(Bucket=BUCKET, Key=key)["TagSet"]
        matched += [path] if all(tag in own for tag in tags) else []
    assert matched == ["logs/raw/1"]
    assert next(each for each in rendered["affected"] if each["name"] == "main")["objects"] == 1
    assert re.search("<Days>9</Days>", rendered["xml"])

    for allow in ("read", "write"):
        document = answer(*here, "policy", "render", "demo", "--user", "ann", "--prefix", "logs/", "--allow", allow)
        assert_enforced(minio_server, document["document"], keys, writes=allow == "write")


def assert_enforced(server: MinioServer, policy: dict[str, Any], keys: dict[str, str], *, writes: bool) -> None:
    """The session of a role has the rights of the policy and no others."""
    sts = boto3.client(
        "sts",
        endpoint_url=server.endpoint,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name="us-east-1",
    )
    given = sts.assume_role(
        RoleArn="arn:aws:iam::123456789012:role/any", RoleSessionName="ann", Policy=json.dumps(policy)
    )["Credentials"]
    ann = boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
        region_name="us-east-1",
    )
    readable, writable = [], []
    for path, key in keys.items():
        readable += [path] if allowed(lambda key=key: ann.get_object(Bucket=BUCKET, Key=key)) else []
        writable += [path] if allowed(lambda key=key: ann.put_object(Bucket=BUCKET, Key=key, Body=b"x")) else []
    assert readable == ["logs/raw/1", "logs/other"]
    assert writable == (["logs/raw/1", "logs/other"] if writes else [])
    assert allowed(lambda: ann.get_object(Bucket=BUCKET, Key="lake/lake.json"))
    assert not allowed(lambda: ann.delete_object(Bucket=BUCKET, Key=keys["logs/other"]))
    ann.close()
    sts.close()


def allowed(call: Any) -> bool:
    try:
        call()
    except ClientError as error:
        assert error.response["Error"]["Code"] == "AccessDenied", error
        return False
    return True
