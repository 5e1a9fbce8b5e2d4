"""What tasks tell the driver: the objects they wrote, with all that a plan needs of them, and never a row.

Through Spark it goes as one binary column, a message in each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import pyarrow as pa

from lochan.formats.entry import Entry
from lochan.pools.faults import Fault

COLUMN = "message"
SCHEMA = pa.schema([pa.field(COLUMN, pa.binary())])
SPARK_SCHEMA = f"{COLUMN} binary"


class Message(msgspec.Struct, frozen=True, array_like=True):
    entries: tuple[Entry, ...] = ()  # objects that are on the store, and that nobody knows of yet
    rows: int = 0  # in them
    size_bytes: int = 0  # of them
    faults: int = 0  # lines that were no rows
    first_faults: tuple[Fault, ...] = ()
    put_bytes: int = 0  # that the task put to the store since its last message


def encode(message: Message) -> bytes:
    return msgspec.msgpack.encode(message)


def decode(data: bytes) -> Message:
    return _decoder.decode(data)


def as_batches(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    """For a function that Spark gives Arrow batches to, and takes them from."""
    for message in messages:
        yield pa.RecordBatch.from_arrays([pa.array([encode(message)], pa.binary())], schema=SCHEMA)


def from_table(table: pa.Table) -> list[Message]:
    return [decode(data) for data in table[COLUMN].to_pylist()]


def together(messages: Iterable[Message], faults_shown: int = 10) -> Message:
    """All of them as one."""
    every = list(messages)
    return Message(
        tuple(entry for message in every for entry in message.entries),
        sum(message.rows for message in every),
        sum(message.size_bytes for message in every),
        sum(message.faults for message in every),
        tuple(fault for message in every for fault in message.first_faults)[:faults_shown],
        sum(message.put_bytes for message in every),
    )


_decoder = msgspec.msgpack.Decoder(Message)
