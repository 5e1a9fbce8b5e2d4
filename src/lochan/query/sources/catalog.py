"""What a query needs of a lake: to find what its sources name, and to know which of it the user may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from lochan.journal.journal import Journal
from lochan.journal.state import StatePart
from lochan.query import ast
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import Repository


class Catalog(Protocol):
    @property
    def parts(self) -> tuple[type[StatePart], ...]:
        """The parts of the state of the lake's own journal."""

    async def repositories(self) -> list[Repository]: ...

    async def open_repository(self, name: str) -> OpenRepository: ...

    async def journal(self, repository_id: str = ...) -> Journal:
        """The lake's own, or a repository's."""

    async def user_rows(self, time: int | None) -> list[dict[str, Any]]:
        """The users that there are, or were at that moment."""

    async def job_rows(self) -> list[dict[str, Any]]:
        """The records of jobs, oldest first."""

    async def usage_rows(self) -> pa.Table:
        """The usage log: who read or wrote what."""


# ── permissions ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Permits(Protocol):
    """What the user may read. Each source is checked before anything of it is read and before anything is said about
    it: a user who may not read a pool does not learn whether it exists."""

    async def known(self, all: Sequence[Repository]) -> Sequence[Repository]:
        """Returns the repositories that a pattern may match, and that may be suggested for a typo."""

    async def check_absent(self, name: str) -> None:
        """Raises unless the user may know that there is no repository of this name."""

    async def check(self, repository: OpenRepository, source: ast.Source, ref: str) -> None:
        """Raises unless the user may read what the source names at this ref, which need not exist. Paths of files are
        checked later, by `check_paths`."""

    async def check_paths(self, repository: OpenRepository, ref: str, paths: Sequence[str]) -> None:
        """Raises unless the user may read every one of these files."""

    async def readable(self, repository: OpenRepository, ref: str, paths: pa.Array) -> pa.Array:
        """Whether the user may read each of these paths."""

    async def reads_all(self, repository: OpenRepository, ref: str) -> bool:
        """Whether the user may read everything that is or was at this ref."""

    async def shown(self, meta: str, all: Sequence[Repository]) -> Sequence[Repository]:
        """Returns the repositories whose rows the user may see in this metadata of the lake."""

    async def shown_users(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]: ...

    async def audited(self, all: Sequence[Repository]) -> Sequence[Repository]:
        """Returns the repositories whose events the user may read, and all of whose objects, because events name
        them."""

    async def audits_lake(self) -> bool:
        """Whether that is so for the whole lake, and its own journal."""


class Everything:
    """For a user who has the store itself."""

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

    async def audited(self, all: Sequence[Repository]) -> Sequence[Repository]:
        return all

    async def audits_lake(self) -> bool:
        return True


EVERYTHING = Everything()
