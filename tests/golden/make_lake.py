"""Writes a lake that contains something of everything, to keep in the tree as today's code has written it.

    python -m tests.golden.make_lake NAME

makes `tests/golden/lakes/NAME/lake.tar.xz` and, beside it, `expected.json`: all that can be read from it. Later code
must read the same. A lake that is in the tree is never made again; a new format, or a new kind of thing, gets a new
one.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lochan as library
from tests.golden.play import alone, lochan
from tests.golden.read_lake import BOB_KEY, BOB_SECRET, read_by_s3, read_everything
from tests.servers.lochan import LochanServer, lochan_server

LAKES = Path(__file__).parent / "lakes"
DAY_S = 86_400
PART = bytes(5 << 20)  # the least that S3 takes for a part that is not the last

LOGS = [
    {"ts": "2026-01-01T00:00:00Z", "host": "a", "status": 200, "took": 0.25},
    {"ts": "2026-01-01T00:00:01.123456789Z", "host": "b", "status": "gone", "tags": ["x", "y"]},
    {"ts": "2026-01-01T02:00:02+02:00", "host": "c", "client": {"address": "10.0.0.1", "port": 80}},
    {"ts": "2026-01-01T00:00:03.5Z", "host": "a", "status": None, "seen": "2025-12-31T23:59:59-01:00"},
    {"ts": "not a time", "mixed": [1, "two", {"three": 3}]},
    {"host": "no key at all"},
]
NUMBERS = [
    '{"id": 1, "x": 0.1, "exact": 33.33333333333333333333}',
    '{"id": 2, "x": 5, "exact": 0.1}',
    '{"id": 18446744073709551616, "x": -2.5e-3, "exact": 12345678901234567890.123}',
    '{"id": -1e400, "x": "text"}',
    '{"id": null}',
    '{"x": true}',
]


def main(name: str) -> None:
    place = LAKES / name
    place.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        make(here)
        with tarfile.open(place / "lake.tar.xz", "w:xz") as archive:
            archive.add(here / "lake", "lake")
        with lake_server(here / "lake") as server:
            by_s3 = read_by_s3(server)
        expected = {**read_everything(here / "lake", here), "s3": by_s3}
    (place / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def lake_server(lake: Path) -> Iterator[LochanServer]:
    with lochan_server(lake, init=False) as server:
        yield server


def make(folder: Path) -> None:
    with alone(folder, {"LOCHAN_LAKE": str(folder / "lake")}):
        _do("init", str(folder / "lake"))
        _make_access()
        _make_history(folder)
        _make_pools(folder)
    with lake_server(folder / "lake") as server:
        _make_over_s3(server)
    with alone(folder, {"LOCHAN_LAKE": str(folder / "lake")}):
        _keep_up(folder)
        _leave_open(folder)
        _make_long_journal(folder)


def _make_access() -> None:
    _do("auth", "users", "create", "bob")
    _do("auth", "users", "create", "carol")
    _do("auth", "keys", "create", "bob", "--access-key-id", BOB_KEY, "--secret-access-key", BOB_SECRET)
    policy = {
        "statements": [
            {"effect": "allow", "actions": ["fs:*"], "resources": ["repository/*"]},
            {"effect": "deny", "actions": ["fs:Delete*"], "resources": ["repository/archive/*", "repository/archive"]},
        ]
    }
    _do("auth", "policies", "put", "shopkeepers", "-", stdin=json.dumps(policy).encode())
    _do("auth", "attach", "bob", "shopkeepers")
    _do("auth", "attach", "carol", "Analyst")


def _make_history(folder: Path) -> None:
    """A repository with branches, tags, merges of both kinds, and rules; another one that is read-only."""
    _do("repo", "create", "shop", "--metadata", "team=search", "--key", "create-shop")
    for name, text in {"raw/fruit.csv": "1,pear\n2,plum\n", "raw/sub/ä b.json": "{}\n", "empty": ""}.items():
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / name).write_text(text)
    _do("fs", "upload", "-r", str(folder / "files"), "shop@main/")
    _put("shop@main/README.md", "# Shop\n", "--metadata", "language=en", "--content-type", "text/markdown")
    _commit("shop", "first data", "--meta", "source=fruit", "--author", "dora", "--date", "2026-01-02T03:04:05Z")
    _do("tag", "create", "shop@v1")
    _do("branch", "create", "shop@dev")
    _put("shop@dev/raw/fruit.csv", "1,pear\n2,plum\n3,fig\n")
    _commit("shop@dev", "figs")
    _put("shop@main/notes.md", "main goes on\n")
    _commit("shop", "notes")
    _do("merge", "shop@dev", "shop@main", "-m", "bring in figs")
    _do("branch", "create", "shop@squashed", "--from", "v1")
    _put("shop@dev/more.txt", "more\n")
    _commit("shop@dev", "more")
    _do("merge", "shop@dev", "shop@squashed", "--squash")
    _do("cherry-pick", "shop@squashed", "main~1")
    _do("revert", "shop@squashed", "squashed")
    _do("branch", "create", "shop@topic", "--from", "v1")
    _put("shop@topic/topic.txt", "topic\n")
    _commit("shop@topic", "topic")
    _do("rebase", "shop@topic", "shop@main")
    _do("branch", "create", "shop@release-1")
    _do("branch", "create", "shop@gone")
    _do("branch", "delete", "shop@gone")
    _do("branch", "create", "shop@old-name")
    _do("branch", "rename", "shop@old-name", "new-name")
    _do("branch", "protect", "shop", "release-*")
    _do("branch", "protect", "shop", "new-name", "--block", "commit")
    _do("fs", "cp", "shop@v1/raw/fruit.csv", "shop@main/copies/fruit.csv")
    _do("fs", "mv", "shop@main/notes.md", "shop@main/moved.md")
    _do("fs", "rm", "shop@main/empty")
    _commit("shop", "moved, copied, removed")
    _do("repo", "create", "archive", "--default-branch", "trunk")
    _put("archive@trunk/kept.txt", "kept\n")
    _commit("archive", "kept")
    _do("repo", "read-only", "archive")
    _do("repo", "create", "forgotten")
    _do("repo", "delete", "forgotten", "--yes")


def _make_pools(folder: Path) -> None:
    _do("create", "logs", "--key", "ts:time", "--time", "seen", "--metadata", "team=web")
    for at in range(0, len(LOGS), 2):
        rows = "".join(json.dumps(row) + "\n" for row in LOGS[at : at + 2])
        _do("load", "logs", "-", "-m", f"part {at}", "--meta", f"part={at}", stdin=rows.encode())
    _do("tag", "create", "logs@loaded")
    _do("branch", "create", "logs@dev")
    _do("delete", "logs@dev", "--where", 'host == "b"')
    _do("load", "logs@dev", "-", stdin=b'{"ts": "2026-01-02T00:00:00Z", "host": "dev"}\n')
    _do("compact", "logs")
    _do("merge", "logs@dev", "logs@main", "-m", "rows are computed")
    _do("create", "numbers", "--key", "id:desc", "--nulls", "first", "--size", "1MiB")
    _do("load", "numbers", "-", stdin="\n".join(NUMBERS).encode())
    _do("create", "stock", "--key", "region", "--key", "id", "--primary-key", "id")
    stock = b'{"id": 1, "region": "eu", "n": 5}\n{"id": 2, "region": "us", "n": 7}\n{"id": 3, "region": "eu", "n": 0}\n'
    _do("load", "stock", "-", stdin=stock)
    _do("branch", "create", "stock@dev")
    _do("delete", "stock@dev", "--where", "id == 1")
    _do("load", "stock@dev", "-", stdin=b'{"id": 1, "region": "eu", "n": 6}\n')
    (folder / "rows.csv").write_text("id,region,n\n4,asia,2\n")
    _do("load", "stock", str(folder / "rows.csv"), "--on-error", "keep")


def _make_over_s3(server: LochanServer) -> None:
    """A multipart upload that is finished, one that is not, headers and checksums as clients send them."""
    client = server.boto3(key=BOB_KEY, secret=BOB_SECRET)
    big = {"Bucket": "shop", "Key": "main/big.bin"}
    upload = client.create_multipart_upload(**big, ContentType="application/zeros", Metadata={"made": "in parts"})
    parts = [
        {"PartNumber": number, "ETag": client.upload_part(**big, **_part(upload, number, body))["ETag"]}
        for number, body in ((1, PART), (2, b"the end"))
    ]
    client.complete_multipart_upload(**big, UploadId=upload["UploadId"], MultipartUpload={"Parts": parts})
    client.put_object(
        Bucket="shop",
        Key="main/headers.txt",
        Body=b"with headers\n",
        CacheControl="max-age=60",
        ContentDisposition="attachment",
        ContentLanguage="en",
        ContentType="text/plain",
        ChecksumAlgorithm="SHA256",
        Metadata={"colour": "green"},
    )
    client.close()
    server.lochan("commit", "shop", "-m", "over S3")
    client = server.boto3(key=BOB_KEY, secret=BOB_SECRET)
    unfinished = {"Bucket": "shop", "Key": "main/unfinished.bin"}
    upload = client.create_multipart_upload(**unfinished)
    client.upload_part(**unfinished, **_part(upload, 1, PART))
    client.close()


def _part(upload: dict[str, Any], number: int, body: bytes) -> dict[str, Any]:
    return {"UploadId": upload["UploadId"], "PartNumber": number, "Body": body}


def _keep_up(folder: Path) -> None:
    """What upkeep leaves behind: rules, bytes behind aliases, plans that were swept and one that was not, expired
    commits, and repositories that can be restored."""
    _do("repo", "create", "tidy")
    for name in ("a", "b", "c"):
        (folder / "equal" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "equal" / name).write_text("equal bytes\n")
    (folder / "equal" / "other").write_text("other bytes\n")
    _do("fs", "upload", "-r", str(folder / "equal"), "tidy@main/equal/")
    _commit("tidy", "equal files")
    _do("dedupe", "tidy")
    _do("gc", "repack", "tidy", "--below", "0.9")
    for text in ("one", "two", "three"):
        _put("tidy@main/often.txt", f"{text}\n")
        _commit("tidy", text)
    _do("gc", "rules", "set", "tidy", "--keep", "main=2", "--drop", "main:tmp/=unwritten 30d", "--hold", "release-*")
    for _ in range(3):
        _do("gc", "run", "tidy", "--grace", "0")
    _do("repo", "create", "dropped")
    _put("dropped@main/back.txt", "back again\n")
    _commit("dropped", "to be restored")
    _do("repo", "delete", "dropped", "--yes")
    _do("usage", "compact")


def _leave_open(folder: Path) -> None:
    """Leaves work unfinished: a stash, workspaces, staged changes."""
    _put("shop@dev/stashed.txt", "stashed\n")
    _do("stash", "push", "shop@dev", "-m", "not yet")
    opened = json.loads(_do("workspace", "create", "shop@main", "--note", "new prices", "-f", "json"))
    _put(f"shop@{opened['ref']}/prices.csv", "1,2.50\n")
    _do("workspace", "add", "shop", opened["id"], "prices.csv")
    _do("fs", "rm", f"shop@{opened['ref']}/moved.md")
    _put("shop@main/staged.txt", "staged\n")
    _do("fs", "rm", "shop@main/raw/fruit.csv")


def _make_long_journal(folder: Path) -> None:
    """Enough records for checkpoints and for segments whose slots are gone, and a run of staged changes."""
    for number in range(1_500):
        (folder / "many" / f"{number % 10}" / f"{number:05}").parent.mkdir(parents=True, exist_ok=True)
        (folder / "many" / f"{number % 10}" / f"{number:05}").write_text("the same\n")
    with library.connect(folder / "lake", user="erin") as lake:
        repository = lake.create_repository("busy")
        main = repository.branch("main")
        _do("fs", "upload", "-r", str(folder / "many"), "busy@main/many/")
        main.commit("many at once")
        for number in range(600):
            main.put(f"one/{number % 50:02}", f"{number}\n")
            if number == 300:
                main.commit("half of them")
    _do("manage", "--once")
    long_ago = time.time() - 3 * DAY_S
    for file in (folder / "lake").rglob("*"):
        os.utime(file, (long_ago, long_ago))
    _do("manage", "--once")


def _put(target: str, text: str, *options: str) -> None:
    _do("fs", "upload", "-", target, *options, stdin=text.encode())


def _commit(target: str, message: str, *options: str) -> None:
    _do("commit", target, "-m", message, *options)


def _do(*words: str, stdin: bytes = b"") -> str:
    stdout, stderr, code = lochan(words, stdin)
    assert code == 0, (words, stdout, stderr)
    return stdout


if __name__ == "__main__":
    main(sys.argv[1])
