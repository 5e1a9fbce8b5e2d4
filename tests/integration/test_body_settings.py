"""Addresses and tags with the logical path, from the configuration to what a bucket's policy or rule sees."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from lochan.cli.exit_codes import GONE, INVALID
from tests.integration.test_cli_versioning import answer, fine, newcomer, sample, wrong
from tests.servers.minio import MinioServer

__all__ = ["newcomer"]  # a fixture

BUCKET = "body-settings"
PAGE = Path(__file__).parents[2] / "docs" / "operations" / "objects.md"


@pytest.fixture
def client(minio_server: MinioServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", minio_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", minio_server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", minio_server.secret_key)
    monkeypatch.setenv("LOCHAN_LAKE", f"s3://{minio_server.bucket(BUCKET)}/lake")
    made = minio_server.boto3()
    yield made
    made.close()


def documented(kind: str) -> Any:
    """The example of the page that has this word in it."""
    [found] = [text for text in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL) if kind in text]
    return json.loads(found)


def test_policies_and_rules_match_logical_paths(client: Any, tmp_path: Path) -> None:
    (tmp_path / "lochan.yaml").write_text("blockstore:\n  address_style: path\n  tag_paths: true\n")
    here = ("--config", "lochan.yaml")
    fine("init")
    fine("repo", "create", "demo")
    for path in ("private/a", "public/private", "events/raw/1", "events/other/raw"):
        fine(*here, "fs", "upload", "-", f"demo/{path}", stdin=b"x")

    pattern = documented("Statement")["Statement"][0]["Resource"].rpartition(":::")[2].partition("/")[2]
    tags = documented("Rules")["Rules"][0]["Filter"]["And"]["Tags"]
    matched: dict[str, list[str]] = {"policy": [], "rule": []}
    for each in answer("fs", "ls", "-r", "demo"):
        path = each["path"]
        [block] = answer("fs", "stat", f"demo/{path}")["blocks"]
        key = f"lake/{block['address']}"
        assert key.endswith(f"/{path}")
        found = client.get_object_tagging(Bucket=BUCKET, Key=key)["TagSet"]
        assert {tag["Key"]: tag["Value"] for tag in found} == {
            f"path.{number}": name for number, name in enumerate(path.split("/"))
        }
        if fnmatchcase(key, pattern):
            matched["policy"].append(path)
        if all(tag in found for tag in tags):
            matched["rule"].append(path)
    assert matched == {"policy": ["private/a"], "rule": ["events/raw/1"]}

    address = answer("fs", "stat", "demo/events/raw/1")["blocks"][0]["address"]
    client.delete_object(Bucket=BUCKET, Key=f"lake/{address}")  # as the rule would
    fine("repo", "create", "other")
    for words in (
        ("fs", "cat", "demo/events/raw/1"),
        ("fs", "download", "demo/events/raw/1", "out"),
        ("fs", "cp", "demo/events/raw/1", "demo/copy"),
        ("fs", "cp", "demo/events/raw/1", "other/copy"),
        ("fs", "cp", "-r", "demo/events", "demo/copies"),
    ):
        assert "gone" in wrong(GONE, *words)


def test_a_folder_has_logical_paths_too(tmp_path: Path) -> None:
    folder = sample(tmp_path / "in")
    fine("init")
    fine("repo", "create", "demo")
    fine("-s", "blockstore.address_style=path", "fs", "upload", "-r", "in", "demo/up")
    files = [str(file) for file in (tmp_path / ".lochan").glob("*/data/**/*") if file.is_file()]
    names = [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()]
    assert all(any(file.endswith(f"/up/{name}") for file in files) for name in names)
    given = answer("-s", "blockstore.address_style=path", "fs", "address", "demo/100%/x")
    assert given["address"].endswith("/100%25/x")
    assert given["url"].endswith("/100%2525/x")


@pytest.mark.parametrize("setting", ["address_style=logical", "tag_paths=maybe"])
def test_a_wrong_setting_is_named(setting: str) -> None:
    assert f"blockstore.{setting.partition('=')[0]}" in wrong(INVALID, "-s", f"blockstore.{setting}", "ls")
