"""What tasks tell the driver: the objects they wrote, with all that a plan needs of them, and never a row; or why they
failed.

Through Spark a message goes as one binary column, in a row each. Of an error Spark hands on the text, among a hundred
lines of its own; so that text has a part which can be found again, and is raised here as the same error.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
import pyarrow as pa

from lochan import errors
from lochan.errors import LochanError, Refused
from lochan.formats.entry import Entry
from lochan.pools.json_row import Fault

COLUMN = "message"
SCHEMA = pa.schema([pa.field(COLUMN, pa.binary())])
SPARK_SCHEMA = f"{COLUMN} binary"
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception|Failed|Exit): .*$", re.MULTILINE)  # of Python
_MARKED = re.compile(r"lochan-error:([A-Za-z0-9+/=]+):")


class TaskMessage(msgspec.Struct, frozen=True, array_like=True):
    entries: tuple[Entry, ...] = ()  # objects that are on the store, and that nobody knows of yet
    rows: int = 0  # in them
    size_bytes: int = 0  # of them
    faults: int = 0  # lines that were no rows
    first_faults: tuple[Fault, ...] = ()
    put_bytes: int = 0  # that the task put to the store since its last message


def encode(message: TaskMessage) -> bytes:
    return msgspec.msgpack.encode(message)


def decode(data: bytes) -> TaskMessage:
    return _decoder.decode(data)


def as_batches(messages: Iterable[TaskMessage]) -> Iterator[pa.RecordBatch]:
    """For a function that Spark gives Arrow batches to, and takes them from."""
    for message in messages:
        yield pa.RecordBatch.from_arrays([pa.array([encode(message)], pa.binary())], schema=SCHEMA)


def from_table(table: pa.Table) -> list[TaskMessage]:
    return [decode(data) for data in table[COLUMN].to_pylist()]


def together(messages: Iterable[TaskMessage], faults_shown: int = 10) -> TaskMessage:
    """All of them as one."""
    every = list(messages)
    return TaskMessage(
        tuple(entry for message in every for entry in message.entries),
        sum(message.rows for message in every),
        sum(message.size_bytes for message in every),
        sum(message.faults for message in every),
        tuple(fault for message in every for fault in message.first_faults)[:faults_shown],
        sum(message.put_bytes for message in every),
    )


_decoder = msgspec.msgpack.Decoder(TaskMessage)


class TaskFailed(Exception):
    """As an executor raises it."""


@contextmanager
def reports_errors() -> Iterator[None]:
    """Around what a task does: its errors reach the driver."""
    try:
        yield
    except LochanError as error:
        marked = base64.b64encode(msgspec.msgpack.encode([error.kind, error.message, error.hint])).decode()
        raise TaskFailed(f"{error} lochan-error:{marked}:") from error


def error_of(error: Exception) -> LochanError:
    """The error that a task raised, from what Spark raises."""
    if isinstance(error, LochanError):
        return error
    text = str(error)
    found = _MARKED.search(text)
    if found is not None:
        kind, message, hint = msgspec.msgpack.decode(base64.b64decode(found[1]))
        return _kinds().get(kind, Refused)(message, hint=hint)
    _, lost, behind = text.partition("ExecutorLostFailure ")
    why = behind.partition("\n")[0].partition(" Reason: ")[2].strip().removesuffix(".")
    if lost and why:
        return Refused(
            f"Spark has failed: executors kept dying on the same task; the last one: {why}",
            hint="nothing was changed; they probably ran out of memory: raise spark.executor.memory, or its overhead",
        )
    raised = _RAISED.findall(text.partition("\n\tat ")[0])
    why = raised[-1] if raised else text.strip().partition("\n")[0]
    return Refused(f"Spark has failed: {why}", hint="nothing was changed; see the log of Spark")


def _kinds() -> dict[str, type[LochanError]]:
    """Those that are made of a message and a hint alone."""
    every = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, LochanError)]
    return {each.kind: each for each in every if each.__init__ is LochanError.__init__}
