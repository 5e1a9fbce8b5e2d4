"""Sends a task's entries to the driver: in its message if they are few, as runs on the store if they are many.

    objects ──▶ entries ──▶ up to 16 KiB of the first tasks ──▶ in the message
                      └───▶ all others ──▶ runs of 4 MiB ─────▶ names, counts and digests in the message

An entry has some kilobytes, because it holds the statistics of its object's columns. Spark abandons a job whose tasks
send more than `spark.driver.maxResultSize`, after all of its work is done. So the data that a job sends must not grow
with its objects, nor much with its tasks: only the first tasks, by the number of their partition, send entries at all.

A run is a file like any other that a job makes before it lands. Its name carries the job's mint (G1) and begins with
it, so that the job holds it open as it holds the objects that it lists. A task that runs twice leaves a run that no
message names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from hashlib import sha256
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import msgspec

from lochan.clock import SystemClock
from lochan.engines.spark.executors import open_on_executor, partition_of_task
from lochan.failpoints import fp
from lochan.formats import run
from lochan.formats.entry import Entry
from lochan.formats.run import RunRef
from lochan.ids import Ids
from lochan.jobs.messages import EntryRun, TaskMessage, reports_errors, together
from lochan.pools.commit_objects import lowest_mint
from lochan.pools.facts import unparsed_times
from lochan.staging.runs import FOLDER
from lochan.store.open import StoreLocation
from lochan.versioning.job_hold import run_prefix

INLINE_TASKS = 32  # the first tasks of a job, whose entries may be in their messages
INLINE_BYTES = 16 << 10  # bytes of entries in the messages of one task: half a MiB for all
RUN_BYTES = 4 << 20  # bytes of the entries of one run, which a task holds in memory

_LEVEL = 1  # the level at which it was written; see `RunRef`


class RunTarget(Protocol):
    """The properties of a job's target that runs need."""

    @property
    def place(self) -> StoreLocation: ...
    @property
    def repository_id(self) -> str: ...
    @property
    def mint(self) -> int: ...


Target = TypeVar("Target", bound=RunTarget)
P = ParamSpec("P")
Write = Callable[Concatenate[Target, P], Iterator[TaskMessage]]


def spilling(write: Write[Target, P]) -> Write[Target, P]:
    """Wraps the work of a task, so that its messages stay small, however many objects it writes."""

    @wraps(write)
    def small(target: Target, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[TaskMessage]:
        return spill_messages(target, write(target, *args, **kwargs))

    return small


def spill_messages(target: RunTarget, messages: Iterable[TaskMessage]) -> Iterator[TaskMessage]:
    """Yields one message of the entries that fit into it, and one for each run. Raises TaskFailed."""
    held: list[TaskMessage] = []
    size, room = 0, INLINE_BYTES if partition_of_task() < INLINE_TASKS else 0
    for message in messages:
        held.append(message)
        size += len(msgspec.msgpack.encode(message.entries)) if message.entries else 0
        if size >= RUN_BYTES:
            yield put_run(target, together(held))
            held, size, room = [], 0, 0
    if held:
        whole = together(held)
        yield put_run(target, whole) if whole.entries and size > room else whole


def put_run(target: RunTarget, message: TaskMessage) -> TaskMessage:
    """Returns the same message, with its entries on the store. Raises TaskFailed."""
    with reports_errors():
        made, size = asyncio.run(_put(target, message.entries))
    return msgspec.structs.replace(
        message,
        entries=(),
        put_bytes=message.put_bytes + size,
        runs=(*message.runs, made),
        unparsed_times=_add_counts(message.unparsed_times, unparsed_times(message.entries)),
    )


async def _put(target: RunTarget, entries: tuple[Entry, ...]) -> tuple[EntryRun, int]:
    """Puts the run. Returns it with its size in bytes."""
    clock, ids = SystemClock(), Ids()
    data = run.encode(run.changes_table(entries))
    id = f"{run_prefix(target.mint)}{ids.ksuid(clock.wall())}"
    file = f"{FOLDER}/{id}-{target.mint}.parquet"
    await open_on_executor(target.place, clock, ids).put(f"{target.repository_id}/{file}", data)
    fp("entry_runs.put")
    paths = [entry.path for entry in entries]
    ref = RunRef(id, file, _LEVEL, len(entries), 0, len(data), min(paths), max(paths), target.mint)
    return EntryRun(ref, sha256(data).digest(), lowest_mint(entries)), len(data)


def _add_counts(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}
