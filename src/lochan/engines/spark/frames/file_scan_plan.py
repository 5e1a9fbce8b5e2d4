"""A scan of a table of files. It has the files, if Spark's own reader can read all of them directly; otherwise the data
source reads them, which puts files together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema

from lochan.engines.query_context import QueryContext
from lochan.engines.spark.file_access import HadoopFiles, check_objects, hadoop_files
from lochan.engines.spark.frames.filters import Filter
from lochan.engines.spark.frames.frame import FRAME_MEANING
from lochan.engines.spark.frames.row_identity import COMMIT_COLUMN, OBJECT, PATH_COLUMN
from lochan.engines.spark.frames.table_files import TableFiles, table_files
from lochan.engines.spark.frames.table_frame import can_spark_scan, stored_file
from lochan.errors import Refused
from lochan.query.dialects.spark_words import name_sql, quote_text
from lochan.store.open import StoreLocation
from lochan.versioning.uri import Uri

_VIEW = "lochan_files"


@dataclass(frozen=True)
class FileScanPlan:
    store: StoreLocation = field(repr=False)
    uri: Uri
    files: TableFiles
    scanned: bool  # whether Spark itself scans them

    @property
    def commit(self) -> str:
        return self.files.commit

    @property
    def kinds(self) -> Mapping[str, frozenset[str]]:
        """Returns none: filters leave out no files, because only their footers show what is in them."""
        return {}

    @property
    def schema_json(self) -> str:
        return from_arrow_schema(self.files.schema, prefer_timestamp_ntz=True).json()

    def where(self, filters: Sequence[Filter]) -> None:
        """Returns None: no test selects exactly some rows of files."""

    def as_json(self, metadata: Collection[str] = ()) -> dict[str, Any]:
        """Returns the plan in the same form as that of a pool. Raises Refused for the path of a file that is put
        together."""
        size = {
            "objects": len(self.files.entries),
            "rows": None,
            "bytes": sum(entry.size for entry in self.files.entries),
        }
        shared = {"identity": bool(metadata), "size": size, "settings": FRAME_MEANING}
        if self.scanned:
            files = hadoop_files(self.store)
            scan = {"scans": [self._scan(files)], "sql": self._sql(metadata)}
            return {**scan, **shared, "options": dict(files.options)}
        if metadata:
            raise Refused(
                f"{self.uri} has files that are put together for Spark, and they do not tell their paths",
                hint=f"read it without {', '.join(metadata)}",
            )
        return {"scans": [], "source": str(self.uri._replace(ref=self.commit)), **shared, "options": {}}

    def _scan(self, files: HadoopFiles) -> dict[str, Any]:
        found = [[files.path(entry.blocks[0].address), entry.size, entry.path] for entry in self.files.entries]
        return {"view": _VIEW, "schema": self.schema_json, "files": found}

    def _sql(self, metadata: Collection[str]) -> str:
        columns = [name_sql(name) for name in self.files.schema.names]
        if metadata:
            columns += [f"{name_sql(OBJECT)} AS {PATH_COLUMN}", f"{quote_text(self.commit)} AS {COMMIT_COLUMN}"]
        return f"SELECT {', '.join(columns)} FROM {_VIEW}"


async def file_scan_plan(at: QueryContext, uri: Uri, *, run: bool) -> FileScanPlan:
    """Plans a scan. With `run`, it will be carried out, so its files are checked. Raises NotFound, Invalid for files
    that do not make one table, Refused for a workspace, Gone, or Corrupt."""
    repository = await at.catalog.open_repository(uri.repository)
    try:
        files = await table_files(repository, uri, at.place)
        scanned = await can_spark_scan(repository, files)
    finally:
        await repository.close()
    if not files.commit:
        raise Refused(f"{uri}: a table of the catalog is read at a commit", hint="commit the workspace first")
    native = all(scanned) and not files.columns.schema.names
    if run and native:
        await check_objects(None, at, [stored_file(uri, entry) for entry in files.entries])
    return FileScanPlan(at.place, uri, files, native)
