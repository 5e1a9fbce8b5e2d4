"""A folder for files that one query makes for itself. It is there once it is asked for, and gone when it is closed."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable

from lochan.engines.duckdb.limits import Limits
from lochan.pools.snapshot import Snapshot
from lochan.query.sources.resolve import CheckPaths
from lochan.store.scratch import make_folder
from lochan.versioning.open_repository import OpenRepository


class Workplace:
    def __init__(self) -> None:
        self.folders: list[str] = []

    def folder(self) -> str:
        """A new one."""
        self.folders.append(make_folder())
        return self.folders[-1]

    def close(self) -> None:
        """May be called twice."""
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def reader(self, limits: Limits) -> Callable[[OpenRepository, str, str, CheckPaths], Awaitable[Snapshot]]:
        """Of files of a repository, into a folder of their own."""

        async def read(repository: OpenRepository, ref: str, glob: str, check: CheckPaths) -> Snapshot:
            from lochan.engines.duckdb.repository_files import read_files

            return await read_files(repository, ref, glob, self.folder(), limits, check)

        return read
