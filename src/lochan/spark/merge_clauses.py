"""The clauses of a merge, and the changes that they make to a table from a source.

Table and source are joined once. The first clause whose condition is true decides what happens to a row; if there is
none, the row stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pyspark.sql import functions

from lochan.errors import Invalid
from lochan.spark.table_changes import (
    DELETE,
    INSERT,
    OBJECT,
    ROW,
    UPDATE,
    Condition,
    TableRows,
    Value,
    change_columns,
    changed_fields,
    column_named,
    column_of,
    none_changed,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MergeAction: TypeAlias = str | Mapping[str, Value]
_TARGET, _SOURCE = "target", "source"
_HERE = "#source"  # true for rows that have a source
_CLAUSE = "#clause"
_ACTIONS = {
    "matched": ("update", "delete"),
    "not_matched": ("insert",),
    "not_matched_by_source": ("delete",),
}


class Clause(NamedTuple):
    kind: str  # matched, not_matched, not_matched_by_source
    condition: Condition
    action: MergeAction

    @property
    def operation(self) -> int:
        if self.action == "delete":
            return DELETE
        return INSERT if self.kind == "not_matched" else UPDATE


def clauses_of(kind: str, given: MergeAction | Sequence[tuple[Condition, MergeAction]]) -> Iterator[Clause]:
    """Yields the clauses. Raises Invalid for an action that does not exist."""
    pairs = [("true", given)] if isinstance(given, str | Mapping) else given
    for condition, action in pairs:
        if isinstance(action, str) and action not in _ACTIONS[kind]:
            there = " or ".join(map(repr, _ACTIONS[kind]))
            more = "" if kind == "not_matched_by_source" else ", or values by their columns"
            raise Invalid(f"when_{kind}={action!r}: there is no such action", hint=f"say {there}{more}")
        yield Clause(kind, condition, action)


def merged_rows(
    table: TableRows, source: DataFrame, on: Condition | Sequence[str], clauses: Sequence[Clause]
) -> DataFrame:
    """Returns the changes. Raises Invalid if there is no clause, or if a column does not exist."""
    if not clauses:
        raise Invalid("a merge needs an action", hint="say when_matched, when_not_matched or both")
    joined = _join(table, source, on)
    values = [_values(table, source, each) for each in clauses]
    names = list(dict.fromkeys([name for each in values for name in each]))
    chosen = joined.withColumn(_CLAUSE, _choose_clause(clauses)).where(column_named(_CLAUSE).isNotNull())
    is_new = _among([number for number, each in enumerate(clauses) if each.operation == INSERT])
    control = change_columns(
        _by_clause([functions.lit(each.operation) for each in clauses]),
        functions.when(~is_new, column_named(OBJECT, _TARGET)),
        functions.when(~is_new, column_named(ROW, _TARGET)),
        _by_clause([_fields(table, each, names, made) for each, made in zip(clauses, values, strict=True)]),
    )
    columns = [_column(name, values).alias(name) for name in names]
    return chosen.select(*control, *columns)


def _join(table: TableRows, source: DataFrame, on: Condition | Sequence[str]) -> DataFrame:
    left = table.rows.alias(_TARGET)
    right = source.withColumn(_HERE, functions.lit(True)).alias(_SOURCE)
    if isinstance(on, Sequence) and not isinstance(on, str):
        pairs = [column_named(name, _TARGET) == column_named(name, _SOURCE) for name in on]
        return left.join(right, reduce(lambda a, b: a & b, pairs), "full_outer")
    return left.join(right, column_of(on), "full_outer")


def _choose_clause(clauses: Sequence[Clause]) -> Column:
    """Returns the number of the first clause that holds."""
    matched, fresh = column_named(OBJECT, _TARGET).isNotNull(), column_named(OBJECT, _TARGET).isNull()
    has_source = column_named(_HERE, _SOURCE).isNotNull()
    tests = {"matched": matched & has_source, "not_matched": fresh, "not_matched_by_source": matched & ~has_source}
    made = [
        functions.when(tests[each.kind] & column_of(each.condition), functions.lit(number))
        for number, each in enumerate(clauses)
    ]
    return functions.coalesce(*made)


def _values(table: TableRows, source: DataFrame, clause: Clause) -> dict[str, Column]:
    """Returns the new values by column. Raises Invalid."""
    if clause.action == "delete":
        return {}
    if isinstance(clause.action, Mapping):
        return table.assigned(clause.action)
    return {name: _cast(table, name, column_named(name, _SOURCE)) for name in source.columns}


def _cast(table: TableRows, name: str, value: Column) -> Column:
    """Casts a value to the type of its column. A pool accepts new fields, which are not cast."""
    return value.cast(table.types[name]) if name in table.types else value


def _fields(table: TableRows, clause: Clause, names: Sequence[str], values: Mapping[str, Column]) -> Column:
    if clause.operation != UPDATE:
        return none_changed()
    none = functions.lit(None)
    return changed_fields(
        {
            names.index(name): (column_named(name, _TARGET) if name in table.types else none, value)
            for name, value in values.items()
        }
    )


def _column(name: str, values: Sequence[Mapping[str, Column]]) -> Column:
    return _by_clause([each.get(name, functions.lit(None)) for each in values])


def _by_clause(columns: Sequence[Column]) -> Column:
    made = [functions.when(column_named(_CLAUSE) == number, column) for number, column in enumerate(columns)]
    return functions.coalesce(*made)


def _among(numbers: Sequence[int]) -> Column:
    return column_named(_CLAUSE).isin(*numbers) if numbers else functions.lit(False)
