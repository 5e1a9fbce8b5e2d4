"""The parts of a query on Spark that need no JVM."""

from __future__ import annotations

import re
import socket
import threading
import zipfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from sqlglot import parse_one

from lochan.clock import SystemClock
from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.run import WorkFolders
from lochan.engines.spark import file_access
from lochan.engines.spark.bucket_check import BucketCheck
from lochan.engines.spark.errors import explain_error
from lochan.engines.spark.executors import package
from lochan.engines.spark.file_access import Bucket, check_reach
from lochan.engines.spark.job import Handoff
from lochan.engines.spark.place import SparkPlace, check_answers
from lochan.engines.spark.waves import FEW_ROWS, sizes_for
from lochan.errors import Refused
from lochan.pools.snapshot import DataObject
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles
from tests.run import run

GIB = 1 << 30


@pytest.mark.parametrize(
    "url", ["spark://127.0.0.1:{}", "spark://127.0.0.1:1,127.0.0.1:{}", "sc://127.0.0.1:{}/;user_id=a"]
)
def test_somebody_listens(url: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        at = url.format(server.getsockname()[1])
        check_answers(SparkPlace(remote=at) if at.startswith("sc") else SparkPlace(at))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (SparkPlace("spark://127.0.0.1:1"), "no Spark master answers at spark://127.0.0.1:1: Connection refused"),
        (SparkPlace("spark://127.0.0.1:high"), "'high' is no port"),
        (SparkPlace("spark://no-such-host.invalid"), "no Spark master answers at spark://no-such-host.invalid"),
        (SparkPlace(remote="sc://127.0.0.1:1"), "no Spark Connect server answers at sc://127.0.0.1:1"),
    ],
    ids=["a port that is closed", "no port", "no host", "Connect"],
)
def test_nobody_listens(place: SparkPlace, message: str) -> None:
    with pytest.raises(Refused, match=message) as raised:
        check_answers(place)
    assert "--master local[*]" in raised.value.hint


@pytest.mark.parametrize("master", ["local[*]", "yarn", "k8s://https://h:1"])
def test_of_other_masters_nothing_is_known(master: str) -> None:
    check_answers(SparkPlace(master))


def test_s3a_gets_the_options_of_our_own_client() -> None:
    options = {"region": "r", "endpoint": "http://h:9", "access_key_id": "a", "secret_access_key": "s"}
    assert file_access.s3a_options(StoreLocation("s3://bucket/a lake", options)) == {
        "fs.s3a.bucket.bucket.endpoint": "http://h:9",
        "fs.s3a.bucket.bucket.connection.ssl.enabled": "false",
        "fs.s3a.bucket.bucket.endpoint.region": "r",
        "fs.s3a.bucket.bucket.path.style.access": "true",
        "fs.s3a.bucket.bucket.access.key": "a",
        "fs.s3a.bucket.bucket.secret.key": "s",
        "fs.s3a.bucket.bucket.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }
    plain = file_access.s3a_options(StoreLocation("s3://bucket", {"region": "r"}))
    assert plain == {"fs.s3a.bucket.bucket.endpoint.region": "r", "fs.s3a.bucket.bucket.path.style.access": "false"}
    for_a_while = file_access.s3a_options(StoreLocation("s3://bucket", {**options, "session_token": "t"}))
    assert for_a_while["fs.s3a.bucket.bucket.session.token"] == "t"
    assert for_a_while["fs.s3a.bucket.bucket.aws.credentials.provider"].endswith("TemporaryAWSCredentialsProvider")


PLAIN = "s3a://bucket/repo/data/x"


def test_the_path_of_an_object() -> None:
    for place, path in (("s3://bucket/a lake", "s3a://bucket/a lake/repo/data/x"), ("s3://bucket", PLAIN)):
        assert file_access.hadoop_files(StoreLocation(place)).path("repo/data/x") == path
    assert file_access.hadoop_files(StoreLocation("s3://bucket", {"region": "r"})).path("repo/data/x") == PLAIN
    assert file_access.hadoop_files(StoreLocation("/a/lake")) == ("/a/lake", {}, {})
    elsewhere = StoreLocation("s3://bucket", routes={"own": StoreLocation("s3://other/x"), "disk": StoreLocation("/d")})
    files = file_access.hadoop_files(elsewhere)
    paths = [files.path(f"{id}/data/x") for id in ("repo", "own", "disk")]
    assert paths == [PLAIN, "s3a://other/x/own/data/x", "/d/disk/data/x"]
    with pytest.raises(Refused, match="no files of a lake at gs://"):
        file_access.hadoop_files(StoreLocation("gs://bucket"))


def test_each_set_of_credentials_has_a_scheme_of_its_own(tmp_path: Path) -> None:
    """Hadoop keeps one client for each scheme and bucket."""
    keys = {"access_key_id": "a", "secret_access_key": "s"}
    sets = (
        keys,
        {**keys, "secret_access_key": "t"},
        {**keys, "session_token": "x"},
        {**keys, "endpoint": "http://h:9"},
        {"endpoint": "http://h:9"},
    )
    made = [file_access.hadoop_files(StoreLocation("s3://bucket", each)) for each in sets]
    schemes = [each.root.partition(":")[0] for each in made]
    assert len(set(schemes)) == len(sets)
    for scheme, each in zip(schemes, made, strict=True):
        assert re.fullmatch("s3a-[0-9a-f]{16}", scheme)
        assert each.options[f"fs.{scheme}.impl"] == "org.apache.hadoop.fs.s3a.S3AFileSystem"
        assert each.path("x") == f"{scheme}://bucket/x"
    assert file_access.hadoop_files(StoreLocation("s3://bucket", dict(keys))) == made[0]


def test_keys_of_a_profile_that_are_replaced_are_another_set(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    place = StoreLocation("s3://bucket", {"credentials_file": str(file)})
    file.write_text("[default]\naws_access_key_id = A\naws_secret_access_key = S\n")
    before = file_access.hadoop_files(place)
    file.write_text("[default]\naws_access_key_id = B\naws_secret_access_key = S\n")
    after = file_access.hadoop_files(place)
    assert before.root != after.root
    assert after.options["fs.s3a.bucket.bucket.access.key"] == "B"


def test_the_package_is_of_the_hadoop_that_is_here() -> None:
    assert file_access.s3a_package().startswith("org.apache.hadoop:hadoop-aws:3.")


def test_pieces_come_one_ahead_and_in_order() -> None:
    handoff: Handoff[int] = Handoff()
    made: list[int] = []

    def make() -> None:
        for number in range(5):
            made.append(number)
            assert handoff.put(number)
        handoff.end()

    maker = threading.Thread(target=make)
    maker.start()
    taken = []
    while (piece := handoff.take()) is not None:
        taken.append(piece)
        assert len(made) <= len(taken) + 2
    maker.join()
    assert taken == list(range(5))
    assert handoff.take() is None


def test_a_waiter_gets_the_error_that_stopped_it() -> None:
    handoff: Handoff[int] = Handoff()
    threading.Timer(0.05, handoff.stop, (Refused("no more"),)).start()
    with pytest.raises(Refused, match="no more"):
        handoff.take()
    assert not handoff.put(1)
    handoff.stop(ValueError("the first word counts"))
    with pytest.raises(Refused):
        handoff.take()


def test_what_waits_to_be_put_is_let_go() -> None:
    handoff: Handoff[int] = Handoff()
    assert handoff.put(1)
    threading.Timer(0.05, handoff.stop, (Refused("no more"),)).start()
    assert not handoff.put(2)


def test_after_its_end_nothing_stops_it() -> None:
    handoff: Handoff[int] = Handoff()
    handoff.put(1)
    handoff.end()
    assert handoff.take() == 1
    handoff.stop(Refused("too late"))
    assert handoff.take() is None


@pytest.mark.parametrize(
    ("text", "memory", "partition_mib", "few"),
    [
        ("select a from t", GIB, 8, False),
        ("select a from t order by a", GIB // 4, 2, False),
        ("select a from t", 64 * GIB, 32, False),
        ("select a, count(*) from t group by a", GIB, 128, False),
        ("select sum(a) from t", GIB, 128, False),
        (f"select a from t limit {FEW_ROWS}", GIB, 128, True),
        (f"select a from t limit {FEW_ROWS + 1}", GIB, 8, False),
    ],
)
def test_how_finely_work_is_cut(text: str, memory: int, partition_mib: int, few: bool) -> None:
    sizes = sizes_for(parse_one(text), Limits(memory))  # type: ignore[arg-type]
    assert (sizes.partition_bytes >> 20, sizes.few) == (partition_mib, few)
    assert sizes.wave_bytes == memory // 8
    assert sizes.first_wave >= 1


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("Total size of results is bigger than spark.driver.maxResultSize", "more than its 1 GiB", "--memory"),
        ("x\nClass org.apache.hadoop.fs.s3a.S3AFileSystem not found", "Spark has failed: x", "hadoop-aws"),
        ("Job 2 cancelled because SparkContext was shut down", "Spark itself has ended", "--memory"),
        ("x\nAWSBadRequestException: ExpiredToken: … (Status Code: 400)", "Spark has failed: x", "has expired"),
        ("x\nAccessDeniedException: AccessDenied (Status Code: 403)", "Spark has failed: x", "lake's credentials"),
        ("[CAST] wrong\nat line 3", r"Spark has failed: \[CAST\] wrong", "duckdb"),
    ],
)
def test_what_spark_has_failed_by(said: str, message: str, hint: str) -> None:
    error = explain_error(ValueError(said), Limits(GIB))
    with pytest.raises(Refused, match=message):
        raise error
    assert hint in error.hint


@pytest.mark.thorough
def test_all_of_lochan_is_in_the_package() -> None:
    with zipfile.ZipFile(package()) as archive:
        names = archive.namelist()
    assert {"lochan/__init__.py", "lochan/engines/spark/executors.py", "lochan/jobs/record.py"} <= set(names)
    assert all(name.endswith((".py", ".pyc")) for name in names)
    assert {name.removesuffix("c") for name in names} == {name for name in names if name.endswith(".py")}


def test_objects_of_a_bucket_are_read_where_they_lie(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path), create=True)
    run(store.put("x", b""))
    objects = [DataObject("1", address, 0, sha256(b"").digest(), 0, "pool", "commit") for address in ("x", "y")]
    assert run(_bucket(store).place(objects, "")) == ["s3a://bucket/lake/x", ""]


def _bucket(store: Store) -> Bucket:
    place = StoreLocation("s3://bucket/lake")
    return Bucket(place, BucketCheck(place, store, VerifiedFiles(store.url, SystemClock())))


@pytest.mark.parametrize(
    ("lake", "folders", "made", "reaches"),
    [
        ("file:///lake", ["/lake"], [], True),
        ("s3://bucket/lake", [], [], True),
        ("gs://bucket/lake", [], [], False),
        ("file:///lake", ["/lake"], ["/tmp/made"], False),
    ],
    ids=["a folder", "a bucket", "a bucket without S3A", "files that were read here"],
)
def test_what_a_cluster_reaches(lake: str, folders: list[str], made: list[str], reaches: bool) -> None:
    files = _bucket(MemoryStore("none"))
    files.folders = folders
    work = WorkFolders()
    work.folders = made
    cluster = SparkPlace("spark://h:1")
    check_reach(files, work, SparkPlace(), StoreLocation(lake))
    if reaches:
        check_reach(files, work, cluster, StoreLocation(lake))
        return
    with pytest.raises(Refused, match="Spark on spark://h:1 cannot read"):
        check_reach(files, work, cluster, StoreLocation(lake))
