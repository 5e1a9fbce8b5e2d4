"""Keeps the imports that a process runs in the background, and those that have ended, so that users can ask about
them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import datetime

from lochan.api.results import Commit

_KEPT = 1_000  # how many ended imports can still be asked for


@dataclass(slots=True)
class ImportTask:
    place: tuple[str, str]  # the repository and the branch
    user: str
    updated: datetime
    files: int = 0  # the number of files that were listed
    task: asyncio.Task[Commit] = field(init=False)


@dataclass(slots=True)
class ImportTasks:
    """The imports of this process, the oldest first."""

    tasks: dict[str, ImportTask] = field(default_factory=dict)

    def start(self, id: str, found: ImportTask, work: Coroutine[object, object, Commit]) -> None:
        ended = [each for each, other in self.tasks.items() if other.task.done()]
        for each in ended[: max(0, len(ended) - _KEPT)]:
            del self.tasks[each]
        found.task = asyncio.create_task(work)
        self.tasks[id] = found

    async def close(self) -> None:
        running = [each.task for each in self.tasks.values() if not each.task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
