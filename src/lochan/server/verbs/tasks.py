"""Verbs in the background: a request with `Prefer: respond-async` is answered at once with the id of a task. The task
shows whether it has ended and the answer of the verb, and can be cancelled.

Tasks live as long as the process that serves the API, and the last of those that have ended are kept. The verb
itself is as durable as ever: whether a commit has landed is visible on the branch, and by the same request with the
same key."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import msgspec
from starlette.responses import Response

from lochan.clock import Clock
from lochan.server.api.errors import HttpError
from lochan.server.verbs.task_progress import TaskLine, TaskProgress, TaskStage

_KEPT = 1_000  # how many tasks that have ended are kept
_RUNNING_MAX = 100  # how many tasks of one user run at once


class TaskInfo(msgspec.Struct, omit_defaults=True):
    id: str
    operation: str  # such as Branch.commit
    state: str  # running, done, failed, cancelled
    started: int  # Unix seconds
    ended: int | None = None
    status: int | None = None  # the status that the answer of the request would have had
    answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    done: int = 0  # files or bytes, for verbs that count them
    stages: list[TaskStage] = []  # the stages of verbs that have some
    log: list[TaskLine] = []  # its last lines


class VerbTask:
    def __init__(self, id: str, operation: str, user: str, clock: Clock, progress: TaskProgress) -> None:
        self.id = id
        self.operation = operation
        self.user = user
        self._clock = clock
        self._progress = progress
        self._started = clock.wall()
        self._ended: int | None = None
        self._answer: Response | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Coroutine[Any, Any, Response]) -> None:
        self._task = asyncio.ensure_future(self._run(work))

    async def _run(self, work: Coroutine[Any, Any, Response]) -> None:
        self._progress.note("begun")
        try:
            self._answer = await work
        finally:
            self._ended = self._clock.wall()
            self._progress.note(self._state)

    @property
    def is_over(self) -> bool:
        return self._ended is not None

    async def cancel(self) -> None:
        """Cancels the task, and returns when it has ended. A task that has ended by itself stays as it is."""
        if self._task is not None and not self.is_over:
            self._task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._task
            if self._ended is None:  # it was cancelled before it had begun
                self._ended = self._clock.wall()

    def info(self) -> TaskInfo:
        progress = self._progress
        made = TaskInfo(self.id, self.operation, self._state, self._started // 1_000_000)
        made.done, made.stages, made.log = progress.done, progress.stages, progress.lines
        if self._ended is not None:
            made.ended = self._ended // 1_000_000
        if self._answer is not None:
            made.status = self._answer.status_code
            if self._answer.body:
                made.answer = msgspec.Raw(bytes(self._answer.body))
        return made

    @property
    def _state(self) -> str:
        if self._answer is not None:
            return "done" if self._answer.status_code < 300 else "failed"
        return "running" if self._ended is None else "cancelled"


class VerbTasks:
    """All tasks of a server. Used on the event loop."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, VerbTask] = OrderedDict()

    def begin(
        self,
        id: str,
        operation: str,
        user: str,
        clock: Clock,
        work: Coroutine[Any, Any, Response],
        progress: TaskProgress,
    ) -> VerbTask:
        """Begins a task. Raises 429 if one user has too many."""
        if sum(each.user == user and not each.is_over for each in self._known.values()) >= _RUNNING_MAX:
            work.close()
            raise HttpError(429, f"{_RUNNING_MAX} tasks of a user are the most at once: try again", retry_after="1")
        over = [each.id for each in self._known.values() if each.is_over]
        for old in over[:-_KEPT]:
            del self._known[old]
        task = self._known[id] = VerbTask(id, operation, user, clock, progress)
        task.start(work)
        return task

    def of(self, user: str) -> list[VerbTask]:
        """Returns the tasks of a user, the newest first."""
        return [each for each in reversed(self._known.values()) if each.user == user]

    async def close(self) -> None:
        for each in self._known.values():
            await each.cancel()
