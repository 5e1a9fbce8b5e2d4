"""The sources of a stream's rows, and the work of a task on its input from Spark: names of files, or lines of text.

The embedded loader reads each file as a whole, in any format, packed or not, and reports a fault with file and line.
Spark passes on names only, and no row goes through the JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import read_input
from lochan.engines.spark.scan import literal_path
from lochan.errors import Invalid, NotFound
from lochan.ingest.lines import Lines
from lochan.ingest.streams import file_input
from lochan.jobs.messages import PoolTarget, TaskMessage
from lochan.jobs.pool_writer import write, write_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lochan.jobs.streams.batches import Write

PATH, TEXT = "path", "value"  # Spark's own names
_FILE = "file:"
_FILES = "path string, modificationTime timestamp, length long, content binary"  # the columns that Spark defines
_FOREVER = "36500d"  # Spark forgets older files, and would leave out those that it has not read yet


class SparkSource(NamedTuple):
    kind: str  # folder, socket, rate
    name: str  # distinguishes sources into the same pool
    format: str  # the name of a format of Spark
    options: dict[str, str]
    write: Write | None = None  # None if Spark's own rows are written
    path: str | None = None

    def frame(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.format(self.format).options(**self.options)
        return reader.load() if self.path is None else reader.schema(_FILES).load(self.path).select(PATH)


def folder_source(place: str, options: LoaderOptions, files_per_batch: int) -> SparkSource:
    """Returns the source of a folder. Raises NotFound."""
    folder = Path(place).resolve()
    if not folder.is_dir():
        raise NotFound(f"there is no folder {place}", hint="make it first; files may come later")
    reading = {
        "maxFilesPerTrigger": str(files_per_batch),
        "maxFileAge": _FOREVER,
        "recursiveFileLookup": "true",
    }
    write = partial(write_files, options)
    return SparkSource("folder", str(folder), "binaryFile", reading, write, literal_path(str(folder)))


def socket_source(place: str, on_error: str) -> SparkSource:
    """Returns the source of a socket. Raises Invalid unless the text is HOST:PORT."""
    host, colon, port = place.rpartition(":")
    if not (colon and host and port.isascii() and port.isdecimal()):
        raise Invalid(f"{place!r} is no HOST:PORT", hint="such as localhost:9999")
    return SparkSource("socket", place, "socket", {"host": host, "port": port}, partial(write_texts, place, on_error))


def rate_source(rows_per_second: int) -> SparkSource:
    return SparkSource("rate", "rate", "rate", {"rowsPerSecond": str(rows_per_second)})


def write_files(options: LoaderOptions, target: PoolTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Loads the files that the column `path` names."""

    def fill(loader: Loader) -> None:
        for batch in batches:
            for name in batch.column(PATH).to_pylist():
                read_input(loader, file_input(_check_exists(local_path(name))), options)

    return write(target, fill, on_error=options.on_error)


def write_texts(
    name: str, on_error: str, target: PoolTarget, batches: Iterable[pa.RecordBatch]
) -> Iterator[TaskMessage]:
    """Loads a row of JSON from each text. `name` is the name of the source in messages."""

    def texts() -> Iterator[Lines]:
        for batch in batches:
            column = batch.column(TEXT).drop_null().cast(pa.string())
            yield Lines(name, column, True, 1, np.zeros(len(column), np.int64))  # a stream has no lines to count

    return write_lines(target, texts(), on_error=on_error)


def local_path(name: str) -> Path:
    """Converts a name as Hadoop writes it, such as `file:/in/a b.json`, to the path on the disk."""
    return Path("/" + name.removeprefix(_FILE).lstrip("/")) if name.startswith(_FILE) else Path(name)


def _check_exists(path: Path) -> Path:
    if not path.is_file():
        raise NotFound(
            f"{path} was found a moment ago, but is gone now",
            hint="leave files in place until they have been read; the machines of a cluster must share the folder",
        )
    return path
