"""The AWS CLI, unmodified. It needs an endpoint, a region and keys, all in its environment."""

import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration.gateway.trees import LARGE, ODD, files, objects, ran, same, sizes, staged, write
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer

Aws = Callable[..., str]


@pytest.fixture
def aws(server: LochanServer, tmp_path: Path) -> Aws:
    return aws_of(server, server.endpoint, tmp_path)


def aws_of(server: LochanServer, endpoint: str, home: Path) -> Aws:
    env = {
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret_key,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    binary = program("awscli", "aws")
    return lambda *words, code=0: ran([binary, *map(str, words)], env, code=code)


def _said(output: str) -> list[str]:
    """The report of what was done, without the progress lines."""
    return sorted(line.split()[0] for line in output.splitlines() if "Completed" not in line)


def test_a_folder_is_synced_up_and_down(aws: Aws, server: LochanServer, s3: Any, bucket: str, folder: Path) -> None:
    here, back = folder / "here", folder / "back"
    tree = {**ODD, "large.bin": LARGE}
    write(here, tree)
    there = f"s3://{bucket}/main/data"
    aws("s3", "sync", here, there)
    same(objects(s3, bucket, "main/data/"), tree)
    assert staged(server, bucket, "data/") == sizes(tree)
    assert aws("s3", "sync", here, there) == ""  # nothing has changed
    aws("s3", "sync", there, back)
    same(files(back), tree)

    (here / "a.txt").write_bytes(b"another one")
    (here / "sub" / "b.bin").unlink()
    assert _said(aws("s3", "sync", here, there, "--delete")) == ["delete:", "upload:"]
    same(objects(s3, bucket, "main/data/"), files(here))


def test_a_mirror_of_a_whole_bucket_keeps_what_is_there(aws: Aws, s3: Any, bucket: str, folder: Path) -> None:
    """`--delete` removes locally what the bucket's list does not show."""
    write(folder / "copy", {"main/a.txt": b"a", "main/sub/b.bin": b"b", "gone.txt": b"was deleted there"})
    for key in ("main/a.txt", "main/sub/b.bin"):
        s3.put_object(Bucket=bucket, Key=key, Body=key[-5:-4].encode())
    aws("s3", "sync", f"s3://{bucket}", folder / "copy", "--delete")
    assert sorted(files(folder / "copy")) == ["main/a.txt", "main/sub/b.bin"]


def test_objects_are_copied_moved_listed_and_removed(
    aws: Aws, server: LochanServer, s3: Any, bucket: str, folder: Path
) -> None:
    write(folder / "here", {**ODD, "large.bin": LARGE})
    root = f"s3://{bucket}/main"
    aws("s3", "cp", "--recursive", folder / "here", f"{root}/one")
    aws("s3", "cp", "--recursive", f"{root}/one", f"{root}/two")  # a large one by copied parts
    same(objects(s3, bucket, "main/two/"), {**ODD, "large.bin": LARGE})
    aws("s3", "mv", "--recursive", f"{root}/two", f"{root}/three")
    assert objects(s3, bucket, "main/two/") == {}
    aws("s3", "mv", f"{root}/three/a.txt", folder / "moved.txt")
    assert (folder / "moved.txt").read_bytes() == ODD["a.txt"]
    expected = {path: data for path, data in {**ODD, "large.bin": LARGE}.items() if path != "a.txt"}
    same(objects(s3, bucket, "main/three/"), expected)
    assert staged(server, bucket, "three/") == sizes(expected)

    assert [line.split()[-2:] for line in aws("s3", "ls", f"s3://{bucket}").splitlines()] == [["PRE", "main/"]]
    shown = [line.split(maxsplit=1)[-1] for line in aws("s3", "ls", f"{root}/one/").splitlines()]
    assert [line.split()[-1] for line in shown] == ["odd/", "sub/", "space/", "a.txt", "empty", "large.bin"]
    total = aws("s3", "ls", "--recursive", "--summarize", f"{root}/one/")
    assert f"Total Objects: {len(ODD) + 1}" in total
    assert f"Total Size: {sum(sizes(ODD).values()) + len(LARGE)}" in total
    assert bucket in aws("s3", "ls")

    aws("s3", "rm", "--recursive", f"{root}/one", "--exclude", "*", "--include", "odd/*")
    same(objects(s3, bucket, "main/one/odd/"), {})
    aws("s3", "rm", "--recursive", root)
    assert staged(server, bucket) == {}
    aws("s3", "ls", f"{root}/one/", code=1)


def test_metadata_presigned_urls_conditions_and_spans(
    aws: Aws, server: LochanServer, s3: Any, bucket: str, folder: Path
) -> None:
    (folder / "large").write_bytes(LARGE)
    there = f"s3://{bucket}/main/dir/a b.bin"
    aws("s3", "cp", folder / "large", there, "--content-type", "x/y", "--metadata", "owner=ada")
    head = s3.head_object(Bucket=bucket, Key="main/dir/a b.bin")
    assert (head["ContentType"], head["Metadata"]) == ("x/y", {"owner": "ada"})
    url = aws("s3", "presign", there, "--expires-in", "60").strip()
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == LARGE
    aws(
        "s3api", "put-object", "--bucket", bucket, "--key", "main/c", "--body", folder / "large", "--if-none-match", "*"
    )
    aws(
        *("s3api", "put-object", "--bucket", bucket, "--key", "main/c", "--body", folder / "large"),
        *("--if-none-match", "*"),
        code=255,
    )
    aws("s3api", "get-object", "--bucket", bucket, "--key", "main/c", "--range", "bytes=256-511", folder / "span")
    assert (folder / "span").read_bytes() == bytes(range(256))


def test_buckets_are_made_and_removed_on_the_flat_listener(server: LochanServer, folder: Path) -> None:
    aws = aws_of(server, server.flat_endpoint, folder)
    write(folder / "here", ODD)
    aws("s3", "mb", "s3://aws-flat")
    aws("s3", "sync", folder / "here", "s3://aws-flat")
    with closing(server.boto3()) as s3:
        same(objects(s3, "aws-flat", "main/"), ODD)
    aws("s3", "sync", "s3://aws-flat", folder / "back")
    same(files(folder / "back"), ODD)
    aws("s3", "rb", "--force", "s3://aws-flat")
    assert "aws-flat" not in aws("s3", "ls")
