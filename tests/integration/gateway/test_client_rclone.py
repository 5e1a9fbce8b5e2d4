"""rclone, unmodified: a remote of type s3 with an endpoint and keys from its environment."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration.gateway.trees import LARGE, ODD, files, objects, ran, same, sizes, staged, write
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer

Rclone = Callable[..., str]


@pytest.fixture
def rclone(server: LochanServer, tmp_path: Path) -> Rclone:
    return rclone_of(server, server.endpoint, tmp_path)


def rclone_of(server: LochanServer, endpoint: str, home: Path) -> Rclone:
    env = _remote(server, endpoint, home)
    binary = program("rclone", "rclone")
    return lambda *words, code=0: ran([binary, *map(str, words)], env, code=code)


def _remote(server: LochanServer, endpoint: str, home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "RCLONE_CONFIG_LAKE_TYPE": "s3",
        "RCLONE_CONFIG_LAKE_PROVIDER": "Other",
        "RCLONE_CONFIG_LAKE_ENDPOINT": endpoint,
        "RCLONE_CONFIG_LAKE_ACCESS_KEY_ID": server.access_key,
        "RCLONE_CONFIG_LAKE_SECRET_ACCESS_KEY": server.secret_key,
        "RCLONE_S3_UPLOAD_CUTOFF": "8M",
        "RCLONE_S3_COPY_CUTOFF": "8M",
        "RCLONE_RETRIES": "1",
        "RCLONE_LOW_LEVEL_RETRIES": "1",  # what a retry would hide is to be seen
    }


def test_a_whole_bucket_is_counted(rclone: Rclone, s3: Any, bucket: str) -> None:
    for key in ("main/a", "main/b/c"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    assert json.loads(rclone("size", "--json", f"lake:{bucket}"))["count"] == 2
    assert json.loads(rclone("size", "--json", "--fast-list", f"lake:{bucket}"))["count"] == 2
    assert rclone("lsf", "-R", "--files-only", "--fast-list", f"lake:{bucket}").split() == ["main/a", "main/b/c"]


def test_a_folder_is_synced_and_checked(
    rclone: Rclone, server: LochanServer, s3: Any, bucket: str, folder: Path
) -> None:
    here, back = folder / "here", folder / "back"
    tree = {**ODD, "large.bin": LARGE}
    write(here, tree)
    there = f"lake:{bucket}/main/data"
    rclone("sync", here, there)
    same(objects(s3, bucket, "main/data/"), tree)
    assert staged(server, bucket, "data/") == sizes(tree)
    rclone("check", here, there)
    rclone("check", "--download", here, there)
    rclone("sync", there, back)
    same(files(back), tree)
    # The time of a file is kept with its object: nothing is to be done again.
    output = rclone("sync", here, there, "--use-json-log", "--log-level", "INFO", "--log-file", folder / "log")
    assert output == ""
    assert "Copied" not in (folder / "log").read_text()

    (here / "a.txt").write_bytes(b"changed")
    (here / "sub" / "b.bin").unlink()
    rclone("check", here, there, code=1)
    rclone("sync", here, there)
    same(objects(s3, bucket, "main/data/"), files(here))


def test_objects_are_copied_moved_listed_and_deleted(
    rclone: Rclone, server: LochanServer, s3: Any, bucket: str, folder: Path
) -> None:
    tree = {**ODD, "large.bin": LARGE}
    write(folder / "here", tree)
    root = f"lake:{bucket}/main"
    rclone("copy", folder / "here", f"{root}/one")
    rclone("copy", f"{root}/one", f"{root}/two")  # by the server; the large one in parts
    same(objects(s3, bucket, "main/two/"), tree)
    rclone("move", f"{root}/two", f"{root}/three")
    assert staged(server, bucket, "two/") == {}
    same(objects(s3, bucket, "main/three/"), tree)
    listed = json.loads(rclone("lsjson", "-R", "--files-only", "--hash", f"{root}/one"))
    assert {each["Path"]: each["Size"] for each in listed} == sizes(tree)
    assert rclone("lsd", f"lake:{bucket}").split()[-1] == "main"
    assert rclone("cat", f"{root}/one/odd/per%20cent.txt") == "%20"
    rclone("moveto", f"{root}/one/a.txt", f"{root}/one/z.txt")
    rclone("copyto", folder / "here" / "large.bin", f"{root}/one/again.bin", "--s3-upload-concurrency", "4")
    assert s3.get_object(Bucket=bucket, Key="main/one/again.bin")["Body"].read() == LARGE
    assert "main/one/again.bin" in rclone("link", f"{root}/one/again.bin")
    rclone("deletefile", f"{root}/one/z.txt")
    rclone("delete", f"{root}/one", "--include", "*.txt")
    assert not [path for path in staged(server, bucket, "one/") if path.endswith(".txt")]
    rclone("purge", f"{root}/one")
    rclone("purge", f"{root}/three")
    assert staged(server, bucket) == {}


def test_copies_between_repositories(rclone: Rclone, server: LochanServer, s3: Any, bucket: str, folder: Path) -> None:
    tree = {**ODD, "large.bin": LARGE}
    write(folder / "here", tree)
    other = f"{bucket}-other"
    s3.create_bucket(Bucket=other)
    rclone("copy", folder / "here", f"lake:{bucket}/main/one")
    rclone("copy", f"lake:{bucket}/main/one", f"lake:{other}/main/two")  # by the server; the large one in parts
    same(objects(s3, other, "main/two/"), tree)
    server.lochan("commit", bucket, "-m", "one")
    server.lochan("tag", "create", f"{bucket}@v1")
    rclone("purge", f"lake:{bucket}/main/one")
    rclone("copy", f"lake:{bucket}/v1/one", f"lake:{bucket}/main/again")  # out of the past
    same(objects(s3, bucket, "main/"), {f"again/{path}": data for path, data in tree.items()})
    rclone("copy", folder / "here", f"lake:{bucket}/v1/new", code=1)  # which nobody changes
    assert "v1/new" not in rclone("lsf", "-R", f"lake:{bucket}/v1")


def test_a_stream_of_unknown_length(rclone: Rclone, server: LochanServer, s3: Any, bucket: str, folder: Path) -> None:
    (folder / "file").write_bytes(LARGE)
    script = f"cat {folder}/file | {program('rclone', 'rclone')} rcat lake:{bucket}/main/stream"
    ran(["/bin/sh", "-c", script], _remote(server, server.endpoint, folder))
    assert s3.get_object(Bucket=bucket, Key="main/stream")["Body"].read() == LARGE


def test_buckets_on_the_flat_listener(server: LochanServer, folder: Path) -> None:
    rclone = rclone_of(server, server.flat_endpoint, folder)
    write(folder / "here", ODD)
    rclone("mkdir", "lake:rclone-flat")
    rclone("sync", folder / "here", "lake:rclone-flat")
    with closing(server.boto3()) as s3:
        same(objects(s3, "rclone-flat", "main/"), ODD)
    rclone("check", folder / "here", "lake:rclone-flat")
    rclone("purge", "lake:rclone-flat")
    assert "rclone-flat" not in rclone("lsd", "lake:")
