"""Reports the progress of work in this process in stages, as Spark does, so that one bar shows both."""

from collections.abc import Callable, Sequence

from lochan.formats.job import JobStageRecord

Listener = Callable[[Sequence[JobStageRecord]], None]


class StageProgress:
    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._stages: dict[str, JobStageRecord] = {}

    def tell(self, stage: str, done: int, total: int) -> None:
        """Reports a stage to the listener. Stages keep the order in which they are first reported."""
        if self._listener is not None:
            earlier = self._stages.get(stage)
            number = len(self._stages) if earlier is None else earlier.id
            self._stages[stage] = JobStageRecord(number, stage, done, total)
            self._listener([*self._stages.values()])


SILENT = StageProgress()
