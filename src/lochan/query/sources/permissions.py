"""What whoever asks may read. It is asked of every source, before anything of it is read and before anything is said of
it: who may not read a pool is not told whether there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from lochan.query import ast
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import Repository


class Permits(Protocol):
    async def known(self, all: Sequence[Repository]) -> Sequence[Repository]:
        """Those that a pattern may find, and that may be offered in place of a typo."""

    async def check_absent(self, name: str) -> None:
        """Raises unless they may know that there is no repository of this name."""

    async def check(self, repository: OpenRepository, source: ast.Source, ref: str) -> None:
        """Raises unless they may read what the source names at this ref, which need not be there. Of files not yet
        which: see `check_paths`."""

    async def check_paths(self, repository: OpenRepository, ref: str, paths: Sequence[str]) -> None:
        """Raises unless they may read every one of these files."""

    async def readable(self, repository: OpenRepository, ref: str, paths: pa.Array) -> pa.Array:
        """Of each path, whether they may read what is there."""

    async def reads_all(self, repository: OpenRepository, ref: str) -> bool:
        """Whether they may read whatever is or was at this ref."""

    async def shown(self, meta: str, all: Sequence[Repository]) -> Sequence[Repository]:
        """Those whose rows of this metadata of the lake they may see."""

    async def shown_users(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]: ...


class Everything:
    """For who has the store itself."""

    async def known(self, all: Sequence[Repository]) -> Sequence[Repository]:
        return all

    async def check_absent(self, name: str) -> None:
        pass

    async def check(self, repository: OpenRepository, source: ast.Source, ref: str) -> None:
        pass

    async def check_paths(self, repository: OpenRepository, ref: str, paths: Sequence[str]) -> None:
        pass

    async def readable(self, repository: OpenRepository, ref: str, paths: pa.Array) -> pa.Array:
        return pa.array(np.ones(len(paths), np.bool_))

    async def reads_all(self, repository: OpenRepository, ref: str) -> bool:
        return True

    async def shown(self, meta: str, all: Sequence[Repository]) -> Sequence[Repository]:
        return all

    async def shown_users(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        return rows


EVERYTHING = Everything()
