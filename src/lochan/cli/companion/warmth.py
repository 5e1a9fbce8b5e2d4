"""Keeps the state that the commands of the companion start with: imported modules, and what was read of local lakes.

It starts no thread, because a fork would lose the thread with its locks held. So modules that start threads when they
are imported are left to the commands, and lakes are read as in `lochan.api.warm`. After each command, it imports and
reads what that command did."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

import click
import msgspec

from lochan import connection
from lochan.api.rehearsal import rehearse
from lochan.api.warm import ReadFiles, files_read, read_again
from lochan.cli.companion.memory import resident_bytes
from lochan.cli.root import cli
from lochan.warm import WarmLakes

# Imported at the start. What else a command needs is learned from that command.
_MODULES = (
    "asyncio",
    "logging",
    "lochan.api.lake",
    "lochan.cli.error_boundary",
    "lochan.cli.fs.read",
    "lochan.cli.history.log",
    "lochan.cli.output.record_stream",
    "lochan.cli.refs",
    "lochan.cli.session",
    "lochan.versioning.branches",
    "lochan.versioning.objects",
    "lochan.versioning.open_repository",
    "lochan.versioning.upkeep",
)
# The packages that start no thread when they are imported.
_PACKAGES = frozenset(
    (
        "_duckdb", "click", "duckdb", "lochan", "msgspec", "mypy_extensions", "numpy", "orjson", "pyarrow", "rich",
        "sqlglot", "yaml",
    )
)  # fmt: skip
_CYTHON = ("_cython_", "cython_runtime")  # modules without files, which modules written by Cython create
_BYTES_MAX = 512 << 20  # the memory above which everything that was read is forgotten


NO_NEWS = b"-"  # a command has ended, and used nothing that the companion does not have


class CommandTrace(NamedTuple):
    modules: list[str]
    lakes: list[ReadFiles]


class Warmth:
    def __init__(self) -> None:
        self.lakes = WarmLakes()
        self._loaded: set[str] = set()

    def load(self) -> None:
        from lochan.without_pandas import arrow_without_pandas

        arrow_without_pandas()
        for name in _MODULES:
            import_module(name)
        connection.warm = self.lakes
        self._settle()

    # --- in a command's process --------------------------------------------------------------------------------------
    def trace(self) -> bytes:
        """Returns what this command used that the companion does not have yet, which is mostly nothing."""
        # If the number of modules is the same, so are the modules. To compare their names would touch, and so copy,
        # many pages.
        modules = sorted(sys.modules.keys() - self._loaded) if len(sys.modules) != len(self._loaded) else []
        trace = CommandTrace(modules, files_read(self.lakes))
        return msgspec.msgpack.encode(trace) if trace.modules or trace.lakes else NO_NEWS

    # --- in the companion --------------------------------------------------------------------------------------------
    def follow(self, traced: bytes) -> Iterator[None]:
        """Imports and reads what that command did, as far as it can be kept. It does so step by step, because a front
        may be waiting."""
        trace = msgspec.msgpack.decode(traced, type=CommandTrace)
        yield from self._import(trace.modules)
        for read in trace.lakes:
            yield from read_again(self.lakes, read)
        if resident_bytes() > _BYTES_MAX:
            self.lakes.clear()
        self._settle()

    def _import(self, names: list[str]) -> Iterator[None]:
        roots = {name.partition(".")[0] for name in names if not name.startswith(_CYTHON)}
        if not all(root in _PACKAGES or root in sys.stdlib_module_names for root in roots):
            return  # one of them may start threads, and it is unknown which of the others import that one
        for name in names:
            if name not in sys.modules:
                with suppress(ImportError):
                    import_module(name)
                yield

    def _settle(self) -> None:
        rehearse()
        cli.prepare(click.Context(cli, help_option_names=["-h", "--help"]))
        self.lakes.settle()
        self._loaded = set(sys.modules)
        gc.collect()
        gc.freeze()  # otherwise, a collection in a command would touch, and so copy, all pages


def threads() -> int:
    """Returns the number of threads of this process, whatever has started them."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208
