"""The numbers among an object's texts as decimals, where one type holds all of them (pools/decimals.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pyarrow.parquet as pq

from lochan.engines.duckdb.load.sql import name_sql, type_sql
from lochan.engines.duckdb.session import Session
from lochan.pools.decimals import DIGITS_MAX, Column, DecimalColumn, column_name, text_columns
from lochan.pools.facts import ColumnFacts
from lochan.pools.layout import Layout
from lochan.pools.shape import DECIMAL


def decimal_columns(session: Session, rows: str, layout: Layout) -> tuple[DecimalColumn, ...]:
    """`rows` is what may stand behind FROM. What is left out has numbers that no such column holds."""
    texts = list(text_columns(layout))
    if not texts:
        return ()
    sizes = ", ".join(_sizes(_sql(text)) for text in texts)
    ((*found,),) = session.execute(f"SELECT {sizes} FROM {rows}")
    measured = (_column(text, *found[4 * at : 4 * at + 4]) for at, text in enumerate(texts))
    return tuple(each for each in measured if each.whole + each.scale <= DIGITS_MAX)


def decimal_sql(column: DecimalColumn) -> str:
    """The column, of the text's. It fails rather than to leave a number out."""
    text = _sql(column.text)
    return f"CASE WHEN {_is_number(text)} THEN CAST({text} AS {type_sql(column.type)}) END AS {name_sql(column.column)}"


def decimal_facts(file: File, columns: tuple[DecimalColumn, ...]) -> Iterator[ColumnFacts]:
    """They are the last columns of the file."""
    written = [each for each in columns if each.column]
    if not written:
        return
    metadata = pq.read_metadata(file)
    for number, each in enumerate(written, metadata.num_columns - len(written)):
        groups = [metadata.row_group(group).column(number).statistics for group in range(metadata.num_row_groups)]
        if any(told is None for told in groups):
            continue
        present = sum(told.num_values for told in groups)
        ends = [told for told in groups if told.num_values]
        if all(told.has_min_max for told in ends):
            low, high = min(told.min for told in ends), max(told.max for told in ends)
            yield ColumnFacts((each.column,), DECIMAL, present, f"{low:f}", f"{high:f}")


def _column(text: Column, count: int, numbers: int, whole: Any, scale: Any) -> DecimalColumn:
    if not numbers:
        return DecimalColumn(text, "")
    return DecimalColumn(text, column_name(text), int(whole), int(scale), count == numbers)


def _sizes(text: str) -> str:
    """How many texts and how many numbers there are, and how many digits these have on either side of the point; never
    too few. A power of ten moves the point. Texts that are no numbers may be long, and are not looked into."""
    number = f"CASE WHEN {_is_number(text)} THEN {text} END"
    power = f"coalesce(TRY_CAST(nullif(regexp_extract({number}, '[eE][+]?(-?[0-9]+)$', 1), '') AS BIGINT), 0)"
    digits = f"regexp_extract({number}, '^-?([0-9.]+)', 1)"
    whole = f"length(ltrim(split_part({digits}, '.', 1), '0')) + {power}"
    behind = f"length(rtrim(split_part({digits}, '.', 2), '0')) - {power}"
    return f"count({text}), count({number}), greatest(max({whole}), 0), greatest(max({behind}), 0)"


def _is_number(text: str) -> str:
    """Nothing else that begins a JSON value lies between these."""
    return f"{text} >= '-' AND {text} < ':'"


def _sql(column: Column) -> str:
    return ".".join(map(name_sql, column))
