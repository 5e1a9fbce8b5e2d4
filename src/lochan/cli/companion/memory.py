"""Measures how much memory a process has."""

import os

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pid: int | str = "self") -> int:
    """Returns the memory of a process. Raises OSError if there is no such process."""
    with open(f"/proc/{pid}/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * _PAGE_BYTES
