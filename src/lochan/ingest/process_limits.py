"""How much a decoder may use of the machine. The kernel enforces it, whatever the decoder's code does."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

# Beside what the engine in a decoder may keep in memory: what Python and Arrow hold of the chunk that is being read.
MARGIN_BYTES = 512 << 20
OPEN_FILES = 256
IS_BOUNDED = sys.platform == "linux"  # macOS takes the calls and does not enforce those of memory


class ProcessLimits(msgspec.Struct, frozen=True, array_like=True):
    """`memory_bytes` comes on top of what the process has when it is forked, with MARGIN_BYTES."""

    memory_bytes: int
    file_bytes: int  # of each file that it writes
    cpu_seconds: int | None = None

    def apply(self) -> None:
        """To this process, for good."""
        # Private memory that can be written, which is what a decoder fills. The address space as a whole would count
        # what allocators only reserve, half a GiB with two threads, and mapped libraries.
        memory = _data_bytes() + self.memory_bytes + MARGIN_BYTES
        _limit(resource.RLIMIT_DATA, memory)
        _limit(resource.RLIMIT_FSIZE, self.file_bytes)
        _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
        _limit(resource.RLIMIT_CORE, 0)
        if self.cpu_seconds is not None:
            _limit(resource.RLIMIT_CPU, self.cpu_seconds, 1)  # at the first it is told by a signal of its own


def _limit(what: int, most: int, more: int = 0) -> None:
    _, hard = resource.getrlimit(what)
    value = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError, OSError):  # a system that has no such limit
        resource.setrlimit(what, (value, value + more))


def _data_bytes() -> int:
    """What it has already; 0 where the system does not say."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return 0
