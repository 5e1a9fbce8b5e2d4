"""Rows of a pool with their places, and the changes to them that tasks carry out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, Union

from pyspark.sql import functions

from lochan.api.spark_tasks import CHANGE_COLUMNS, DELETE, INSERT, UPDATE
from lochan.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

Condition: TypeAlias = Union[str, "Column"]
Value: TypeAlias = Union[str, "Column"]
Values = Mapping[str, "Column"]  # by the columns of the table
OBJECT, ROW = "_object", "_row"
_METADATA = ("_commit", OBJECT, ROW)


class TableRows:
    """The rows of a table. `rows` has the columns of the table, `_commit`, `_object` and `_row`."""

    def __init__(self, rows: DataFrame) -> None:
        self.rows = rows
        self.types: dict[str, DataType] = {
            each.name: each.dataType for each in rows.schema.fields if each.name not in _METADATA
        }

    def assigned(self, values: Mapping[str, Value]) -> dict[str, Column]:
        """Returns the new values, cast to their columns' types. Raises Invalid for a column that the table does not
        have."""
        for name in values:
            if name not in self.types:
                raise Invalid(f"the table has no column {name!r}", hint=f"it has {', '.join(self.types)}")
        return {name: column_of(value).cast(self.types[name]) for name, value in values.items()}

    def deleted(self, rows: DataFrame) -> DataFrame:
        control = change_columns(DELETE, functions.col(OBJECT), functions.col(ROW), none_changed())
        return rows.select(*control)

    def updated(self, rows: DataFrame, values: Values) -> DataFrame:
        names = list(values)
        fields = changed_fields({names.index(name): (column_named(name), value) for name, value in values.items()})
        control = change_columns(UPDATE, functions.col(OBJECT), functions.col(ROW), fields)
        return rows.select(*control, *(value.alias(name) for name, value in values.items()))


def change_columns(operation: int | Column, object: Column, row: Column, fields: Column) -> list[Column]:
    """Returns the columns in front of the values of a change."""
    code = functions.lit(operation) if isinstance(operation, int) else operation
    columns = (code.cast("int"), object.cast("string"), row.cast("bigint"), fields.cast("array<int>"))
    return [column.alias(name) for column, name in zip(columns, CHANGE_COLUMNS, strict=True)]


def changed_fields(values: Mapping[int, tuple[Column, Column]]) -> Column:
    """Returns the numbers of the columns whose new value differs from the old one."""
    marks = [
        functions.when(~old.eqNullSafe(new), functions.lit(number)).otherwise(functions.lit(None).cast("int"))
        for number, (old, new) in values.items()
    ]
    return functions.filter(functions.array(*marks), lambda each: each.isNotNull())


def none_changed() -> Column:
    return functions.lit(None).cast("array<int>")


def column_of(given: Condition) -> Column:
    return functions.expr(given) if isinstance(given, str) else given


def column_named(name: str, table: str = "") -> Column:
    quoted = "`" + name.replace("`", "``") + "`"
    return functions.col(f"{table}.{quoted}" if table else quoted)


__all__ = ["DELETE", "INSERT", "UPDATE", "Condition", "TableRows", "Value", "change_columns", "changed_fields"]
