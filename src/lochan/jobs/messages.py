"""Messages between the driver and its tasks. A task gets a description of the pool that it writes to; that is small,
and the same for all tasks of a job. It reports the objects it wrote, with everything that a plan needs to know about
them, and never a row; or it reports why it failed. Entries of many objects are too much for the driver: they lie on the
store as runs, and the message names these (`entry_runs.py`).

In Spark a message is one row with one binary column. Spark passes on only the text of an error, among a hundred lines
of its own. So that text has a part that can be found again, and is raised here as the same error."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import msgspec
import pyarrow as pa

from lochan import errors
from lochan.clock import Clock
from lochan.engines.duckdb.limits import Limits
from lochan.engines.spark.executors import TASK_MEMORY_BYTES, open_on_executor
from lochan.errors import LochanError, Refused
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.run import RunRef
from lochan.ids import Ids
from lochan.jobs.replace_rows import ReplaceTest, check_rows
from lochan.pools.commit_objects import ObjectWriter
from lochan.pools.json_row import Fault
from lochan.pools.settings import settings_of
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.open import StoreLocation
from lochan.store.protocol import Store
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL

if TYPE_CHECKING:
    from lochan.engines.duckdb.load.objects import WrittenObject

COLUMN = "message"
SCHEMA = pa.schema([pa.field(COLUMN, pa.binary())])
SPARK_SCHEMA = f"{COLUMN} binary"
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception|Failed|Exit): .*$", re.MULTILINE)  # how Python reports an error
_TOO_LARGE = re.compile(
    r"[Tt]otal size of serialized results of \d+ tasks? \([^()]*\) is bigger than [\w.]+ \([^()]*\)"
)
_FETCH_FAILED = "has failed the maximum allowable number of times"
_MARKED = re.compile(r"lochan-error:([A-Za-z0-9+/=]+):")


class EntryRun(msgspec.Struct, frozen=True, array_like=True):
    """Entries that a task has put to the store as a run. No event names the run: it is read once, to land the
    entries."""

    run: RunRef
    sha256: bytes  # the SHA-256 of its file
    mint: int  # the lowest mint of the files that its entries name (G3)
    cuts: tuple[int, ...] = ()  # rows whose path may end a range of a tree, if they were requested


class RowCounts(msgspec.Struct, frozen=True, array_like=True):
    """The numbers of rows that a statement has changed."""

    deleted: int = 0
    updated: int = 0
    inserted: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(self.deleted + other.deleted, self.updated + other.updated, self.inserted + other.inserted)

    @property
    def total(self) -> int:
        return self.deleted + self.updated + self.inserted

    def __str__(self) -> str:
        named = {"deleted": self.deleted, "updated": self.updated, "inserted": self.inserted}
        return ", ".join(f"{count:,} {name}" for name, count in named.items() if count) or "nothing changed"


class TaskMessage(msgspec.Struct, frozen=True, array_like=True):
    entries: tuple[Entry, ...] = ()  # objects that are on the store, but not in a commit yet
    rows: int = 0  # rows in these objects, and in those of the runs
    size_bytes: int = 0  # the size of these objects
    faults: int = 0  # lines that were not rows
    first_faults: tuple[Fault, ...] = ()
    put_bytes: int = 0  # bytes that the task put to the store since its last message
    runs: tuple[EntryRun, ...] = ()  # more entries
    unparsed_times: dict[str, int] = {}  # for the entries in runs, see `pools.facts`
    folders: tuple[str, ...] = ()  # the folders of the partitions that it wrote files to
    removed: tuple[Entry, ...] = ()  # objects of a branch that the entries replace
    changed: RowCounts | None = None  # only for a statement that changes single rows

    @property
    def objects(self) -> int:
        return len(self.entries) + sum(each.run.count for each in self.runs)


def encode_message(message: TaskMessage) -> bytes:
    return msgspec.msgpack.encode(message)


def decode_message(data: bytes) -> TaskMessage:
    return _decoder.decode(data)


def as_batches(messages: Iterable[TaskMessage]) -> Iterator[pa.RecordBatch]:
    """Yields the messages for a function that takes Arrow batches from Spark and returns them."""
    for message in messages:
        yield pa.RecordBatch.from_arrays([pa.array([encode_message(message)], pa.binary())], schema=SCHEMA)


def from_table(table: pa.Table) -> list[TaskMessage]:
    return [decode_message(data) for data in table[COLUMN].to_pylist()]


def together(messages: Iterable[TaskMessage], faults_shown: int = 10) -> TaskMessage:
    """Returns all messages as one."""
    every = list(messages)
    unparsed: Counter[str] = Counter()
    for message in every:
        unparsed.update(message.unparsed_times)
    changed = [message.changed for message in every if message.changed is not None]
    return TaskMessage(
        tuple(entry for message in every for entry in message.entries),
        sum(message.rows for message in every),
        sum(message.size_bytes for message in every),
        sum(message.faults for message in every),
        tuple(fault for message in every for fault in message.first_faults)[:faults_shown],
        sum(message.put_bytes for message in every),
        tuple(run for message in every for run in message.runs),
        dict(unparsed),
        tuple(sorted({folder for message in every for folder in message.folders})),
        tuple(entry for message in every for entry in message.removed),
        sum(changed, RowCounts()) if changed else None,
    )


_decoder = msgspec.msgpack.Decoder(TaskMessage)


class TaskFailed(Exception):
    """An error as an executor raises it."""


@contextmanager
def reports_errors() -> Iterator[None]:
    """Wraps the work of a task, so that its errors reach the driver."""
    try:
        yield
    except LochanError as error:
        marked = base64.b64encode(msgspec.msgpack.encode([error.kind, error.message, error.hint])).decode()
        raise TaskFailed(f"{error} lochan-error:{marked}:") from error


def error_of(error: Exception) -> LochanError:
    """Returns the error that a task raised, from the one that Spark raises."""
    if isinstance(error, LochanError):
        return error
    text = str(error)
    found = _MARKED.search(text)
    if found is not None:
        kind, message, hint = msgspec.msgpack.decode(base64.b64decode(found[1]))
        return _kinds().get(kind, Refused)(message, hint=hint)
    too_large = _TOO_LARGE.search(text)
    if too_large is not None:
        return Refused(
            f"Spark has failed: {too_large[0]}", hint="nothing was changed; raise spark.driver.maxResultSize"
        )
    _, lost, behind = text.partition("ExecutorLostFailure ")
    why = behind.partition("\n")[0].partition(" Reason: ")[2].strip().removesuffix(".")
    if not lost and _FETCH_FAILED in text:  # the same, if an earlier stage had left its rows on them
        lost, why = _FETCH_FAILED, "the rows that it held were lost with it"
    if lost and why:
        return Refused(
            f"Spark has failed: executors kept dying on the same task; the last one: {why}",
            hint="nothing was changed; they probably ran out of memory: raise spark.executor.memory, or its overhead",
        )
    raised = _RAISED.findall(text.partition("\n\tat ")[0])
    why = raised[-1] if raised else text.strip().partition("\n")[0]
    return Refused(f"Spark has failed: {why}", hint="nothing was changed; see the log of Spark")


def _kinds() -> dict[str, type[LochanError]]:
    """Returns the error classes that are made of a message and a hint alone."""
    every = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, LochanError)]
    return {each.kind: each for each in every if each.__init__ is LochanError.__init__}


# --- what a task must know -------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PoolTarget:
    """The pool that tasks write to. It can be pickled; the credentials of the store are never printed."""

    place: StoreLocation
    repository_id: str
    settings: PoolSettings
    mint: int  # the number that was folded before any task wrote a byte (G1)
    limits: Limits = field(default=Limits(memory_bytes=TASK_MEMORY_BYTES, threads=1))  # the limits of one task
    temp: str | None = None  # the folder for data that does not fit into a task's memory; None for Spark's own
    must: ReplaceTest | None = None  # a test that every row must pass

    prefix: ClassVar[str] = ""  # the whole pool
    suffix: ClassVar[str] = ""  # the text after the name of the branch
    verb: ClassVar[str] = "load"  # the verb in the journal, and in a commit that has no message

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskMessage]:
        """Writes the rows of a task."""
        from lochan.jobs.pool_writer import write_rows  # it imports an engine, which only tasks need

        return write_rows(self, batches)

    def check(self, written: WrittenObject) -> None:
        """Checks an object before it is put. Raises Invalid."""
        if self.must is not None:
            check_rows(self.settings, self.must, written)

    def store(self, clock: Clock, ids: Ids) -> Store:
        return open_on_executor(self.place, clock, ids)

    def writer(self, store: Store, clock: Clock, ids: Ids) -> ObjectWriter:
        return ObjectWriter(store, self.repository_id, self.mint, clock=clock, ids=ids)


async def pool_target(
    repository: OpenRepository, place: StoreLocation, branch: str, *, memory_bytes: int = TASK_MEMORY_BYTES
) -> PoolTarget:
    """Returns the target. Call it before the first task starts. Raises Refused if the repository is not a pool, and
    NotFound if there is no such branch."""
    about = repository.repository
    if about.kind != POOL:
        raise Refused(f"{about.name!r} holds files and is not a pool", hint="`lochan create POOL` makes a pool")
    refs, mint = await repository.refs()
    refs.guard.check_writable()
    refs.branch(branch)
    limits = Limits(memory_bytes=memory_bytes, threads=1)
    return PoolTarget(place.for_others(), about.id, settings_of(about), mint, limits)


class PutCounter:
    """Counts what a task puts to the store, where it is put.

    The counts travel in the task's messages, so only those tries count whose messages Spark accepted: an accumulator of
    Spark would count a task twice that was tried twice. Bytes that other tries put are in no commit, and are not
    counted."""

    def __init__(self, store: Store) -> None:
        self._counts = RequestCounts()
        self._reported = 0
        self.store = CountingStore(store, self._counts)  # a store that counts the bytes that are put through it

    def message(self, entry: Entry, rows: int, folders: tuple[str, ...] = ()) -> TaskMessage:
        """Returns the message about an object that was put."""
        put = self._counts.total.bytes_out
        new, self._reported = put - self._reported, put
        return TaskMessage((entry,), rows, entry.size, put_bytes=new, folders=folders)
