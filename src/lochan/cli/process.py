"""Runs the command in this process: sets it up, and ends it."""

import gc
import io
import os
import sys
from collections.abc import Callable
from typing import NoReturn

_UNWRITTEN = 1  # the exit code of other failures of the system
_OBJECTS_BETWEEN_COLLECTIONS = 200_000  # a query makes half as many while it is imported, and hardly any garbage


def run(*, gains: bool = False) -> None:
    """Runs the command. `gains` means that a companion would have made it faster."""
    prepare()
    write_whole()
    try:
        command()
    except SystemExit as end:
        if gains:
            from lochan.cli.companion.start import start_if_due

            start_if_due()
        leave(end)


def prepare() -> None:
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    from lochan import without_pandas
    from lochan.store import scratch

    without_pandas.own_process = True
    scratch.own_process = True


def command() -> NoReturn:
    """Runs the command. Raises SystemExit when it has ended, and any other error if there is a bug."""
    _open_missing_streams()
    from lochan.cli.root import cli

    cli(prog_name="lochan")
    raise SystemExit


def write_whole() -> None:
    """Ensures that output is written in full. Without a buffer (PYTHONUNBUFFERED, which is usual in containers) Python
    writes as much as the pipe takes at once and returns that number, which is ignored: the rest would be lost
    silently."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), sys.stdout.encoding, sys.stdout.errors, line_buffering=True
        )


def leave(end: SystemExit) -> NoReturn:
    """Exits, but never while obstore's threads may still call Python. If one of them does so while Python is being
    finalized, the process aborts, whatever the command has printed; this was seen in a third of the runs on a busy
    machine. DuckDB would complain on stderr that it was not closed."""
    clean()
    if not is_written():
        leave_at_once(end.code if isinstance(end.code, int) else _UNWRITTEN)
    gc.freeze()  # or Python would search all imported modules once more, to no purpose; measured: 8 of 80 ms
    if sys.modules.keys().isdisjoint(("obstore", "duckdb")) or not isinstance(end.code, int | None):
        raise end
    leave_at_once(end.code or 0)


def clean() -> None:
    """Removes what the command has left in temporary folders."""
    from lochan.store import scratch

    scratch.remove()


def leave_at_once(code: int, last: Callable[[int], None] = lambda code: None) -> NoReturn:
    """Exits at once, without finalizing Python. `last` is called with the code when everything is written."""
    package = sys.modules.get("lochan.engines.spark.executors")
    if package is not None:
        package.remove()
    if "logging" in sys.modules:
        import logging

        logging.shutdown()
    if not is_written():
        code = code or _UNWRITTEN
    last(code)
    os._exit(code)


def is_written() -> bool:
    """Whether all output has left. Otherwise there is no room for it, and Python would complain once more and choose an
    exit code of its own."""
    done = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            done = False
    return done


def _open_missing_streams() -> None:
    """Opens standard streams that the caller has closed, on /dev/null. Otherwise, the next opened file would get their
    number, and output would be written into it."""
    for number, name, mode in (0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
