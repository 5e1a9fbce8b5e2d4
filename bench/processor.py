"""What a server takes of the processors: its processes and all of their threads, user and kernel. Where others use the
machine, rates fall and this hardly does."""

from collections.abc import Iterator
from pathlib import Path


class Processor:
    def __init__(self, pid: int) -> None:
        """The processes that it has by now; a worker that is started later is not seen."""
        self._pids = list(_family(pid))

    def seconds(self) -> float:
        """So far, of threads that are still there. Linux counts it in nanoseconds."""
        return sum(_nanoseconds(thread) for pid in self._pids for thread in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def _family(pid: int) -> Iterator[int]:
    yield pid
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield from _family(int(child))


def _nanoseconds(thread: Path) -> int:
    try:
        return int((thread / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return 0
