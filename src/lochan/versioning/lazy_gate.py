"""The gate of a repository, made when its first change is judged: most commands judge none, and need nothing of it."""

from __future__ import annotations

from collections.abc import Callable

from lochan.formats.record import Actor
from lochan.versioning.gate import SHARED_HOOKS, UNJUDGED, Gate, HeadMove, Judged, RefChange
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL


class LazyGate:
    """A gate that is made when it is needed. A pool without shared hooks has no hooks to ask."""

    def __init__(self, repository: OpenRepository, make: Callable[[], Gate]) -> None:
        self._repository = repository
        self._make = make
        self._made: Gate | None = None

    async def judge_move(self, move: HeadMove, actor: Actor) -> Judged:
        return UNJUDGED if self._has_none else await self._gate().judge_move(move, actor)

    async def judge_ref(self, change: RefChange, actor: Actor) -> Judged:
        return UNJUDGED if self._has_none else await self._gate().judge_ref(change, actor)

    @property
    def _has_none(self) -> bool:
        about = self._repository.repository
        return about.kind == POOL and SHARED_HOOKS not in about.metadata

    def _gate(self) -> Gate:
        if self._made is None:
            self._made = self._make()
        return self._made
