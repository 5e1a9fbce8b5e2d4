"""How much one piece of work may use, and what is said when it would use more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from lochan.errors import Refused
from lochan.runtime import running_loop

MEMORY_BYTES = 1 << 30


class Limits(NamedTuple):
    memory_bytes: int = MEMORY_BYTES  # of rows in memory; what may lie on the disk meanwhile goes there
    seconds: float | None = None  # from the first row asked for to the last one
    threads: int | None = None  # None: as many as there are processors
    spill_bytes: int | None = None  # on the disk; None: nine tenths of what is free


STANDARD = Limits()


class LimitReached(Refused):
    """The work was stopped, and everything it held is free again."""


class OutOfTime(LimitReached):
    """Of time."""


class Cancelled(Refused):
    """Somebody stopped the work."""


def out_of_memory(limits: Limits) -> LimitReached:
    # DuckDB does not say which of the two it was.
    disk = "" if limits.spill_bytes is None else f" and {shown(limits.spill_bytes)} on the disk"
    return LimitReached(
        f"the query needs more than its {shown(limits.memory_bytes)} of memory{disk}",
        hint="give it more with --memory, or ask for less: fewer columns, a filter, no long lists",
    )


def out_of_disk(limits: Limits, said: str) -> LimitReached:
    room = "" if limits.spill_bytes is None else f" of {shown(limits.spill_bytes)}"
    return LimitReached(
        f"the query has filled its room{room} for what does not fit into memory: {said}",
        hint="make room on the disk, or give it more memory with --memory",
    )


def out_of_time(limits: Limits) -> OutOfTime:
    return OutOfTime(
        f"the query has not ended within its {limits.seconds:g} seconds",
        hint="give it longer with --timeout, or let it read less",
    )


@asynccontextmanager
async def in_time(limits: Limits) -> AsyncIterator[None]:
    """Raises OutOfTime where what is waited for inside takes longer than the query may. Without an event loop nothing
    is waited for."""
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


def cancelled() -> Cancelled:
    return Cancelled("the query was cancelled", hint="nothing was changed")


def shown(count: int) -> str:
    """As a person writes it."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
