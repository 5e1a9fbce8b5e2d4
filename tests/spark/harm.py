"""What happens to tasks on a real cluster: executors are killed under them, and they run twice.

`dying` and `slow` wrap the function of a task. What they make goes to executors by its value, and notes in a folder
that all machines share what it did.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import TaskContext

# A second copy of a task is run as soon as the others of its stage are through.
SECOND_COPIES = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "500ms",
}
HURT = ["again", "died", "slow"]  # a task that was run twice, and an executor that was killed


def dying(work: Callable[..., Iterator[Any]], flags: str, *, times: int = 1, part: int | None = 0) -> Any:
    """The executor of one part, or of any, is killed when its first result is there, so often."""

    def killed(*given: Any) -> Iterator[Any]:
        context = TaskContext.get()
        assert context is not None
        for each in work(*given):
            if part in (None, context.partitionId()) and len(list(Path(flags).glob("died-*"))) < times:
                Path(flags, f"died-{context.taskAttemptId()}").touch()
                parent = Path(f"/proc/{os.getppid()}/stat").read_text()  # of all workers; the executor is its parent
                os.kill(int(parent.rpartition(")")[2].split()[1]), signal.SIGKILL)
                time.sleep(300)
            yield each

    return killed


def slow(work: Callable[..., Iterator[Any]], flags: str, *, part: int | None = 0, batch: int | None = None) -> Any:
    """The first attempt of one part, or of whichever comes first, does its work and never ends. It is given up when the
    second is through."""

    def late(*given: Any) -> Iterator[Any]:
        context = TaskContext.get()
        assert context is not None
        yield from work(*given)
        if batch is not None and context.getLocalProperty("streaming.sql.batchId") != str(batch):
            return
        own = context.partitionId()
        if part not in (None, own):
            return
        try:
            with Path(flags, "slow").open("x") as claimed:
                claimed.write(str(own))
        except FileExistsError:
            if Path(flags, "slow").read_text() == str(own):
                with Path(flags, "again").open("a") as again:
                    again.write(f"{context.taskAttemptId()}\n")
            return
        time.sleep(300)

    return late


def flag_names(flags: str) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in Path(flags).iterdir())


@contextmanager
def patched(module: Any, name: str, other: Any) -> Iterator[None]:
    own = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, own)
