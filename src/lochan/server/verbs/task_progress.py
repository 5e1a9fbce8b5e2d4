"""The progress of a task and its log, as its verb reports them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from lochan.clock import Clock

if TYPE_CHECKING:
    from lochan.formats.job import JobStageRecord

_LINES_KEPT = 200


class TaskStage(msgspec.Struct, frozen=True):
    name: str
    done: int
    total: int


class TaskLine(msgspec.Struct, frozen=True):
    time: int  # Unix seconds
    text: str


class TaskProgress:
    """A verb calls it with how many more files or bytes are done, or with all of its stages. A verb may call it in a
    thread of its own; readers see a state of some moment."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines: deque[TaskLine] = deque(maxlen=_LINES_KEPT)
        self.stages: list[TaskStage] = []
        self.done = 0

    def __call__(self, progress: int | Sequence[JobStageRecord]) -> None:
        if isinstance(progress, int):
            self.done += progress
            return
        begun = {each.name for each in self.stages}
        self.stages = [TaskStage(each.name, each.done, each.total) for each in progress]
        for each in self.stages:
            if each.name not in begun:
                self.note(each.name)

    def note(self, text: str) -> None:
        self._lines.append(TaskLine(self._clock.wall() // 1_000_000, text))

    @property
    def lines(self) -> list[TaskLine]:
        return [*self._lines]
