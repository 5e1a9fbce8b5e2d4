"""The limits of a query or job, and the errors when it reaches them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from lochan.errors import Refused
from lochan.runtime import running_loop

MEMORY_BYTES = 1 << 30


class Limits(NamedTuple):
    memory_bytes: int = MEMORY_BYTES  # for rows in memory; beyond it the engine spills to the disk
    seconds: float | None = None  # from the first row to the last one
    threads: int | None = None  # None for one per processor
    spill_bytes: int | None = None  # on the disk; None for nine tenths of the free space


STANDARD = Limits()


class LimitReached(Refused):
    """The work was stopped, and its resources are freed."""


class OutOfTime(LimitReached):
    """The time limit was reached."""


class Cancelled(Refused):
    """The work was cancelled."""


def out_of_memory(limits: Limits) -> LimitReached:
    # DuckDB does not report which of the two was exceeded.
    disk = "" if limits.spill_bytes is None else f" and {format_size(limits.spill_bytes)} on the disk"
    return LimitReached(
        f"the query needs more than its {format_size(limits.memory_bytes)} of memory{disk}",
        hint="allow more with --memory, or read less: fewer columns, a filter, no long lists",
    )


def out_of_disk(limits: Limits, reason: str) -> LimitReached:
    room = "" if limits.spill_bytes is None else f" of {format_size(limits.spill_bytes)}"
    return LimitReached(
        f"the query has filled its disk space{room} for data that does not fit into memory: {reason}",
        hint="free disk space, or allow more memory with --memory",
    )


def out_of_time(limits: Limits) -> OutOfTime:
    return OutOfTime(
        f"the query has not ended within its {limits.seconds:g} seconds",
        hint="allow more time with --timeout, or read less",
    )


@asynccontextmanager
async def in_time(limits: Limits) -> AsyncIterator[None]:
    """Raises OutOfTime if the body takes longer than the limit. Has no effect without an event loop."""
    if limits.seconds is None or running_loop() is None:
        yield
        return
    import asyncio

    try:
        async with asyncio.timeout(limits.seconds) as bound:
            yield
    except TimeoutError as error:
        if not bound.expired():
            raise
        raise out_of_time(limits) from error


def cancelled_error() -> Cancelled:
    return Cancelled("the query was cancelled", hint="nothing was changed")


def format_size(count: int) -> str:
    """Returns a size for people."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
