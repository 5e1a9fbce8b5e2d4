"""s3cmd, unmodified. It needs the host for both the service and the bucket (path style), and no TLS."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.gateway.trees import LARGE, ODD, files, objects, ran, same, sizes, staged, write
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer

S3cmd = Callable[..., str]


@pytest.fixture(params=["v4", "v2"])
def s3cmd(server: LochanServer, tmp_path: Path, request: pytest.FixtureRequest) -> S3cmd:
    return s3cmd_of(server, server.s3, tmp_path, v2=request.param == "v2")


def s3cmd_of(server: LochanServer, host: str, home: Path, *, v2: bool = False) -> S3cmd:
    config = home / "s3cfg"
    config.write_text(
        f"""[default]
access_key = {server.access_key}
secret_key = {server.secret_key}
host_base = {host}
host_bucket = {host}
use_https = False
signature_v2 = {v2}
"""
    )
    env = {"HOME": str(home), "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    command: list[str | Path] = [program("s3cmd", "s3cmd"), "-c", config, "--no-progress"]
    return lambda *words, code=0: ran([*command, *map(str, words)], env, code=code)


def test_a_folder_goes_up_and_comes_back(
    s3cmd: S3cmd, server: LochanServer, s3: Any, bucket: str, folder: Path
) -> None:
    here, back = folder / "here", folder / "back"
    tree = {**ODD, "large.bin": LARGE}
    write(here, tree)
    back.mkdir()
    there = f"s3://{bucket}/main/data/"
    s3cmd("sync", f"{here}/", there)
    same(objects(s3, bucket, "main/data/"), tree)
    assert staged(server, bucket, "data/") == sizes(tree)
    assert s3cmd("sync", f"{here}/", there) == ""  # nothing has changed
    s3cmd("sync", there, f"{back}/")
    same(files(back), tree)
    (here / "a.txt").unlink()
    assert "delete:" in s3cmd("sync", "--delete-removed", f"{here}/", there)
    same(objects(s3, bucket, "main/data/"), files(here))


def test_one_object_after_another(s3cmd: S3cmd, server: LochanServer, s3: Any, bucket: str, folder: Path) -> None:
    root = f"s3://{bucket}/main"
    write(folder, {"here.bin": LARGE})
    s3cmd("put", folder / "here.bin", f"{root}/a b.bin", "--mime-type=x/y", "--add-header=x-amz-meta-owner:ada")
    head = s3.head_object(Bucket=bucket, Key="main/a b.bin")
    assert (head["ContentType"], head["Metadata"]["owner"]) == ("x/y", "ada")
    s3cmd("cp", f"{root}/a b.bin", f"{root}/copy/c.bin")
    s3cmd("mv", f"{root}/a b.bin", f"{root}/copy/ü.bin")
    assert [line.split()[-1] for line in s3cmd("ls", f"{root}/").splitlines()] == [f"{root}/copy/"]
    listed = s3cmd("ls", "--recursive", f"{root}/").splitlines()
    assert [line.split()[-2:] for line in listed] == [
        [str(len(LARGE)), f"{root}/copy/c.bin"],
        [str(len(LARGE)), f"{root}/copy/ü.bin"],
    ]
    s3cmd("get", f"{root}/copy/ü.bin", folder / "back.bin")
    assert (folder / "back.bin").read_bytes() == LARGE
    info = s3cmd("info", f"{root}/copy/c.bin")
    assert f"File size: {len(LARGE)}" in info
    s3cmd("modify", "--add-header=x-amz-meta-owner:bob", f"{root}/copy/c.bin")
    assert s3.head_object(Bucket=bucket, Key="main/copy/c.bin")["Metadata"]["owner"] == "bob"
    assert s3cmd("du", f"{root}/").split()[:3] == [str(2 * len(LARGE)), "2", "objects"]
    s3cmd("rm", f"{root}/copy/c.bin")
    s3cmd("rm", "--recursive", "--force", f"{root}/")
    assert staged(server, bucket) == {}
    assert s3cmd("ls", f"{root}/") == ""


def test_buckets_on_the_flat_listener(server: LochanServer, folder: Path) -> None:
    s3cmd = s3cmd_of(server, server.flat, folder)
    write(folder / "here", ODD)
    s3cmd("mb", "s3://s3cmd-flat")
    s3cmd("sync", f"{folder}/here/", "s3://s3cmd-flat/")
    assert staged(server, "s3cmd-flat") == sizes(ODD)
    assert "s3://s3cmd-flat" in s3cmd("ls")
    s3cmd("rb", "--recursive", "--force", "s3://s3cmd-flat")
    assert "s3cmd-flat" not in s3cmd("ls")
