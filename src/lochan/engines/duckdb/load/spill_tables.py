"""Tables of the session that hold no more rows than memory should: what they held before lies beside them in files.

DuckDB itself moves a table that grows out of memory to the disk, but for a tenth of it, which it holds on to: ten times
as much as it may use is too much. The files are in the order of the key, so that whoever asks for a range of it reads
but a part of each.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lochan.engines.duckdb.load.sql import text_sql
from lochan.engines.duckdb.session import DuckSession

_SHARE = 2  # of the memory, half: to sort the rows takes as much again
_ROW_GROUP_ROWS = 40_960  # a range begins and ends within one of each file


class Aside:
    def __init__(self, session: DuckSession) -> None:
        self._session = session
        self._bytes_max = session.limits.memory_bytes // _SHARE
        self._held: dict[str, int] = {}  # by the table's name: how long its rows were as text
        self._files: dict[str, list[Path]] = {}

    def grown(self, table: str, size: int, by: Callable[[], list[str]]) -> bool:
        """Whether all its rows were put aside. `by`: terms of an order that whoever reads them will ask for."""
        self._held[table] = self._held.get(table, 0) + size
        if self._held[table] < self._bytes_max:
            return False
        files = self._files.setdefault(table, [])
        file = Path(self._session.folder) / f"{table}-{len(files)}.parquet"
        terms = by()
        order = f" ORDER BY {', '.join(terms)}" if terms else ""
        self._session.execute(
            f"COPY (SELECT * FROM {table}{order}) TO {text_sql(str(file))} "
            f"(FORMAT parquet, COMPRESSION lz4, ROW_GROUP_SIZE {_ROW_GROUP_ROWS})"
        )
        files.append(file)
        self._session.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM {table} WHERE false")
        self._held[table] = 0
        return True

    def whole(self, table: str) -> str:
        """What has all of its rows: the name of a table or a view. To be asked when no more will come."""
        files = self._files.get(table)
        if not files:
            return table
        listed = ", ".join(text_sql(str(file)) for file in files)
        self._session.execute(
            f"CREATE OR REPLACE TEMP VIEW {table}_whole AS "
            f"SELECT * FROM read_parquet([{listed}]) UNION ALL SELECT * FROM {table}"
        )
        return f"{table}_whole"
