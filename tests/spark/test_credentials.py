"""Users of different rights, and keys that are replaced, in one warm session of Spark over Hadoop's S3A.

Hadoop keeps one client for each bucket, with the keys of whoever came first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lochan.api.pool import load_rows
from lochan.lake import Lake
from lochan.spark.catalog import catalog_jar
from lochan.store.open import open_store
from tests.run import run
from tests.servers.minio import MinioServer, minio
from tests.spark import s3a
from tests.spark.cluster import cluster, environment
from tests.spark.local_spark import HERE
from tests.unit.engines.lake import ANN, BY_K

ROWS = {"one": 10, "two": 20, "lake": 30}
ROWS_OF = "lake/*/data/*"  # the objects of a pool


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return _played(tmp_path_factory.mktemp("credentials"), "local[2]", HERE.options, s3a.environment())


def _played(folder: Path, master: str, options: Mapping[str, str], env: Mapping[str, str]) -> dict[str, Any]:
    """What each scenario saw, in one session there."""
    jars = f"{s3a.jars()}/*"
    paths = {"spark.driver.extraClassPath": jars, "spark.executor.extraClassPath": jars, "spark.jars": catalog_jar()}
    with minio() as store:
        users = _users(store)
        command = [sys.executable, "-m", "tests.spark.run_credentials", master]
        ran = subprocess.run(
            [*command, json.dumps({**options, **paths}), json.dumps(users), str(folder)],
            env={**os.environ, **env, "XDG_CACHE_HOME": str(folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=800,
        )
    assert ran.returncode == 0, ran.stderr[-4_000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _users(store: MinioServer) -> dict[str, Any]:
    """Of each scenario, by the names that it uses; the lakes are made too."""
    for bucket in ("prefixes", "catalogs"):
        for name in ("one", "two"):
            run(_filled(store, f"s3://{store.bucket(bucket)}/{name}", ROWS[name]))
    for bucket in ("rights", "rotated", "wrong-token"):
        run(_filled(store, f"s3://{store.bucket(bucket)}/lake", ROWS["lake"]))
    return {
        **{name: _by_prefix(store, name) for name in ("prefixes", "catalogs")},
        **{name: _by_rights(store, name) for name in ("rights", "rotated")},
        "wrong-token": _by_rights(store, "wrong-token"),
    }


def _by_prefix(store: MinioServer, bucket: str) -> dict[str, dict[str, str]]:
    return {name: store.user(bucket, only=f"{name}/") for name in ("one", "two")}


def _by_rights(store: MinioServer, bucket: str) -> dict[str, dict[str, str]]:
    return {"reader": store.user(bucket), "other": store.user(bucket, denied=ROWS_OF)}


async def _filled(store: MinioServer, url: str, rows: int) -> None:
    lake = await Lake.create(open_store(url, store.options))
    await lake.create_pool("logs", BY_K, actor=ANN)
    await load_rows(lake, "logs", [{"k": number} for number in range(rows)], actor=ANN)
    await lake.close()


def _total(*names: str, more: int = 0) -> list[int]:
    return [sum(ROWS[name] for name in names), sum(sum(range(ROWS[name])) for name in names) + more]


def test_frames_of_two_users(seen: dict[str, Any]) -> None:
    assert seen["prefixes"] == {
        "one": _total("one"),
        "two": _total("two"),
        "again": _total("one"),
        "both": _total("one", "two"),
        "source": [_total("one"), _total("two")],
        "shown": [],
    }


def test_nobody_reads_with_the_keys_of_somebody_else(seen: dict[str, Any]) -> None:
    lake = _total("lake")
    assert seen["rights"] == {"0 reader": lake, "1 other": "refused", "2 reader": lake, "3 other": "refused"}


def test_keys_that_are_replaced(seen: dict[str, Any]) -> None:
    assert seen["rotated"] == {"other": "refused", "reader": _total("lake"), "written": 5}


def test_catalogs_of_two_users(seen: dict[str, Any]) -> None:
    found = seen["catalogs"]
    assert found["one"] == found["back"] == _total("one"), found
    assert found["two"] == _total("two")
    count, total = _total("one", "one", "two")
    assert found["both"] == [count, total + 100 * ROWS["one"]]


def test_a_token_that_is_refused(seen: dict[str, Any]) -> None:
    kind, text = seen["wrong_token"]
    assert kind == "Unavailable"
    assert "token" in text.lower()


@pytest.mark.full
def test_the_same_on_executors(seen: dict[str, Any], tmp_path: Path) -> None:
    """Those of a cluster live as long as the session, and keep their clients too."""
    with cluster() as there:
        assert _played(tmp_path, there.master, there.options, environment()) == seen
