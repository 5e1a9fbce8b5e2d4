"""The limits of a decoder. The kernel enforces them, whatever the decoder's code does."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

import msgspec

# This is added to the memory of the decoder's engine, for what Python and Arrow hold of the current chunk.
MARGIN_BYTES = 512 << 20
OPEN_FILES = 256


class ProcessLimits(msgspec.Struct, frozen=True, array_like=True):
    """The limits of a process. `memory_bytes` and MARGIN_BYTES come on top of what the process has when it is
    forked."""

    memory_bytes: int
    file_bytes: int  # the limit for each file that it writes
    cpu_seconds: int | None = None

    def apply(self) -> None:
        """Limits this process, permanently. macOS accepts the calls but does not enforce the limit of memory."""
        # This limits writable private memory, which a decoder fills. The whole address space would include mapped
        # libraries and what allocators only reserve, which is half a GiB with two threads.
        memory = _data_bytes() + self.memory_bytes + MARGIN_BYTES
        _limit(resource.RLIMIT_DATA, memory)
        _limit(resource.RLIMIT_FSIZE, self.file_bytes)
        _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
        _limit(resource.RLIMIT_CORE, 0)
        if self.cpu_seconds is not None:
            _limit(resource.RLIMIT_CPU, self.cpu_seconds, 1)  # the soft limit sends SIGXCPU first


def _limit(what: int, most: int, more: int = 0) -> None:
    _, hard = resource.getrlimit(what)
    value = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError, OSError):  # the system has no such limit
        resource.setrlimit(what, (value, value + more))


def _data_bytes() -> int:
    """Returns the size of this process's data now, or 0 if the system does not report it."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return 0
