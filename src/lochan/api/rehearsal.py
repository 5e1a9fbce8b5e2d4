"""Work that takes long the first time only, done in advance by a process that forks for each command: types that
msgspec inspects, tables that sqlglot makes of its classes, an instance of DuckDB. It starts no thread, and reads
neither the caller's environment nor a lake."""

import os
import sys
from pathlib import Path


def rehearse() -> None:
    """Rehearses each module once, if it was imported."""
    for module, rehearsal in _REHEARSALS.items():
        if module in sys.modules and module not in _done:
            _done.add(module)
            rehearsal()


def rehearse_again() -> None:
    """Replaces what a command of this process has used up."""
    if "lochan.engines.duckdb.session" in _done:
        from lochan.engines.duckdb.instances import close_left

        close_left()
        _rehearse_engine()


def _rehearse_configuration() -> None:
    from lochan.config.load import load

    load(env={}, cwd=Path("/"), home=Path("/"))


def _rehearse_query_text() -> None:
    from sqlglot import exp

    from lochan.query.dialects import render

    render(exp.select("1"), "duckdb")


def _rehearse_engine() -> None:
    from lochan.engines.duckdb.instances import close_spare, open_spare

    before = _count_threads()
    open_spare()
    if _count_threads() != before:  # another release of DuckDB: each query then opens its own instance
        close_spare()


def _count_threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - pathlib has no count


_REHEARSALS = {
    "lochan.config.load": _rehearse_configuration,
    "lochan.query.dialects.duckdb": _rehearse_query_text,
    "lochan.engines.duckdb.session": _rehearse_engine,
}
_done: set[str] = set()
