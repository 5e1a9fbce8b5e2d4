"""What a query needs of a lake to find what its sources name."""

from __future__ import annotations

from typing import Any, Protocol

from lochan.journal.journal import Journal
from lochan.journal.state import StatePart
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import Repository


class Catalog(Protocol):
    @property
    def parts(self) -> tuple[type[StatePart], ...]:
        """Of the state of the lake's own journal."""

    async def repositories(self) -> list[Repository]: ...

    async def open_repository(self, name: str) -> OpenRepository: ...

    async def journal(self, repository_id: str = ...) -> Journal:
        """The lake's own, or a repository's."""

    async def user_rows(self, time: int | None) -> list[dict[str, Any]]:
        """The users that there are, or were at that moment."""
