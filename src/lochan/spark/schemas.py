"""What of a frame's columns a pool or a file can keep: said before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lochan.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

# By name, for not every Spark that we run on has all of these.
_NOT_KEPT = {
    "CalendarIntervalType": "an interval of months and days",
    "YearMonthIntervalType": "an interval of months",
    "VariantType": "a variant",
    "GeometryType": "a geometry",
    "GeographyType": "a geography",
}


def check_schema(schema: StructType) -> None:
    """Raises Invalid."""
    if not schema.fields:
        raise Invalid("the frame has no columns", hint="nothing was written")
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise Invalid(f"the column {twice[0]!r} comes twice", hint="nothing was written; give each its own name")
    for path, type in _types("", schema):
        what = _NOT_KEPT.get(type.__class__.__name__)
        if what is not None:
            raise Invalid(f"the column {path} holds {what}, which no row can keep", hint="cast it, or leave it out")


def _types(path: str, type: DataType) -> Iterator[tuple[str, DataType]]:
    """Of all columns, and what is inside of them."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if path:
        yield path, type
    if isinstance(type, StructType):
        for field in type.fields:
            yield from _types(f"{path}.{field.name}" if path else field.name, field.dataType)
    elif isinstance(type, ArrayType):
        yield from _types(path, type.elementType)
    elif isinstance(type, MapType):
        yield from _types(path, type.keyType)
        yield from _types(path, type.valueType)
