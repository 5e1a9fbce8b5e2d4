"""The commit that a frame was read at. The frame carries it, so that an overwrite can find what has come since:

in the metadata of its columns    which stays with a column that is passed on unchanged, and reaches the data source's
                                  writer
in its plan                       as the name of the view that it was read by, in spite of any operations on the rows"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

MARK = "lochan.read"  # in a column's metadata
_VIEW = re.compile(rb"lochan_[0-9]+_at_([0-9a-f]+)_([0-9a-f]{64})")


class Origin(NamedTuple):
    repository: str  # the id of the repository, which no other lake has
    commit: str

    @property
    def view(self) -> str:
        """The name of a view of its rows, after a number. It is in lower case, because it is made under one setting of
        case sensitivity, and may be looked up under another."""
        return f"at_{self.repository.encode().hex()}_{self.commit}"


def mark_frame(frame: DataFrame, names: Sequence[str], origin: Origin) -> DataFrame:
    from pyspark.sql import functions

    from lochan.query.dialects.spark_words import name_sql

    metadata = _metadata(origin)
    return frame.select(*(functions.col(name_sql(name)).alias(name, metadata=metadata) for name in names))


def marked_schema(schema: StructType, origin: Origin) -> StructType:
    from pyspark.sql.types import StructField, StructType

    metadata = _metadata(origin)
    return StructType([StructField(each.name, each.dataType, each.nullable, metadata) for each in schema.fields])


def origins_in(schema: StructType) -> frozenset[Origin]:
    found = (each.metadata.get(MARK, "").partition("@") for each in schema.fields if each.metadata)
    return frozenset(Origin(repository, commit) for repository, _, commit in found if commit)


def origins_of(frame: DataFrame) -> frozenset[Origin]:
    named = [
        Origin(bytes.fromhex(repository.decode()).decode(), commit.decode())
        for repository, commit in _VIEW.findall(_plan(frame))
    ]
    return origins_in(frame.schema) | frozenset(named)


def _metadata(origin: Origin) -> dict[str, Any]:
    return {MARK: f"{origin.repository}@{origin.commit}"}


def _plan(frame: Any) -> bytes:
    """Returns the plan as the user made it. The plan that Spark runs has no names of views."""
    if hasattr(frame, "_jdf"):
        return bytes(frame._jdf.queryExecution().analyzed().toString(), "utf-8", "replace")
    return bytes(frame._plan.to_proto(frame._session.client).SerializeToString())
