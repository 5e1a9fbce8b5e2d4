"""A segment of a repository's journal, checked and prepared for the fold by another process or a task of Spark.

    256 records ──▶ stretches of plain puts on one branch, their changes still encoded, and other records as they are

The fold itself goes through a journal in order, in one process. Other work is done here in parallel: checksums, the
hash chain within the segment, and parsing records. Changes are decoded only when they are needed, and those that a
commit or a compaction has replaced never are.

A process that is started for this loads in a third of the time because nothing here imports Arrow."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from lochan.errors import Corrupt
from lochan.formats import frame
from lochan.formats import record as records
from lochan.formats import segment as segments
from lochan.formats.record import Record
from lochan.journal.state import check_link


class RecordStretch(msgspec.Struct, frozen=True, array_like=True):
    """Plain puts and deletes of consecutive records."""

    branch: str
    number: int  # the number of the last record
    digest: bytes  # the digest of that record
    count: int  # the number of changes
    changes: bytes  # MessagePack: entries, and paths of tombstones, in order


class SegmentDigest(msgspec.Struct, frozen=True, array_like=True):
    """The digest of a segment. It goes from one process to another, and is never stored."""

    first: int
    last: int
    previous: bytes  # the digest that the first record names
    digest: bytes  # the digest of the last record
    events: int
    items: list[RecordStretch | bytes]  # a record is in it as its bytes


class _RawPuts(msgspec.Struct):
    """A `Staged` event, with its entries as they are stored."""

    branch: str
    puts: list[msgspec.Raw] = []
    deletes: list[msgspec.Raw] = []
    read_at: int = 0
    checked: int = 0
    closes: list[str] = []
    completes: str = ""


class _NamedEntry(msgspec.Struct, array_like=True):
    """The first field of an `Entry`."""

    path: str


def digest_segment(data: bytes, journal: str, group: int, stops: Collection[int] = ()) -> bytes:
    """Returns a SegmentDigest, encoded. A stretch ends with each of `stops`. Raises Corrupt for anything that is wrong.
    A caller that needs to know more reads the records one by one."""
    segment = segments.decode(data, f"segment {group} of {journal}")
    if segment.group != group or not segment.records:
        raise Corrupt(f"segment {group} of {journal} holds group {segment.group}")
    items: list[RecordStretch | bytes] = []
    open_stretch: _Open | None = None
    number, digest, previous, events = segment.first - 1, None, b"", 0
    for raw in segment.records:
        sealed = records.decode(raw, f"record {number + 1} of {journal}")
        check_link(sealed, journal, number, digest)
        previous = previous or sealed.record.previous
        number, digest = sealed.record.number, sealed.digest
        events += sum(len(entry.changes) for entry in sealed.record.entries)
        found = _plain(sealed.record)
        if open_stretch is not None and (found is None or found.branch != open_stretch.branch):
            items.append(open_stretch.closed())
            open_stretch = None
        if found is None:
            items.append(raw)
            continue
        open_stretch = found if open_stretch is None else open_stretch.joined(found)
        open_stretch.number, open_stretch.digest = number, digest
        if number in stops:
            items.append(open_stretch.closed())
            open_stretch = None
    if open_stretch is not None:
        items.append(open_stretch.closed())
    last = frame.digest(segment.records[-1])
    return _encoder.encode(SegmentDigest(segment.first, number, previous, last, events, items))


def is_loaded() -> bool:
    """Returns True. It is called in another process, which has then loaded all that `digest_segment` needs."""
    return True


def decode_digest(data: bytes) -> SegmentDigest:
    return _decoder.decode(data)


class _Open:
    def __init__(self, branch: str, parts: list[bytes], count: int) -> None:
        self.branch = branch
        self.number = 0
        self.digest = b""
        self._parts = parts
        self._count = count

    def joined(self, other: _Open) -> _Open:
        self._parts += other._parts
        self._count += other._count
        return self

    def closed(self) -> RecordStretch:
        head = b"\xdd" + self._count.to_bytes(4, "big")  # MessagePack's array of so many
        return RecordStretch(self.branch, self.number, self.digest, self._count, head + b"".join(self._parts))


def _plain(record: Record) -> _Open | None:
    """Returns the changes of a record that has nothing but plain puts and deletes on one branch, or None."""
    branch, parts, count = "", [], 0
    for entry in record.entries:
        if entry.key or entry.pending or len(entry.changes) != 1:
            return None
        change = entry.changes[0]
        if change.type != STAGED or change.version != 1:
            return None
        event = _raw.decode(change.payload)
        if event.read_at or event.checked or event.closes or event.completes or (branch and event.branch != branch):
            return None
        several = len(event.puts) + len(event.deletes)
        if several != 1 and not _are_distinct(change.payload, several):
            return None
        branch = event.branch
        parts += event.puts
        parts += event.deletes
        count += several
    return _Open(branch, [bytes(each) for each in parts], count) if count else None


def _are_distinct(payload: msgspec.Raw, count: int) -> bool:
    event = _raw.decode(payload)
    paths = {*(_named.decode(each).path for each in event.puts), *(_path.decode(each) for each in event.deletes)}
    return len(paths) == count > 0


STAGED = "staged"  # the type of `Staged`
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(SegmentDigest)
_raw = msgspec.msgpack.Decoder(_RawPuts)
_named = msgspec.msgpack.Decoder(_NamedEntry)
_path = msgspec.msgpack.Decoder(str)
