"""What a server takes of the processors: its processes and all of their threads, user and kernel. Where others use the
machine, rates fall and this hardly does."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


class Processor:
    def __init__(self, pid: int) -> None:
        """The processes that it has by now; a worker that is started later is not seen."""
        self._pids = list(_family(pid))

    def seconds(self) -> float:
        """So far, of threads that are still there. Linux counts it in nanoseconds."""
        return sum(_nanoseconds(thread) for pid in self._pids for thread in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def family_seconds(pid: int) -> float:
    """Of a process and all below it by now, and of those that have ended and were waited for. Linux counts it in
    hundredths of a second."""
    total = 0
    for each in _family(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(") ")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def _family(pid: int) -> Iterator[int]:
    yield pid
    for thread in _threads(pid):
        children = ""
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
            children = (thread / "children").read_text()
        for child in children.split():
            yield from _family(int(child))


def _threads(pid: int) -> list[Path]:
    try:
        return [*Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _nanoseconds(thread: Path) -> int:
    try:
        return int((thread / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return 0
