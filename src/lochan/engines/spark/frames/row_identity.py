"""The place of each row of a pool, as columns of its plan: the data object, and the number of the row there."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

# The names in the plan. No column of a data object, and no other column of a plan, has such a name.
OBJECT, ROW = "#object", "#row"
# The names in a table. A field of the rows with such a name is read instead.
OBJECT_COLUMN, ROW_COLUMN, COMMIT_COLUMN, PATH_COLUMN = "_object", "_row", "_commit", "_path"
METADATA_COLUMNS = (COMMIT_COLUMN, OBJECT_COLUMN, ROW_COLUMN)  # the columns of a pool
BEFORE_COLUMN = "_before"  # the row before a statement that changes it
_TYPES = {OBJECT: "TEXT", ROW: "BIGINT"}


def with_identity(query: exp.Query) -> exp.Query:
    """Returns the query of a plain read, whose scans have the two columns, with the two as its last columns."""
    made = query.copy()
    _extend(made)
    return made


def _extend(query: Any) -> None:
    if isinstance(query, exp.SetOperation):
        _extend(query.this)
        _extend(query.expression)
        return
    assert isinstance(query, exp.Select), f"{type(query).__name__}: a plain read only selects"
    source = query.args.get("from_")
    if source is None:  # there are no rows
        columns = [exp.cast(exp.Null(), type).as_(name, quoted=True) for name, type in _TYPES.items()]
    else:
        if isinstance(source.this, exp.Subquery):
            _extend(source.this.this)
        table = source.this.alias_or_name
        columns = [exp.column(name, table=table, quoted=True).as_(name, quoted=True) for name in _TYPES]
    query.select(*columns, copy=False)
