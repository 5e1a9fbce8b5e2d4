"""The entry point of the `lochan` command. The command itself is in `root.py`."""

import gc
import io
import os
import sys
from typing import NoReturn

_OBJECTS_BETWEEN_COLLECTIONS = 200_000  # a query makes half as many while it is imported, and next to no litter


def main() -> None:
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    from lochan import without_pandas
    from lochan.cli.root import cli
    from lochan.store import scratch

    without_pandas.own_process = True
    scratch.own_process = True
    _write_whole()
    try:
        cli(prog_name="lochan")
    except SystemExit as end:
        _leave(end)


def _write_whole() -> None:
    """Without a buffer (PYTHONUNBUFFERED, which is usual in containers) Python writes as much of an answer as the pipe
    takes at once, says how much that was, and nobody asks: the rest would be lost without a word."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), sys.stdout.encoding, sys.stdout.errors, line_buffering=True
        )


def _leave(end: SystemExit) -> NoReturn:
    """Exit, but never while obstore's threads may still ask for Python. Where one does so while Python is being taken
    down the process aborts, whatever the command had answered: seen in a third of the runs on a busy machine. DuckDB
    would complain on stderr that nothing of it was taken down."""
    from lochan.store import scratch

    scratch.remove()
    gc.freeze()  # or Python would go through all that was imported once more, to no end; measured: 8 of 80 ms
    if sys.modules.keys().isdisjoint(("obstore", "duckdb")) or not isinstance(end.code, int | None):
        raise end
    package = sys.modules.get("lochan.engines.spark.executors")
    if package is not None:
        package.remove()
    if "logging" in sys.modules:
        import logging

        logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(end.code or 0)
