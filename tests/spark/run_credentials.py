"""One warm session that reads lakes of one bucket as several users. Each scenario has a bucket of its own, for Hadoop
keeps its clients by bucket. Prints what each saw, as JSON. Run by test_credentials.py.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lochan.spark
from lochan.engines.duckdb.limits import STANDARD
from lochan.engines.spark.place import SparkPlace
from lochan.engines.spark.session import session_at

Users = Mapping[str, Mapping[str, str]]


def main(master: str, settings: str, users: str, folder: str) -> None:
    given = json.loads(users)
    spark = session_at(SparkPlace(master, options=json.loads(settings)), STANDARD)
    seen = {}
    for each in ALL:
        bucket = each.__name__.replace("_", "-")
        seen[each.__name__] = played(each, spark, f"s3://{bucket}", given[bucket], folder)
    print(json.dumps(seen))


def played(scenario: Callable[..., Any], *given: Any) -> Any:
    begun = time.monotonic()
    try:
        return scenario(*given)
    except Exception:
        return {"failed": traceback.format_exc()}
    finally:
        print(f"{scenario.__name__}: {time.monotonic() - begun:.1f} s", file=sys.stderr)


def prefixes(spark: SparkSession, bucket: str, users: Users, folder: str) -> Any:
    """Two lakes, and two users who may read one of them each. Frames of both live side by side."""
    one, two = (lochan.spark.read(spark, "logs", lake=f"{bucket}/{name}", options=users[name]) for name in users)
    plan = one._jdf.queryExecution().toString()
    return {
        "one": total(one),
        "two": total(two),
        "again": total(one),
        "both": total(one.union(two)),
        "source": [total(by_source(spark, bucket, name, users[name])) for name in users],
        "shown": [word for word in (users["one"]["secret_access_key"], users["one"]["session_token"]) if word in plan],
    }


def by_source(spark: SparkSession, bucket: str, name: str, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("lochan").options(lake=f"{bucket}/{name}", **options).load("logs")


def rights(spark: SparkSession, bucket: str, users: Users, folder: str) -> Any:
    """One lake. Whoever may not read its rows does not get them by the keys of somebody who was there before."""
    found: dict[str, Any] = {}
    for number, name in enumerate(("reader", "other", "reader", "other")):
        found[f"{number} {name}"] = refused_or_total(spark, f"{bucket}/lake", users[name])
    return found


def rotated(spark: SparkSession, bucket: str, users: Users, folder: str) -> Any:
    """The keys of a profile are replaced; what is planned then is read with those that are there."""
    file = Path(folder) / "credentials"
    lake, rest = f"{bucket}/lake", {name: users["reader"][name] for name in ("endpoint", "region")}
    options = {**rest, "credentials_file": str(file)}
    found: dict[str, Any] = {}
    for name in ("other", "reader"):
        write_profile(file, users[name])
        found[name] = refused_or_total(spark, lake, options)
    landed = lochan.spark.write(spark.range(5).withColumnRenamed("id", "k"), "logs", lake=lake, options=options)
    return {**found, "written": landed.rows}


def catalogs(spark: SparkSession, bucket: str, users: Users, folder: str) -> Any:
    """A catalog for each user."""
    for name, options in users.items():
        for key, value in lochan.spark.catalog_settings(name, lake=f"{bucket}/{name}", options=options).items():
            if key != "spark.jars":
                spark.conf.set(key, value)
    found = {name: total(spark.table(f"{name}.logs")) for name in users}
    spark.sql("INSERT INTO two.logs SELECT k + 100 AS k FROM one.logs")
    both = "SELECT k FROM one.logs UNION ALL SELECT k FROM two.logs"
    return {**found, "both": total(spark.sql(both)), "back": total(spark.table("one.logs"))}


def wrong_token(spark: SparkSession, bucket: str, users: Users, folder: str) -> Any:
    """Keys with a token that the store does not accept (any more)."""
    options = {**users["reader"], "session_token": "expired"}
    try:
        return total(lochan.spark.read(spark, "logs", lake=f"{bucket}/lake", options=options))
    except Exception as error:
        return [type(error).__name__, str(error)]


def total(frame: DataFrame) -> list[int]:
    return list(frame.selectExpr("count(*)", "sum(k)").collect()[0])


def refused_or_total(spark: SparkSession, lake: str, options: Mapping[str, str]) -> Any:
    """Of rows that only Spark itself has looked at."""
    try:
        lochan.spark.register_views(spark, lake, options=options, check=False)
        return total(spark.table("logs_main"))
    except Exception as error:
        return "refused" if "AccessDenied" in str(error) or "403" in str(error) else str(error)


def write_profile(file: Path, user: Mapping[str, str]) -> None:
    names = ("access_key_id", "secret_access_key")
    lines = [*(f"aws_{name} = {user[name]}" for name in names), f"aws_session_token = {user['session_token']}"]
    file.write_text("\n".join(["[default]", *lines, ""]))


ALL = (prefixes, rights, rotated, catalogs, wrong_token)

if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # while Python is taken down, threads of obstore may still ask for it, and the process would abort
