"""Spark over Hadoop's S3A, unmodified, on a served lake: committers, renames, folders, overwriting.

It needs an endpoint, path style, keys and, as for any S3, the committers' classes (`s3a.settings`)."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from tests.integration.gateway.trees import LARGE, ODD, files, objects, same, staged, write
from tests.servers.certificate import Identity, identity
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import minio
from tests.spark import s3a

SCRIPT = Path(__file__).with_name("run_s3a.py")
REPOSITORY = "spark-lake"
QUICK = ("file", "directory", "magic", "files", "dynamic")
LONG = ("file-v2", "partitioned", "texts", "streamed")


class Played(NamedTuple):
    server: LochanServer
    local: Path
    results: dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("served") / "lake", workers=2) as running:  # what one wrote, all see
        running.lochan("repo", "create", REPOSITORY)
        yield running
        log = running.log.read_text()
    assert "Traceback" not in log, log
    assert "InternalError" not in log, log


@pytest.fixture(scope="module")
def quick(server: LochanServer, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return _played(server, tmp_path_factory.mktemp("local"), QUICK)


@pytest.fixture(scope="module")
def long(server: LochanServer, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return _played(server, tmp_path_factory.mktemp("local"), LONG)


@pytest.fixture
def trusted(tmp_path: Path) -> Identity:
    return identity(tmp_path)


@pytest.fixture
def secure(trusted: Identity, tmp_path: Path) -> Iterator[LochanServer]:
    options = ["--tls-cert", str(trusted.certificate), "--tls-key", str(trusted.key)]
    with lochan_server(tmp_path / "lake", options=options) as running:
        running.lochan("repo", "create", REPOSITORY)
        yield running
        log = running.log.read_text()
    assert "Traceback" not in log, log
    assert "InternalError" not in log, log


def _played(
    server: LochanServer, local: Path, names: tuple[str, ...], more: Mapping[str, str] = MappingProxyType({})
) -> Played:
    write(local / "here", {**ODD, "large.bin": LARGE})
    root = f"s3a://{REPOSITORY}/main"
    command = [sys.executable, str(SCRIPT), json.dumps(s3a.settings(server) | dict(more)), root, str(local), *names]
    ran = subprocess.run(
        command, env=s3a.environment(), cwd=local, capture_output=True, text=True, check=False, timeout=280
    )
    assert ran.returncode == 0, ran.stderr
    return Played(server, local, json.loads(ran.stdout.splitlines()[-1]))


def test_each_committer(quick: Played) -> None:
    for name in ("file", "directory", "magic"):
        _check_committer(quick, name)


@pytest.mark.full
def test_the_other_committers(long: Played) -> None:
    for name in ("file-v2", "partitioned"):
        _check_committer(long, name)


def _check_committer(played: Played, name: str) -> None:
    results = played.results[name]
    assert "failed" not in results, results["failed"]
    assert results == {
        "written": _totals(3_000),
        "again": "AnalysisException",
        "appended": _totals(3_300),
        "pruned": 3,
        "overwritten": _totals(30),
    }
    with closing(played.server.boto3()) as s3:
        tree = objects(s3, REPOSITORY, f"main/{name}/t/")
        assert "Uploads" not in s3.list_multipart_uploads(Bucket=REPOSITORY)  # every one was completed or given up
    parquet = {path: data for path, data in tree.items() if path.endswith(".parquet")}
    ids = [id for data in parquet.values() for id in pq.read_table(io.BytesIO(data), columns=["id"])["id"].to_pylist()]
    assert sorted(ids) == list(range(30))
    assert {path.partition("/")[0] for path in parquet} == {"part=0", "part=1", "part=2"}
    # Nothing pending is left, nor a folder but as S3A marks it; the note of S3A's own committers says how it went.
    assert {path for path in set(tree) - set(parquet) if path and not path.endswith("/")} == {"_SUCCESS"}
    assert bool(tree["_SUCCESS"]) == (not name.startswith("file"))
    assert set(staged(played.server, REPOSITORY, f"{name}/t/")) == set(tree)


def _totals(end: int, step: int = 3) -> list[list[int]]:
    return [[part, len(range(part, end, step)), sum(range(part, end, step))] for part in range(step)]


def test_only_the_partitions_written_are_replaced(quick: Played) -> None:
    whole, few = _totals(300), _totals(30)
    assert quick.results["dynamic"] == [whole[0], few[1], whole[2]]


def test_the_file_system(quick: Played) -> None:
    results = quick.results["files"]
    assert "failed" not in results, results["failed"]
    tree = {**ODD, "large.bin": LARGE}
    names = sorted({path.partition("/")[0] + "/" * ("/" in path) for path in tree})
    assert results == {
        "absent": False,
        "made": True,
        "empty": [True, []],
        "up": names,
        "renamed": True,
        "gone": False,
        "file renamed": True,
        "size": sum(map(len, tree.values())),
        "deleted": True,
        "left": sorted({*names, "z.txt"} - {"a.txt", "sub/"}),
        "only file": [True, True],
        "branches": ["main/"],
        "not empty": True,
    }
    same(files(quick.local / "back"), tree)
    tree["z.txt"] = tree.pop("a.txt")
    with closing(quick.server.boto3()) as s3:
        held = objects(s3, REPOSITORY, "main/files/a/b/moved/")
    held.pop("", None)  # the folder itself, as S3A marks it
    same(held, {path: data for path, data in tree.items() if not path.startswith("sub/")})


@pytest.mark.full
def test_texts_and_large_files(long: Played) -> None:
    assert long.results["texts"] == {"csv": sum(range(1_000)), "json": 1, "large": 400_000}


@pytest.mark.full
def test_a_stream_with_its_checkpoints(long: Played) -> None:
    assert long.results["streamed"] == _totals(200)


@pytest.mark.full
def test_over_tls(secure: LochanServer, trusted: Identity, tmp_path: Path) -> None:
    """There, the SDK sends a checksum after the body and does not sign it."""
    store = tmp_path / "trusted.p12"
    words = f"-importcert -noprompt -file {trusted.authority} -keystore {store} -storepass trusted"
    subprocess.run(["keytool", *words.split()], check=True, capture_output=True)
    java = f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=trusted"
    more = {"spark.hadoop.fs.s3a.endpoint": f"https://{secure.s3}", "spark.driver.extraJavaOptions": java}
    results = _played(secure, tmp_path, ("magic", "files"), more).results
    assert results["magic"]["overwritten"] == _totals(30), results["magic"]
    same(files(tmp_path / "back"), {**ODD, "large.bin": LARGE})
    held = staged(secure, REPOSITORY, "files/a/b/moved/")
    assert held["z.txt"] == len(ODD["a.txt"]) and held["large.bin"] == len(LARGE)


@pytest.mark.full
def test_on_a_lake_in_a_bucket(tmp_path: Path) -> None:
    """There, what one process wrote is not on the other's disk."""
    with minio() as store:
        env = {
            "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
            "LOCHAN_BLOCKSTORE__S3__ENDPOINT": store.endpoint,
            "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": store.access_key,
            "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": store.secret_key,
        }
        with lochan_server(f"s3://{store.bucket('under')}/lake", env=env, workers=2) as running:
            running.lochan("repo", "create", REPOSITORY)
            played = _played(running, tmp_path, ("file", "magic", "files"))
            for name in ("file", "magic"):
                _check_committer(played, name)
            same(files(tmp_path / "back"), {**ODD, "large.bin": LARGE})
            assert "Traceback" not in running.log.read_text()
