"""The files and tables that a plan reads. In the plan's SQL each is a table with a name of its own; the engine that
runs it says what lies behind: DuckDB puts `read_parquet([…])` in its place, Spark a view.

    scan 1    files of data objects: every column by its name; one that a file lacks is NULL in its rows
    rows 1    an Arrow table in memory
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import pyarrow as pa
from sqlglot import exp

from lochan.pools.shape import Type
from lochan.pools.snapshot import DataObject


class FileScan(NamedTuple):
    objects: Sequence[DataObject]
    columns: dict[str, Type]  # those that the plan reads, with what they hold where they are
    uniform: bool  # every file has all of them, of the same type
    with_gaps: Collection[str] = ()  # read in part, where some files lack the object around that part


class Scans:
    def __init__(self) -> None:
        self.files: dict[str, FileScan] = {}
        self.tables: dict[str, pa.Table] = {}

    def add_files(self, scan: FileScan) -> str:
        name = f"scan {len(self.files) + 1}"
        self.files[name] = scan
        return name

    def add_table(self, table: pa.Table) -> str:
        name = f"rows {len(self.tables) + 1}"
        self.tables[name] = table
        return name

    def next_files(self) -> str:
        """The name that the next scan of files will get."""
        return f"scan {len(self.files) + 1}"


def table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))
