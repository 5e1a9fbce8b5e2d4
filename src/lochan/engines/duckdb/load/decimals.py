"""Columns of decimals for the numbers among an object's texts, if one type holds all of them (pools/layout.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path as File

import pyarrow.parquet as pq

from lochan.engines.duckdb.load.sql import name_sql, type_sql
from lochan.engines.duckdb.session import DuckSession
from lochan.pools.facts import ColumnFacts
from lochan.pools.kinds import DECIMAL
from lochan.pools.layout import DIGITS_MAX, Column, DecimalColumn, Layout, column_name, text_columns

_COLUMNS_AT_ONCE = 100


def decimal_columns(session: DuckSession, rows: str, layout: Layout) -> tuple[DecimalColumn, ...]:
    """Returns the columns of decimals. `rows` is the text after FROM. Columns of text with numbers that no decimal
    holds are left out."""
    texts = list(text_columns(layout))
    counts = _measure(session, rows, texts, _counts)
    numbers = [text for text in texts if counts[text][1]]  # there are usually none, and counting digits takes memory
    sizes = _measure(session, rows, numbers, _sizes)
    measured = (_column(text, *counts[text], *sizes.get(text, (0, 0))) for text in texts)
    return tuple(each for each in measured if each.whole + each.scale <= DIGITS_MAX)


def _measure(
    session: DuckSession, rows: str, texts: list[Column], what: Callable[[str], str]
) -> dict[Column, tuple[int, int]]:
    """Returns two numbers for each column."""
    found: dict[Column, tuple[int, int]] = {}
    for start in range(0, len(texts), _COLUMNS_AT_ONCE):
        some = texts[start : start + _COLUMNS_AT_ONCE]
        selected = ", ".join(what(_sql(text)) for text in some)
        ((*stats,),) = session.execute(f"SELECT {selected} FROM {rows}")
        found.update((text, (int(stats[2 * at]), int(stats[2 * at + 1]))) for at, text in enumerate(some))
    return found


def decimal_sql(column: DecimalColumn) -> str:
    """Returns the SQL of the column. The query fails if a number does not fit."""
    text = _sql(column.text)
    return f"CASE WHEN {_is_number(text)} THEN CAST({text} AS {type_sql(column.type)}) END AS {name_sql(column.column)}"


def decimal_facts(file: File, columns: tuple[DecimalColumn, ...]) -> Iterator[ColumnFacts]:
    """Yields the statistics of these columns, which are the last ones of the file."""
    written = [each for each in columns if each.column]
    if not written:
        return
    metadata = pq.read_metadata(file)
    for number, each in enumerate(written, metadata.num_columns - len(written)):
        groups = [metadata.row_group(group).column(number).statistics for group in range(metadata.num_row_groups)]
        if any(stats is None for stats in groups):
            continue
        present = sum(stats.num_values for stats in groups)
        ends = [stats for stats in groups if stats.num_values]
        if all(stats.has_min_max for stats in ends):
            low, high = min(stats.min for stats in ends), max(stats.max for stats in ends)
            yield ColumnFacts((each.column,), DECIMAL, present, f"{low:f}", f"{high:f}")


def _column(text: Column, count: int, numbers: int, whole: int, scale: int) -> DecimalColumn:
    if not numbers:
        return DecimalColumn(text, "")
    return DecimalColumn(text, column_name(text), whole, scale, count == numbers)


def _counts(text: str) -> str:
    """Returns the SQL that counts the texts and the numbers."""
    return f"count({text}), count(CASE WHEN {_is_number(text)} THEN 1 END)"


def _sizes(text: str) -> str:
    """Returns the SQL for the greatest number of digits before and after the point, or more. A power of ten moves the
    point. It skips other texts, which may be long."""
    number = f"CASE WHEN {_is_number(text)} THEN {text} END"
    power = f"coalesce(TRY_CAST(nullif(regexp_extract({number}, '[eE][+]?(-?[0-9]+)$', 1), '') AS BIGINT), 0)"
    digits = f"regexp_extract({number}, '^-?([0-9.]+)', 1)"
    whole = f"length(ltrim(split_part({digits}, '.', 1), '0')) + {power}"
    behind = f"length(rtrim(split_part({digits}, '.', 2), '0')) - {power}"
    return f"greatest(max({whole}), 0), greatest(max({behind}), 0)"


def _is_number(text: str) -> str:
    """Returns the SQL that tests whether the JSON value is a number: no other value begins with a character between
    these."""
    return f"{text} >= '-' AND {text} < ':'"


def _sql(column: Column) -> str:
    return ".".join(map(name_sql, column))
