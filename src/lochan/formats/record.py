"""A journal record: what one append made durable. Stored on disk: fields may only be added at the end.

    record ── entries ── changes
    one put   one request  one event: type, version, payload

An entry is one request, and is applied completely or not at all. Several requests share a record by group commit.
"""

from typing import NamedTuple

import msgspec

from lochan.formats import frame

MAGIC = b"LOCHANJR"
VERSION = 1
GENESIS = bytes(32)  # the predecessor of record 1


# Records and what is in them are in no reference cycle, so the garbage collector leaves them out (`gc=False`).
class Actor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The sender of a request: the user, the program (name/version), and where it called from.

    The server authenticates the user; on the command line it is the system's user. The author is the person that the
    user claims to act for, which is not checked."""

    user: str
    client: str
    source: str
    author: str = ""

    @property
    def name(self) -> str:
        """The default author of a commit."""
        return self.author or self.user


def address_of(source: str) -> str:
    """Returns the address part of an actor's source. A server has it as Granian writes it: `127.0.0.1:4711`,
    `[::1]:4711`."""
    host = source.rpartition(":")[0] if source.count(":") == 1 or source.startswith("[") else source
    return host.strip("[]")


class RecordChange(msgspec.Struct, frozen=True, array_like=True, gc=False):
    type: str
    version: int
    payload: msgspec.Raw


class CarriedRequest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A request of the same user that is carried out by another request's changes."""

    key: str
    fingerprint: bytes


class RecordEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    actor: Actor
    key: str  # the idempotency key, or "" if there is none (rule J8)
    fingerprint: bytes
    changes: tuple[RecordChange, ...]
    pending: bool = False  # whether it opens a long job: its key is held until an entry with the same key closes it
    others: tuple[CarriedRequest, ...] = ()  # requests that the changes carry out too, with the same result


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    number: int
    put_id: bytes  # random, to distinguish our put from another writer's with the same number (J1, J2)
    writer: str
    time: int  # wall-clock time in microseconds; it is for people, and orders nothing
    journal: str  # a repository's id, or _lake
    previous: bytes  # the digest of record number-1, for the hash chain
    entries: tuple[RecordEntry, ...]


class SealedRecord(NamedTuple):
    """A record with the bytes it is stored as."""

    record: Record
    data: bytes

    @property
    def digest(self) -> bytes:
        return frame.digest(self.data)


def encode(record: Record) -> SealedRecord:
    stored = (
        *(record.number, record.put_id, record.writer, record.time, record.journal, record.previous),
        [_as_stored(entry) for entry in record.entries],
    )
    return SealedRecord(record, frame.seal(MAGIC, VERSION, _encoder.encode(stored)))


def _as_stored(entry: RecordEntry) -> tuple[object, ...]:
    """Returns the entry as it was stored before actors had authors, and before there were entries of several requests,
    unless it has these. A tuple is stored as a struct is, and takes less time to make."""
    by = entry.actor
    actor = by if by.author else (by.user, by.client, by.source)
    if entry.others:
        return actor, entry.key, entry.fingerprint, entry.changes, entry.pending, entry.others
    return actor, entry.key, entry.fingerprint, entry.changes, entry.pending


def decode(data: bytes, what: str) -> SealedRecord:
    """Returns the record. Raises Corrupt or FutureFormat, naming `what`."""
    return SealedRecord(frame.decode(MAGIC, VERSION, data, what, _decoder), data)


def decode_checked(data: bytes) -> SealedRecord:
    """Returns a record whose checksum was compared before."""
    return SealedRecord(_decoder.decode(memoryview(data)[frame.HEAD_BYTES : -frame.DIGEST_BYTES]), data)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)
