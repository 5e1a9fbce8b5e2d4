"""How far long work has come: a bar or a count, with a rate, on a terminal; nothing elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]


@contextmanager
def progress(title: str, total_bytes: int | None, *, wanted: bool) -> Iterator[Advance]:
    """Gives a function to be told of each piece. On stderr, so that the answer can go elsewhere."""
    if not wanted or not sys.stderr.isatty():
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


@contextmanager
def counted(title: str, what: str, *, wanted: bool) -> Iterator[Advance]:
    """The same for work whose end nobody knows: so many, and so many a second."""
    if not wanted or not sys.stderr.isatty():
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
