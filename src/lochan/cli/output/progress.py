"""Shows the progress of long work on a terminal: a bar or a count, with a rate. Elsewhere, it shows nothing."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

Advance = Callable[[int], None]


class Stage(Protocol):
    """A stage of a job on Spark, or of one on this machine."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...


@contextmanager
def progress(title: str, total_bytes: int | None, *, visible: bool) -> Iterator[Advance]:
    """Yields a function to call with the size of each piece. It prints on stderr, so that the answer can go
    elsewhere."""
    if not visible or not sys.stderr.isatty():
        yield lambda size_bytes: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(title, total=total_bytes)
        yield lambda size_bytes: bar.advance(task, size_bytes)


class StageBar:
    """A bar for stages, of Spark or of work on this machine. It appears with the first report, and disappears at the
    end."""

    def __init__(self, title: str, *, visible: bool = True) -> None:
        self._title = title
        self._visible = visible and sys.stderr.isatty()
        self._bar: Progress | None = None
        self._one = Lock()

    def __enter__(self) -> "StageBar":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def show(self, stages: Sequence["Stage"]) -> None:
        """Shows the stages. Any thread may call it."""
        done = sum(stage.done == stage.total for stage in stages)
        tasks, total = sum(stage.done for stage in stages), sum(stage.total for stage in stages)
        text = f"{done}/{len(stages)} stages" if stages else "waiting for Spark"
        with self._one:
            if not self._visible:
                return
            if self._bar is None:
                self._bar = self._begun()
            self._bar.update(self._bar.task_ids[0], completed=tasks, total=total or None, stages=text)

    def end(self) -> None:
        """Hides the bar. Calling it again does nothing, and later progress is not shown."""
        with self._one:
            self._visible = False
            if self._bar is not None:
                self._bar.stop()

    def _begun(self) -> "Progress":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tasks, {task.fields[stages]}"),
            TimeElapsedColumn(),
        )
        bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
        bar.add_task(self._title, total=None, stages="")
        bar.start()
        return bar


@contextmanager
def count_progress(title: str, what: str, *, visible: bool) -> Iterator[Advance]:
    """Shows the progress of work whose end is unknown: a count, and the rate per second."""
    if not visible or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn(title),
        TextColumn(f"{{task.completed:,.0f}} {what}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(title, total=None, rate="")

        def advance(count: int) -> None:
            bar.advance(task, count)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance
