"""Instances of DuckDB, each with its own limits and folders. Opening one takes 20 ms of processor time, more than most
queries of a small pool, so instances are kept for the next query of the lake with the same options.

One session uses an instance at a time, by a connection that it closes, so that nothing remains of a query.

A process that forks can open one in advance (`open_spare`), without threads and without limits. The first query of a
child takes it, and sets the options with which it would have opened one."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lochan.engines.duckdb.limits import Limits
from lochan.store import scratch

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_IDLE_MAX = 2
_SPILL = "spill"
_ALWAYS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "checkpoint_threshold": "1TB",  # nothing outlives the session: a checkpoint would be wasted work
    # It confuses members of a struct if files have different members: an internal error of 2.0.0.
    "disabled_optimizers": "partial_aggregate_pushdown",
    "enable_external_file_cache": "false",  # the kernel has a cache of its own
    "python_enable_replacements": "false",  # tables are those that were registered, never Python variables
}
_TIME_ZONE = "SET GLOBAL TimeZone = 'UTC'"
_WITHOUT_THREADS = {"threads": "1", "async_threads": "0"}  # the caller's own thread does the work
_spare: DuckDBPyConnection | None = None
_left: list[DuckDBPyConnection] = []


class InstanceOptions(NamedTuple):
    limits: Limits
    folders: tuple[str, ...] | None  # only files in these can be opened; None allows all files
    temp: str | None = None
    ordered: bool = True
    alone: bool = False  # whether the caller's own thread does all the work, and none is started

    @property
    def alike(self) -> tuple[object, ...]:
        """A value that is equal for options that one instance can serve. The time limit belongs to the session."""
        return self.limits._replace(seconds=None), self.folders, self.temp, self.ordered, self.alone


class Instance:
    def __init__(self, options: InstanceOptions) -> None:
        import duckdb  # lazily: most users of this module need no instance

        self.alike = options.alike
        self.folder = scratch.make_folder(options.temp)  # a folder of its own, which is removed with it
        chosen = _settings(options, self.folder)
        try:
            spare = _take_spare()
            self.root = duckdb.connect(":memory:", config={**_ALWAYS, **chosen}) if spare is None else spare
            begun = [_TIME_ZONE] if spare is None else _changes(chosen)
            allowed = None if options.folders is None else [*options.folders, self.folder]
            self.root.execute("; ".join([*begun, *_restrictions(allowed)]))
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def close(self) -> None:
        """Closes the database and removes its folder. Calling it again does nothing."""
        self.root.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def leave(self) -> None:
        """Removes the folder, in a process that ends now. Closing DuckDB as well would take a tenth of the time of a
        small query."""
        _left.append(self.root)
        shutil.rmtree(self.folder, ignore_errors=True)

    def clear(self) -> None:
        """Removes files from the folder, except for DuckDB's own folder, which it creates only once."""
        for path in Path(self.folder).iterdir():
            if path.name == _SPILL:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


class Instances:
    """A pool of instances, for use by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Instance] = []
        self._closed = False

    def take(self, options: InstanceOptions) -> Instance:
        with self._lock:
            for number, instance in enumerate(self._idle):
                if instance.alike == options.alike:
                    return self._idle.pop(number)
        return Instance(options)

    def give_back(self, instance: Instance) -> None:
        """Takes an instance back. REQUIRES: it is not in use, and nothing has failed."""
        with suppress(OSError):
            instance.clear()
        with self._lock:
            self._idle.append(instance)
            surplus = len(self._idle) - (0 if self._closed else _IDLE_MAX)
            dropped = [self._idle.pop(0) for _ in range(surplus)]
        for each in dropped:
            self._end(each)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for instance in idle:
            self._end(instance)

    def _end(self, instance: Instance) -> None:
        """Closes an instance, or leaves it open if the process ends now: a command closes its lake when it ends."""
        if self._closed and scratch.own_process:
            instance.leave()
        else:
            instance.close()


def open_spare() -> None:
    """Opens the spare instance, without starting a thread. REQUIRES: this process runs no query itself."""
    import duckdb

    global _spare
    if _spare is None:
        _spare = duckdb.connect(":memory:", config={**_ALWAYS, **_WITHOUT_THREADS})
        _spare.execute(_TIME_ZONE)
        _spare.sql("SELECT 1").to_arrow_reader().read_all()  # this sets up what the first query needs


def close_left() -> None:
    """Closes the instances that were left open by a command of this process, which has not ended after all."""
    while _left:
        _left.pop().close()


def close_spare() -> None:
    spare = _take_spare()
    if spare is not None:
        spare.close()


def _take_spare() -> DuckDBPyConnection | None:
    global _spare
    spare, _spare = _spare, None
    return spare


def _settings(options: InstanceOptions, folder: str) -> dict[str, str]:
    limits = options.limits
    chosen = {
        "memory_limit": f"{limits.memory_bytes}B",
        "temp_directory": f"{folder}/{_SPILL}",
    }
    if not options.ordered:
        chosen["preserve_insertion_order"] = "false"
    if options.alone:
        chosen |= _WITHOUT_THREADS
    elif limits.threads is not None:
        chosen["threads"] = str(limits.threads)
    if limits.spill_bytes is not None:
        chosen["max_temp_directory_size"] = f"{limits.spill_bytes}B"
    return chosen


def _changes(chosen: dict[str, str]) -> list[str]:
    """Returns the statements that give an instance without threads these options."""
    defaults = [f"RESET GLOBAL {name}" for name in _WITHOUT_THREADS if name not in chosen]
    others = {name: value for name, value in chosen.items() if _WITHOUT_THREADS.get(name) != value}
    return [*defaults, *(f"SET GLOBAL {name} = {_quote(value)}" for name, value in others.items())]


def _restrictions(folders: Sequence[str] | None) -> list[str]:
    lock = "SET lock_configuration = true"
    if folders is None:
        return [lock]
    listed = ", ".join(_quote(folder.rstrip("/") + "/") for folder in folders)
    return [f"SET allowed_directories = [{listed}]", "SET enable_external_access = false", lock]


def _quote(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
