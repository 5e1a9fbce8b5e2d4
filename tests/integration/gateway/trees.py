"""A typical folder of files, and what a branch holds of it according to boto3 and the command line."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from hashlib import md5
from pathlib import Path
from typing import Any

from tests.servers.lochan import LochanServer

Tree = dict[str, bytes]

LARGE = bytes(range(256)) * (72 << 10)  # 18 MiB: every client takes it in parts
ODD: Tree = {
    "a.txt": b"one\n",
    "empty": b"",
    "sub/b.bin": bytes(range(256)) * 64,
    "sub/deep/er/c.csv": b"x,y\n1,2\n" * 500,
    "sub/deep.txt": b"next to a folder of nearly its name",
    "with space/d e.txt": b"d e",
    "odd/plus+and&ampersand=equals.txt": b"+&=",
    "odd/per%20cent.txt": b"%20",
    "odd/ünï-漢字.txt": "ünï-漢字".encode(),
    "odd/(brackets)!'~,;@$.txt": b"!",
}


def write(folder: Path, tree: Mapping[str, bytes]) -> None:
    for path, data in tree.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def files(folder: Path) -> Tree:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def objects(s3: Any, bucket: str, prefix: str) -> Tree:
    """Whole objects, by their keys after the prefix."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    keys = [each["Key"] for page in pages for each in page.get("Contents", [])]
    return {key[len(prefix) :]: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}


def staged(server: LochanServer, bucket: str, prefix: str = "") -> dict[str, int]:
    """Paths and sizes that the command line, as a separate process on the same lake, lists on `main`."""
    rows = json.loads(server.lochan("fs", "ls", "-r", "-f", "json", f"{bucket}@main/"))
    return {row["path"][len(prefix) :]: row["size"] for row in rows if row["path"].startswith(prefix)}


def sizes(tree: Mapping[str, bytes]) -> dict[str, int]:
    return {path: len(data) for path, data in tree.items()}


def same(found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> None:
    """A difference is shown by name and digest, not by megabytes."""
    assert _digests(found) == _digests(expected)


def _digests(tree: Mapping[str, bytes]) -> dict[str, tuple[int, str]]:
    return {path: (len(data), md5(data).hexdigest()) for path, data in sorted(tree.items())}


def ran(command: Sequence[str | Path], env: Mapping[str, str], *, code: int = 0) -> str:
    """Runs a program to its end and returns its output."""
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout
