"""The parts of a lake that a query needs: the sources that it names, and the permissions of the user."""

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
        """Returns the lake's own journal, or that of a repository."""

    async def user_rows(self, time: int | None) -> list[dict[str, Any]]:
        """Returns the users that exist now, or existed at that moment."""

    async def job_rows(self) -> list[dict[str, Any]]:
        """Returns the records of jobs, the oldest first."""

    async def usage_rows(self) -> pa.Table:
        """Returns the usage log: who read or wrote what."""


# ── permissions ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Permits(Protocol):
    """The permissions of the user. Each source is checked before anything of it is read, and before an answer reveals
    anything about it: a user who may not read a pool does not learn whether it exists."""

    async def known(self, all: Sequence[Repository]) -> Sequence[Repository]:
        """Returns the repositories that a pattern may match, and that may be suggested for a typo."""

    async def check_absent(self, name: str) -> None:
        """Raises unless the user may know that there is no repository of this name."""

    async def check(self, repository: OpenRepository, source: ast.Source, ref: str) -> None:
        """Raises unless the user may read the source at this ref, which need not exist. Paths of files are checked
        later, by `check_paths`."""

    async def check_paths(self, repository: OpenRepository, ref: str, paths: Sequence[str]) -> None:
        """Raises unless the user may read every one of these files."""

    async def readable(self, repository: OpenRepository, ref: str, paths: pa.Array) -> pa.Array:
        """Returns for each of these paths whether the user may read it."""

    async def reads_all(self, repository: OpenRepository, ref: str) -> bool:
        """Returns whether the user may read everything that is or was at this ref."""

    async def shown(self, meta: str, all: Sequence[Repository]) -> Sequence[Repository]:
        """Returns the repositories whose rows the user may see in this metadata of the lake."""

    async def shown_users(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]: ...

    async def audited(self, all: Sequence[Repository]) -> Sequence[Repository]:
        """Returns the repositories whose events and objects the user may all read, because events name objects."""

    async def audits_lake(self) -> bool:
        """Returns whether the user may do so in the whole lake, and read its own journal."""


class Everything:
    """The permissions of a user who has access to the store itself."""

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
