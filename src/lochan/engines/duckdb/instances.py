"""Instances of DuckDB: one for each piece of work, with limits and folders of its own. To open one takes 20 ms of the
processor, more than most queries of a small pool; so those of one lake's queries are kept for the next query that asks
for the same.

An instance is used by one session at a time, by a connection that is closed with it: what a query had named is gone.
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
        """What two wishes have in common that one instance can fulfil: the clock is the session's."""
        return self.limits._replace(seconds=None), self.folders, self.temp, self.ordered


class Instance:
    def __init__(self, wish: InstanceOptions) -> None:
        import duckdb  # here: who only knows of instances need not wait for it

        self.alike = wish.alike
        self.folder = make_folder(wish.temp)  # of this one alone, gone with it
        try:
            self.root = duckdb.connect(":memory:", config=_config(wish, self.folder))
            self.root.execute(_settings(None if wish.folders is None else [*wish.folders, self.folder]))
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def close(self) -> None:
        """May be called twice."""
        self.root.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def clear(self) -> None:
        """Of what was put there beside what DuckDB itself keeps: it makes its own folder once."""
        for path in Path(self.folder).iterdir():
            if path.name == _SPILL:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


class Instances:
    """For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Instance] = []
        self._closed = False

    def take(self, wish: InstanceOptions) -> Instance:
        with self._lock:
            for number, instance in enumerate(self._idle):
                if instance.alike == wish.alike:
                    return self._idle.pop(number)
        return Instance(wish)

    def give_back(self, instance: Instance) -> None:
        """REQUIRES: nothing of it is in use, and nothing has failed."""
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


def _config(wish: InstanceOptions, folder: str) -> dict[str, str | bool | int | float | list[str]]:
    limits = wish.limits
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "checkpoint_threshold": "1TB",  # nothing outlives the session: to pack its tables is as much as to fill them
        # It takes a member of a struct for another one where files have different members: an internal error of 2.0.0.
        "disabled_optimizers": "partial_aggregate_pushdown",
        "enable_external_file_cache": "false",  # the kernel has one
        "memory_limit": f"{limits.memory_bytes}B",
        "temp_directory": f"{folder}/{_SPILL}",
        "python_enable_replacements": "false",  # a table is what was registered, never a variable of this program
        "preserve_insertion_order": "true" if wish.ordered else "false",
    }
    if limits.threads is not None:
        config["threads"] = str(limits.threads)
    if limits.spill_bytes is not None:
        config["max_temp_directory_size"] = f"{limits.spill_bytes}B"
    return config


def _settings(folders: Sequence[str] | None) -> str:
    said = ["SET GLOBAL TimeZone = 'UTC'"]
    if folders is not None:
        listed = ", ".join(_quoted(folder.rstrip("/") + "/") for folder in folders)
        said += [f"SET allowed_directories = [{listed}]", "SET enable_external_access = false"]
    return "; ".join([*said, "SET lock_configuration = true"])


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
