"""What a task does with what a stream hands it: names of files, or lines of text.

A file is read as a whole, by the embedded loader: of any format, packed or not, and a fault is told by file and line.
Spark hands out names alone, and no row goes through the JVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import read_input
from lochan.errors import NotFound
from lochan.ingest.lines import Lines
from lochan.ingest.streams import file_input
from lochan.jobs.messages import TaskMessage
from lochan.jobs.pool_writer import write, write_lines
from lochan.jobs.target import PoolTarget

PATH, TEXT = "path", "value"  # Spark's own names
_FILE = "file:"


def write_files(how: LoaderOptions, target: PoolTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
    """Of the files that the column `path` names."""

    def fill(loader: Loader) -> None:
        for batch in batches:
            for name in batch.column(PATH).to_pylist():
                read_input(loader, file_input(_there(local_path(name))), how)

    return write(target, fill, on_error=how.on_error)


def write_texts(
    name: str, on_error: str, target: PoolTarget, batches: Iterable[pa.RecordBatch]
) -> Iterator[TaskMessage]:
    """A row of JSON in each text; `name` is what messages call where they come from."""

    def texts() -> Iterator[Lines]:
        for batch in batches:
            column = batch.column(TEXT).drop_null().cast(pa.string())
            yield Lines(name, column, True, 1, np.zeros(len(column), np.int64))  # a stream has no lines to count

    return write_lines(target, texts(), on_error=on_error)


def local_path(name: str) -> Path:
    """Of a name as Hadoop writes it: `file:/in/a b.json`, as it is on the disk."""
    return Path("/" + name.removeprefix(_FILE).lstrip("/")) if name.startswith(_FILE) else Path(name)


def _there(path: Path) -> Path:
    if not path.is_file():
        raise NotFound(
            f"{path} was found a moment ago, but is gone now",
            hint="leave files in place until they have been read; the machines of a cluster must share the folder",
        )
    return path
