"""Prepares executors: they need Lochan itself in the driver's version, the lake's store, and a folder with room.

Some of Lochan's dependencies are not pure Python, and must be installed on every machine."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import sys
import zipfile
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet
from zipimport import zipimporter

from lochan.clock import Clock
from lochan.engines.duckdb.limits import Limits
from lochan.engines.spark.place import TASK_MEMORY
from lochan.errors import Invalid, NotFound, Refused
from lochan.ids import Ids
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.store.scratch import make_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUERY_ID = "sql.streaming.queryId"  # Spark's name of a stream's id in the properties of a task
TASK_MEMORY_BYTES = 512 << 20  # memory that one task may use
_TASK_MEMORY_MIN = 64 << 20
_SIZE = re.compile(r"([0-9]{1,15})([kmgt]?)b?")
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_shipped: WeakSet[SparkSession] = WeakSet()


def task_limits(spark: SparkSession) -> Limits:
    """Returns the limits of one task, as the session sets them. Raises Invalid."""
    return Limits(memory_bytes=task_memory(spark) or TASK_MEMORY_BYTES, threads=1)


def task_memory(spark: SparkSession) -> int | None:
    """Returns how many bytes one task may use for its rows, or None if the session does not set it. Raises Invalid."""
    text = spark.conf.get(TASK_MEMORY, None)
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip().lower())
    size = int(found[1]) << _SHIFTS[found[2]] if found else 0
    if size < _TASK_MEMORY_MIN:
        raise Invalid(
            f"{TASK_MEMORY} is {text!r}, which is no size of {_TASK_MEMORY_MIN >> 20}m or more",
            hint="give it as Spark's own sizes, such as 2g",
        )
    return size


def ship(spark: SparkSession) -> None:
    """Sends Lochan to the executors of this session, unless they are in this process."""
    master = spark.conf.get("spark.master", "") or ""
    if spark in _shipped or master.partition("[")[0] == "local":
        return
    spark.addArtifacts(str(package()), pyfile=True)
    _shipped.add(spark)


def remove() -> None:
    """Deletes what `package` has made, if it was called. A process that exits without Python's own shutdown must call
    this."""
    if package.cache_info().currsize:
        shutil.rmtree(package().parent, ignore_errors=True)


@cache
def package() -> Path:
    """Returns a zip file of the package that runs here, in a folder that others cannot write to. It is deleted when
    this process ends."""
    root = Path(__file__).parents[2]
    folder = make_folder()
    atexit.register(remove)
    place = Path(folder) / "lochan.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*.py")):
            name = Path("lochan") / path.relative_to(root)
            archive.write(path, name)
            compiled = Path(cache_from_source(str(path)))
            if compiled.exists():  # otherwise each of their processes compiles it
                archive.write(compiled, name.with_suffix(".pyc"))
    return place


def keep_archives_read() -> None:
    """Keeps zip files read for the next task. Before each task Spark's worker makes Python forget what it found on its
    path, and then zip files are read again for each of their packages, which takes a fifth of a second for every task.
    A task that calls this saves the next one in its process that time. Zip files never change there: new ones have
    another name."""
    for path, finder in [*sys.path_importer_cache.items()]:
        if isinstance(finder, zipimporter):
            sys.path_importer_cache.pop(path, None)  # Python makes it again when it is needed


def open_on_executor(place: StoreLocation, clock: Clock, ids: Ids) -> Store:
    """Opens the store. Raises Refused if the executor's machine has no such folder."""
    keep_archives_read()
    try:
        return place.open(clock=clock, ids=ids)
    except NotFound as error:
        raise Refused(
            f"{socket.gethostname()} does not see the lake at {place.url}: {error.message}",
            hint="executors need a folder that all machines share, or a bucket",
        ) from error


def query_of_task() -> str:
    """Returns the id of the stream that a task works for. Raises AssertionError outside a stream."""
    from pyspark import TaskContext

    task = TaskContext.get()
    found = None if task is None else task.getLocalProperty(_QUERY_ID)
    assert found, "Spark tells each task which stream it works for"
    return str(found)


def partition_of_task() -> int:
    """Returns the number of the partition that a task works on, counted from 0. It is 0 outside Spark."""
    context_class = getattr(sys.modules.get("pyspark"), "TaskContext", None)  # a task has imported it
    task = None if context_class is None else context_class.get()
    return 0 if task is None else int(task.partitionId())


def spark_folder() -> str | None:
    """Returns the folder where Spark spills: it has room, and is cleaned after a worker was killed."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    return folder if folder and Path(folder).is_dir() else None
