"""Repositories in buckets of their owners: each with its own user, whose keys open that bucket and no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.minio import MinioServer

LOCHAN = Path(sys.executable).parent / "lochan"


class Place:
    """A lake in a bucket of one user, and profiles of the owners of other buckets."""

    def __init__(self, server: MinioServer, folder: Path, name: str) -> None:
        self.server = server
        self.bucket = server.bucket(f"{name}-lake")
        self.owned = server.bucket(f"{name}-owned")
        self.folder = folder
        self.credentials = folder / "credentials"
        self.write(owner=server.user(self.owned), stranger=server.user(self.bucket))
        own = server.user(self.bucket)
        self.env = {
            **{
                name: value
                for name, value in os.environ.items()
                if name == "LOCHAN_COMPANION" or not name.startswith(("LOCHAN_", "AWS_"))
            },
            "LOCHAN_LAKE": f"s3://{self.bucket}/lake",
            "AWS_ENDPOINT_URL": server.endpoint,
            "AWS_ACCESS_KEY_ID": own["access_key_id"],
            "AWS_SECRET_ACCESS_KEY": own["secret_access_key"],
            "AWS_SESSION_TOKEN": own["session_token"],
            "AWS_SHARED_CREDENTIALS_FILE": str(self.credentials),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }

    def write(self, **profiles: dict[str, str]) -> None:
        names = {"access_key_id": "", "secret_access_key": "", "session_token": ""}
        self.credentials.write_text(
            "\n".join(
                f"[{profile}]\n" + "".join(f"aws_{name} = {keys[name]}\n" for name in names)
                for profile, keys in profiles.items()
            )
        )

    def run(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([LOCHAN, *words], input=stdin, capture_output=True, env=self.env, timeout=120)

    def fine(self, *words: str, stdin: bytes = b"") -> str:
        done = self.run(*words, stdin=stdin)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.decode()

    def refused(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode != 0 and b"Traceback" not in done.stderr, done.stderr
        return done.stderr.decode()

    def keys(self, bucket: str) -> list[str]:
        client = self.server.boto3()
        try:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
            return [each["Key"] for page in pages for each in page.get("Contents", ())]
        finally:
            client.close()


@pytest.fixture
def place(minio_server: MinioServer, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    found = Place(minio_server, tmp_path, f"own-{abs(hash(request.node.name)) % 100_000}")
    found.fine("init")
    return found


def test_a_repository_in_the_bucket_of_its_owner(place: Place) -> None:
    url = f"s3://{place.owned}/team/shop"
    made = json.loads(place.fine("repo", "create", "shop", "--storage", url, "--credentials", "owner", "-f", "json"))
    assert (made["storage"], made["credentials"]) == (url, "owner")
    (place.folder / "a.txt").write_bytes(b"one" * 100_000)
    place.fine("fs", "upload", str(place.folder / "a.txt"), "shop/raw/a.txt")
    place.fine("commit", "shop", "-m", "first")
    assert place.fine("fs", "cat", "shop/raw/a.txt") == "one" * 100_000
    rows = f"s3://{place.owned}/rows"
    place.fine("repo", "create", "rows", "--kind", "pool", "--storage", rows, "--credentials", "owner")
    place.fine("load", "rows", "-", stdin=b'{"k":1}\n{"k":2}\n')
    assert json.loads(place.fine("query", "-f", "ndjson", "from rows | count()")) == {"count": 2}

    assert not [key for key in place.keys(place.bucket) if made["id"] in key]
    assert [key for key in place.keys(place.owned) if key.startswith(f"team/shop/{made['id']}/data/")]
    assert "team/shop/storage.json" in place.keys(place.owned)
    events = place.fine("events", "_lake", "-f", "json")
    secret = place.credentials.read_text().split("aws_secret_access_key = ")[1].split("\n")[0]
    assert '"credentials": "owner"' in events and secret not in events

    place.fine("fsck", "--data")
    place.fine("rebuild", "--check")
    place.fine("gc", "plan", "shop")
    place.fine("backup", str(place.folder / "backup"))
    place.fine("repo", "delete", "shop", "--yes")
    place.fine("repo", "restore", "shop")
    assert place.fine("fs", "cat", "shop/raw/a.txt") == "one" * 100_000


def test_garbage_is_collected_in_the_bucket_of_its_owner(place: Place) -> None:
    url = f"s3://{place.owned}/team/shop"
    place.fine("repo", "create", "shop", "--storage", url, "--credentials", "owner")
    for letter in ("a", "b"):
        (place.folder / "a.txt").write_bytes(letter.encode() * 300_000)
        place.fine("fs", "upload", str(place.folder / "a.txt"), "shop/a.txt")
    place.fine("commit", "shop", "-m", "first")
    assert len(data_keys(place)) == 2
    place.fine("gc", "plan", "shop", "--grace", "0")
    place.fine("gc", "sweep", "shop", "--grace", "0")
    planned = json.loads(place.fine("gc", "plan", "shop", "--grace", "0", "-f", "json"))
    assert planned["files"] >= 1
    place.fine("gc", "sweep", "shop", "--grace", "0", "--confirm")
    assert len(data_keys(place)) == 1
    assert [key for key in place.keys(place.owned) if "/plans/" in key]
    assert place.fine("fs", "cat", "shop/a.txt") == "b" * 300_000
    place.fine("fsck", "--data")
    place.fine("backup", str(place.folder / "backup"))
    place.fine("restore", str(place.folder / "backup"), str(place.folder / "again"))
    assert place.fine("--lake", str(place.folder / "again"), "fs", "cat", "shop/a.txt") == "b" * 300_000


def data_keys(place: Place) -> list[str]:
    return [key for key in place.keys(place.owned) if "/data/" in key]


def test_keys_that_are_replaced_or_taken_away(place: Place) -> None:
    words = "--storage", f"s3://{place.owned}/shop", "--credentials", "owner"
    place.fine("repo", "create", "shop", *words)
    place.write(owner=place.server.user(place.owned))
    place.fine("fs", "ls", "shop/")
    place.write(owner=place.server.user(place.bucket))
    assert place.owned in place.refused("fs", "ls", "shop/")
    place.write(somebody=place.server.user(place.owned))
    assert "'owner'" in place.refused("fs", "ls", "shop/")
    assert "shop" in place.fine("ls"), "the rest of the lake goes on"


def test_storages_that_are_refused(place: Place) -> None:
    before = place.keys(place.bucket)
    create = "repo", "create", "shop", "--storage"
    assert "cannot be used" in place.refused(*create, f"s3://{place.owned}/x", "--credentials", "stranger")
    assert "cannot be used" in place.refused(*create, f"s3://{place.owned}/x")
    assert "'nobody'" in place.refused(*create, f"s3://{place.owned}/x", "--credentials", "nobody")
    assert "overlap" in place.refused(*create, f"s3://{place.bucket}/lake/inside")
    assert "overlap" in place.refused(*create, f"s3://{place.bucket}")
    assert "cannot be used" in place.refused(*create, "s3://there-is-no-such-bucket/x")
    assert place.keys(place.owned) == [] and place.keys(place.bucket) == before
    place.fine("repo", "create", "first", "--storage", f"s3://{place.owned}/x", "--credentials", "owner")
    assert "overlap" in place.refused(*create, f"s3://{place.owned}/x/y", "--credentials", "owner")
    other = {**place.env, "LOCHAN_LAKE": f"s3://{place.bucket}/other"}
    subprocess.run([LOCHAN, "init"], env=other, check=True, capture_output=True, timeout=60)
    taken = subprocess.run(
        [LOCHAN, *create, f"s3://{place.owned}/x", "--credentials", "owner"], env=other, capture_output=True, timeout=60
    )
    assert b"belongs to repository" in taken.stderr
