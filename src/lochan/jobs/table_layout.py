"""The layout of a table of files for a write: its partitions, and whether columns may be added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lochan.errors import Invalid, NotFound
from lochan.jobs.partitions import check_partitions
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uri import Uri

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from lochan.store.open import StoreLocation


class TableLayout(NamedTuple):
    partition_by: tuple[str, ...] = ()
    merge_schema: bool = True  # whether columns may be new to the table
    schema: StructType | None = None  # the schema of the rows; None if it is not known, and nothing is checked

    def check_is_pool(self, uri: Uri) -> None:
        """Raises Invalid for options that a pool does not have."""
        if self.partition_by:
            raise Invalid(f"{uri.repository} is a pool: it is sorted by its key, and has no partitions")
        if not self.merge_schema:
            raise Invalid(f"{uri.repository} is a pool: it takes rows of any shape", hint="leave mergeSchema out")

    async def check(self, repository: OpenRepository, uri: Uri, place: StoreLocation) -> None:
        """Checks the rows for a table of files. Raises Invalid."""
        if self.schema is None:
            return
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(self.schema)
        check_partitions(schema, self.partition_by)
        if not self.merge_schema:
            await _check_columns(repository, uri, place, schema)


async def _check_columns(repository: OpenRepository, uri: Uri, place: StoreLocation, schema: pa.Schema) -> None:
    from lochan.engines.spark.frames.table_files import table_files

    try:
        table = (await table_files(repository, uri, place)).schema
    except NotFound:
        return  # the first rows define its columns
    new = next((name for name in schema.names if name not in table.names), None)
    if new is not None:
        raise Invalid(f"{uri} has no column {new!r}", hint="allow it with mergeSchema=true, or leave the column out")


NO_LAYOUT = TableLayout()
