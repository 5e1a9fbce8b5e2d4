"""Instances of DuckDB, each with its own limits and folders. Opening one takes 20 ms of processor time, more than most
queries of a small pool, so instances are kept for the next query of the lake with the same options.

One session uses an instance at a time, by a connection that it closes, so that nothing remains of a query.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from lochan.engines.duckdb.limits import Limits
from lochan.store.scratch import make_folder

_IDLE_MAX = 2
_SPILL = "spill"


class InstanceOptions(NamedTuple):
    limits: Limits
    folders: tuple[str, ...] | None  # only files in these can be opened; None: any
    temp: str | None = None
    ordered: bool = True

    @property
    def alike(self) -> tuple[object, ...]:
        """Equal for options that one instance can serve. The time limit is the session's."""
        return self.limits._replace(seconds=None), self.folders, self.temp, self.ordered


class Instance:
    def __init__(self, options: InstanceOptions) -> None:
        import duckdb  # lazily: most users of this module need no instance

        self.alike = options.alike
        self.folder = make_folder(options.temp)  # its own, removed with it
        try:
            self.root = duckdb.connect(":memory:", config=_config(options, self.folder))
            self.root.execute(_settings(None if options.folders is None else [*options.folders, self.folder]))
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def close(self) -> None:
        """May be called twice."""
        self.root.close()
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
    """May be used by any thread."""

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
        """REQUIRES: it is not in use, and nothing has failed."""
        with suppress(OSError):
            instance.clear()
        with self._lock:
            self._idle.append(instance)
            surplus = len(self._idle) - (0 if self._closed else _IDLE_MAX)
            dropped = [self._idle.pop(0) for _ in range(surplus)]
        for each in dropped:
            each.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for instance in idle:
            instance.close()


def _config(options: InstanceOptions, folder: str) -> dict[str, str | bool | int | float | list[str]]:
    limits = options.limits
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "checkpoint_threshold": "1TB",  # nothing outlives the session: a checkpoint would be wasted work
        # It confuses members of a struct if files have different members: an internal error of 2.0.0.
        "disabled_optimizers": "partial_aggregate_pushdown",
        "enable_external_file_cache": "false",  # the kernel has one
        "memory_limit": f"{limits.memory_bytes}B",
        "temp_directory": f"{folder}/{_SPILL}",
        "python_enable_replacements": "false",  # tables are those that were registered, never Python variables
        "preserve_insertion_order": "true" if options.ordered else "false",
    }
    if limits.threads is not None:
        config["threads"] = str(limits.threads)
    if limits.spill_bytes is not None:
        config["max_temp_directory_size"] = f"{limits.spill_bytes}B"
    return config


def _settings(folders: Sequence[str] | None) -> str:
    statements = ["SET GLOBAL TimeZone = 'UTC'"]
    if folders is not None:
        listed = ", ".join(_quoted(folder.rstrip("/") + "/") for folder in folders)
        statements += [f"SET allowed_directories = [{listed}]", "SET enable_external_access = false"]
    return "; ".join([*statements, "SET lock_configuration = true"])


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
