"""A user's day on a cluster, in one session: loads, frames, compactions and streams on a lake in a bucket. Executors
are killed in the middle, and tasks are run twice. Prints what it saw, as JSON. Run by test_cluster.py.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

import lochan.spark
from lochan.cli.root import cli
from tests.spark.harm import SECOND_COPIES, dying, flag_names, patched, slow

SETTINGS = SECOND_COPIES | {
    "spark.task.maxFailures": "2",
    "spark.sql.shuffle.partitions": "3",
    "spark.driver.maxResultSize": "1m",  # hardly anything may come to the driver
}
COUNT = 1_000


def main(master: str, folder: str, bucket: str) -> None:
    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    day = Day(builder.getOrCreate(), master, Path(folder), bucket)
    lochan.spark.register(day.spark)
    fine("init")
    seen = {
        part.__name__: played(part, day) for part in (shipped, loaded, died, framed, compacted, streamed, collected)
    }
    print(json.dumps({**seen, "jobs": answer("jobs")}))
    day.spark.stop()


def played(part: "Callable[[Day], Any]", day: "Day") -> Any:
    begun = time.monotonic()
    try:
        return part(day)
    except Exception:
        return {"failed": traceback.format_exc()}
    finally:
        print(f"{part.__name__}: {time.monotonic() - begun:.1f} s", file=sys.stderr)


class Day:
    def __init__(self, spark: SparkSession, master: str, folder: Path, bucket: str) -> None:
        self.spark = spark
        self.engine = ("--engine", "spark", "--master", master)
        self.folder = folder  # that all machines share
        self.bucket = bucket

    def flags(self, part: str) -> str:
        """A folder in which tasks note what they did."""
        found = self.folder / part
        found.mkdir()
        return str(found)


def shipped(day: Day) -> list[str]:
    """Where executors get Lochan from."""

    def where(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import lochan.pools.layout

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"file": [lochan.pools.layout.__file__]})

    return [row.file for row in day.spark.range(4, numPartitions=4).mapInArrow(where, "file string").collect()]


def loaded(day: Day) -> Any:
    """Loads files of the bucket. What the executor had shuffled is lost with it, and done again."""
    from lochan.jobs.load import load, sizes
    from lochan.jobs.load.load import cut, load_part

    flags = day.flags("load")
    sizes._PART_BYTES_MIN = sizes._SPLIT_BYTES_MIN = 1_000  # as if it were much
    with patched(load, "cut", slow(cut, flags)), patched(load, "load_part", dying(load_part, flags)):
        source = f"s3://{day.bucket}/in/"
        done = answer("load", "logs", source, "--key", "k", *day.engine)
    return {
        "rows": done["rows"],
        "objects": len(done["objects"]),
        "bytes": done["bytes"],
        "flags": flag_names(flags),
        "found": rows("from logs"),
        "log": [each["message"] for each in answer("log", "logs")],
    }


def died(day: Day) -> Any:
    """Kills whichever executor takes the task; nothing of it may be visible."""
    from lochan.jobs.load import load
    from lochan.jobs.load.load import cut

    flags = day.flags("died")
    with patched(load, "cut", dying(cut, flags, times=99)):
        ran = call("load", "never", f"s3://{day.bucket}/in/", "--key", "k", *day.engine)
    return {"code": ran.exit_code, "said": ran.stderr, "pools": [each["name"] for each in answer("ls")]}


def framed(day: Day) -> Any:
    spark, flags = day.spark, day.flags("frames")
    fine("create", "frames", "--key", "k")
    fine("repo", "create", "files")
    frame = spark.range(400, numPartitions=4).withColumnRenamed("id", "k")
    hurt = frame.mapInArrow(slow(same, flags), "k long").mapInArrow(dying(same, flags, part=1), "k long")
    hurt.write.format("lochan").mode("append").save("frames")
    landed = lochan.spark.write(frame, "frames@main", message="by key")
    lochan.spark.write(frame.limit(50), "files@main/t/")
    back = spark.read.format("lochan").option("where", "k >= 100").load("frames").selectExpr("count(*)", "sum(k)")
    return {
        "flags": flag_names(flags),
        "landed": landed.rows,
        "bytes": stored("frames"),
        "back": list(back.collect()[0]),
        "files": spark.read.format("lochan").load("files@main/t/").count(),
    }


def compacted(day: Day) -> Any:
    from lochan.jobs import compaction
    from lochan.jobs.compaction_tasks import cut, merge_part

    flags = day.flags("compact")
    fine("create", "small", "--key", "k", "--size", "4KiB")
    for start in range(3):
        lines = "".join(f'{{"k":{n},"text":"{n * 2654435761 % (1 << 32):x}"}}\n' for n in range(start, COUNT, 3))
        fine("load", "small", "-", given=lines)
    with (
        patched(compaction, "cut", dying(cut, flags)),
        patched(compaction, "merge_part", slow(merge_part, flags)),
    ):
        done = answer("compact", "small", *day.engine)
    return {
        **{name: done[name] for name in ("before", "after", "rows")},
        "bytes": done["bytes_after"],
        "flags": flag_names(flags),
        "diff": fine("diff", "--rows", "small@main~1", "small"),
    }


def streamed(day: Day) -> Any:
    """Two batches of two files each: an executor dies in the first, and a task of the second is slow."""
    flags, source = day.flags("stream"), day.folder / "in"
    source.mkdir()
    for file in range(4):
        lines = (f'{{"k":{number}}}\n' for number in range(file * 10, file * 10 + 10))
        (source / f"{file}.json").write_text("".join(lines))
        os.utime(source / f"{file}.json", (file, file))  # so they come
    fine("create", "events", "--key", "k")
    frames = day.spark.readStream.schema("k long").option("maxFilesPerTrigger", 2).json(str(source))
    hurt = frames.mapInArrow(dying(same, flags), "k long").mapInArrow(slow(same, flags, batch=1), "k long")
    query = lochan.spark.ingest(hurt, "events", checkpoint=day.folder / "checkpoint", available_now=True, compact=False)
    ended = query.awaitTermination(200)
    log = [each["metadata"].get("lochan-batch") for each in answer("log", "events")]
    seen = {"ended": ended, "flags": flag_names(flags), "batches": log}
    return {**seen, "found": rows("from events"), "bytes": stored("events")}


def collected(day: Day) -> Any:
    """A plan and a sweep: in each an executor dies, and a task is slow."""
    from lochan.jobs.collection import tasks

    grace = ("--grace", "0")
    fine("repo", "create", "trash")
    for number in range(12):
        for name in ("lost", "left"):
            (day.folder / "body").write_text(f"{name} {number}")
            fine("fs", "upload", str(day.folder / "body"), f"trash/{number % 6}")
        if number == 5:
            fine("commit", "trash", "-m", "all")
    fine("gc", "plan", "trash", *grace)
    fine("gc", "sweep", "trash", *grace)
    planned, swept = day.flags("plan"), day.flags("sweep")
    with (
        patched(tasks, "mark_files", dying(tasks.mark_files, planned, part=None)),
        patched(tasks, "collect_shard", slow(tasks.collect_shard, planned)),
    ):
        plan = answer("gc", "plan", "trash", *grace, *day.engine)
    with (
        patched(tasks, "check_part", slow(tasks.check_part, swept)),
        patched(tasks, "delete_parts", dying(tasks.delete_parts, swept)),
    ):
        sweep = answer("gc", "sweep", "trash", *grace, "--confirm", *day.engine)
    return {
        "flags": [flag_names(planned), flag_names(swept)],
        "plan": plan,
        "sweep": sweep,
        "staged": [fine("fs", "cat", f"trash/{number}") for number in range(6)],
        "committed": [fine("fs", "cat", f"trash@main~0/{number}") for number in range(6)],
        "damage": call("fsck", "trash", "--data").output,
        "again": answer("gc", "plan", "trash", "--dry-run", *grace),
    }


def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def call(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli, words, input=given, prog_name="lochan", catch_exceptions=False)


def fine(*words: str, given: str | None = None) -> str:
    result = call(*words, given=given)
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def answer(*words: str) -> Any:
    return json.loads(fine(*words, "-f", "json"))


def rows(text: str) -> list[int]:
    """The keys."""
    return [json.loads(line)["k"] for line in fine("query", text).splitlines()]


def stored(pool: str) -> int:
    """The bytes of its objects."""
    return sum(json.loads(line)["size"] for line in fine("query", f"from {pool}:objects").splitlines())


if __name__ == "__main__":
    main(*sys.argv[1:])
