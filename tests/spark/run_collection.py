"""Garbage collection and dedupe on a cluster, in one session. In each story, tasks of some kinds are harmed: an
executor is killed under one of them (`died-mark_files`), or one of them is slow until Spark runs a second copy of it
(`slow-mark_files`). Prints what came of it, as JSON, beside what Spark itself says of executors that it lost and of
second copies. Run by test_collection_on_a_cluster.py.
"""

import asyncio
import json
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lochan.jobs.collection import dedupe_tasks, spark_dedupe, tasks
from lochan.jobs.collection import spark as spark_collection
from lochan.jobs.collection.run import CollectJobOptions, dedupe, dedupe_report
from lochan.versioning import objects
from lochan.versioning.collection.plan import abandon
from lochan.versioning.heads.commit import CommitRequest, commit
from tests.spark.harm import SECOND_COPIES, dying, flag_names, patched, slow
from tests.spark.test_collection import ANN, Lakeside, everything, lakeside, once
from tests.spark.test_dedupe import bodies, played, rows

EMBEDDED = CollectJobOptions("duckdb")
HARMS: dict[str, Callable[..., Any]] = {"died": dying, "slow": slow}
OF_TREES = "read_trees"
OF_DEDUPE = ("read_blocks", "list_shard", "find_equal", "check_task")
_SETTINGS = SECOND_COPIES | {"spark.ui.enabled": "true", "spark.ui.port": "0", "spark.sql.shuffle.partitions": "3"}
_WAIT_S = 120.0  # on a machine with much other work


def main(master: str, folder: str, stories: Sequence[str]) -> None:
    """A story is the names of its harms, with commas."""
    builder = SparkSession.builder.master(master)
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    there = Harmed(builder.getOrCreate(), Path(folder))
    print(json.dumps({story: asyncio.run(there.play(story)) for story in stories}))
    there.spark.stop()


class Harmed:
    """Every story has a lake of its own, in a folder that all machines share."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.options = CollectJobOptions("spark", session=spark)
        self._folder = folder
        self._page = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}"

    async def play(self, story: str) -> dict[str, Any]:
        began = time.monotonic()
        lost, harms = self._lost(), story.split(",")
        with ExitStack() as stack:
            for harm in harms:
                stack.enter_context(self._harmed(harm))
            about_dedupe = harms[0].partition("-")[2] in OF_DEDUPE
            found = await (self._dedupe if about_dedupe else self._collect)(self._folder / f"lake of {story}")
        print(f"{story}: {time.monotonic() - began:.1f} s", file=sys.stderr)
        died = sum(harm.startswith("died") for harm in harms)
        return {**found, "lost": self._await_lost(lost, died), "harms": {harm: self._came(harm) for harm in harms}}

    @contextmanager
    def _harmed(self, harm: str) -> Iterator[None]:
        kind, step = harm.split("-")
        self._flags(harm).mkdir()
        module = dedupe_tasks if step in OF_DEDUPE else tasks
        harmed = HARMS[kind](getattr(module, step), str(self._flags(harm)), part=None)
        with patched(module, step, harmed), _many_trees() if step == OF_TREES else nullcontext():
            yield

    def _flags(self, harm: str) -> Path:
        return self._folder / f"flags of {harm}"

    async def _collect(self, folder: Path) -> dict[str, Any]:
        """The embedded engine's plan, ours, and a sweep."""
        async with lakeside(folder) as there:
            await everything(there)
            await _more(there)
            alive = {ref: await there.history.read(ref) for ref in ("main", "v1", "dev")}
            await there.line()
            here = await there.plan(EMBEDDED)
            wanted = await there.rows(here)
            await abandon(there.repository, actor=ANN)
            made = await there.plan(self.options)
            before = await there.files()
            swept = await there.sweep(options=self.options)
            return {
                "plan": made.head.dead_files,
                "same": wanted.equals(await there.rows(made)) and here.head.totals == made.head.totals,
                "swept": swept,
                "gone": sorted(before - await there.files()) == wanted["path"].to_pylist(),
                "alive": {ref: await there.history.read(ref) for ref in alive} == alive,
            }

    async def _dedupe(self, folder: Path) -> dict[str, Any]:
        lake, repository = await played(folder)
        for number in range(4):  # many tasks
            for path in ("twin", "other"):
                await objects.put(repository, "main", f"{path}-{number}", once(bytes([number]) * 3_000), actor=ANN)
            await commit(repository, "main", CommitRequest(f"twins {number}"), actor=ANN)
        before = await bodies(repository)
        here = await dedupe_report(repository, lake.place, actor=ANN, options=EMBEDDED)
        with patched(spark_dedupe, "_TASK_BLOCKS", 1):
            made = await dedupe(repository, lake.place, actor=ANN, options=self.options)
        after = await dedupe_report(repository, lake.place, actor=ANN, options=EMBEDDED)
        found = {
            "plan": len(here.aliases),
            "same": rows(made) == rows(here),
            "left": len(after.aliases),
            "alive": await bodies(repository) == before,
        }
        await repository.close()
        await lake.close()
        return found

    # What Spark says, whose listeners are told a little later

    def _came(self, harm: str) -> bool:
        """Whether an executor was killed by it, or Spark itself says that the task ran again as a second copy."""
        flags = self._flags(harm)
        if harm.startswith("died"):
            return flag_names(str(flags)) == ["died"]
        return flag_names(str(flags)) == ["again", "slow"] and _soon(
            lambda: not self._second_copies().isdisjoint(map(int, (flags / "again").read_text().split()))
        )

    def _second_copies(self) -> set[int]:
        """The numbers of their attempts."""
        attempts = [task for each in self._answer("stages?details=true") for task in each.get("tasks", {}).values()]
        return {task["taskId"] for task in attempts if task["speculative"]}

    def _await_lost(self, before: int, wanted: int) -> int:
        _soon(lambda: self._lost() - before >= wanted)
        return self._lost() - before

    def _lost(self) -> int:
        return sum(not each["isActive"] for each in self._answer("allexecutors"))

    def _answer(self, what: str) -> Any:
        with urllib.request.urlopen(f"{self._page}/{what}", timeout=_WAIT_S) as answer:
            return json.load(answer)


def _soon(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _WAIT_S
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


@contextmanager
def _many_trees() -> Iterator[None]:
    """As if the driver could not read them all, nor a task."""
    with patched(spark_collection, "_TREES_HERE", 0), patched(spark_collection, "_TREES_PER_TASK", 1):
        yield


async def _more(there: Lakeside) -> None:
    """So much that every stage has several tasks."""
    for number in range(8):
        await there.history.stage("main", f"p/{number}=1")
        await there.history.stage("main", f"p/{number}=2")
        if number % 3 == 0:
            await there.history.write("dev", f"q/{number}=1")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
