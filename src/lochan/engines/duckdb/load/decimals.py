"""The numbers among an object's texts as decimals, where one type holds all of them (pools/layout.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path as File

import pyarrow.parquet as pq

from lochan.engines.duckdb.load.sql import name_sql, type_sql
from lochan.engines.duckdb.session import DuckSession
from lochan.pools.facts import ColumnFacts
from lochan.pools.layout import DIGITS_MAX, Column, DecimalColumn, Layout, column_name, text_columns
from lochan.pools.shape import DECIMAL

_COLUMNS_AT_ONCE = 100


def decimal_columns(session: DuckSession, rows: str, layout: Layout) -> tuple[DecimalColumn, ...]:
    """`rows` is what may stand behind FROM. What is left out has numbers that no such column holds."""
    texts = list(text_columns(layout))
    counts = _asked(session, rows, texts, _counts)
    numbers = [text for text in texts if counts[text][1]]  # most often none, and to look at digits takes memory
    sizes = _asked(session, rows, numbers, _sizes)
    measured = (_column(text, *counts[text], *sizes.get(text, (0, 0))) for text in texts)
    return tuple(each for each in measured if each.whole + each.scale <= DIGITS_MAX)


def _asked(
    session: DuckSession, rows: str, texts: list[Column], what: Callable[[str], str]
) -> dict[Column, tuple[int, int]]:
    """Two numbers for each column."""
    found: dict[Column, tuple[int, int]] = {}
    for start in range(0, len(texts), _COLUMNS_AT_ONCE):
        some = texts[start : start + _COLUMNS_AT_ONCE]
        asked = ", ".join(what(_sql(text)) for text in some)
        ((*told,),) = session.execute(f"SELECT {asked} FROM {rows}")
        found.update((text, (int(told[2 * at]), int(told[2 * at + 1]))) for at, text in enumerate(some))
    return found


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


def _column(text: Column, count: int, numbers: int, whole: int, scale: int) -> DecimalColumn:
    if not numbers:
        return DecimalColumn(text, "")
    return DecimalColumn(text, column_name(text), whole, scale, count == numbers)


def _counts(text: str) -> str:
    """How many texts and how many numbers there are."""
    return f"count({text}), count(CASE WHEN {_is_number(text)} THEN 1 END)"


def _sizes(text: str) -> str:
    """How many digits the numbers have on either side of the point; never too few. A power of ten moves the point.
    Texts that are no numbers may be long, and are not looked into."""
    number = f"CASE WHEN {_is_number(text)} THEN {text} END"
    power = f"coalesce(TRY_CAST(nullif(regexp_extract({number}, '[eE][+]?(-?[0-9]+)$', 1), '') AS BIGINT), 0)"
    digits = f"regexp_extract({number}, '^-?([0-9.]+)', 1)"
    whole = f"length(ltrim(split_part({digits}, '.', 1), '0')) + {power}"
    behind = f"length(rtrim(split_part({digits}, '.', 2), '0')) - {power}"
    return f"greatest(max({whole}), 0), greatest(max({behind}), 0)"


def _is_number(text: str) -> str:
    """Nothing else that begins a JSON value lies between these."""
    return f"{text} >= '-' AND {text} < ':'"


def _sql(column: Column) -> str:
    return ".".join(map(name_sql, column))
