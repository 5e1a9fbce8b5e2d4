import msgspec
import pytest

from lochan.errors import Corrupt, FutureFormat
from lochan.formats import frame, lake_file
from lochan.formats import record as records
from lochan.formats.events import Vocabulary
from lochan.formats.lake_events import RepositoryCreated, RepositoryDeleted
from lochan.formats.record import GENESIS, Actor, Record, RecordChange, RecordEntry

_DELETED = RecordChange("repository-deleted", 1, msgspec.Raw(msgspec.msgpack.encode({"id": "id"})))
ENTRY = RecordEntry(Actor("ann", "cli/1", "host"), "", b"", (_DELETED,))
RECORD = Record(1, b"p" * 16, "writer", 1_700_000_000_000_000, "_lake", GENESIS, (ENTRY,))


def test_a_record_comes_back_equal() -> None:
    sealed = records.encode(RECORD)
    assert records.decode(sealed.data, "it").record == RECORD
    assert records.decode(sealed.data, "it").digest == sealed.digest


def test_the_bytes_of_version_1_do_not_change() -> None:
    """Such bytes are on users' disks: if this fails, the format changed and needs a new version."""
    assert records.encode(RECORD).digest.hex() == "9242270c4199e77d1500d7783b4d2c1465d44e9885942ddc7fe319b43673e4ae"


def test_an_author_is_stored_beside_the_user_and_only_where_there_is_one() -> None:
    [entry, *rest] = RECORD.entries
    claimed = msgspec.structs.replace(entry, actor=msgspec.structs.replace(entry.actor, author="ada"))
    for each in (entry, claimed):
        record = msgspec.structs.replace(RECORD, entries=(each, *rest))
        assert records.decode(records.encode(record).data, "it").record == record


def test_a_field_added_by_a_later_lochan_is_passed_over() -> None:
    body = msgspec.msgpack.encode([*msgspec.msgpack.decode(msgspec.msgpack.encode(RECORD)), "new"])
    assert records.decode(frame.seal(records.MAGIC, 1, body), "it").record == RECORD


def test_a_sound_frame_round_nonsense_is_corrupt() -> None:
    with pytest.raises(Corrupt, match="valid checksum"):
        records.decode(frame.seal(records.MAGIC, 1, b"\xc1"), "record 3")


def test_events_that_are_too_new_are_refused() -> None:
    known = Vocabulary((RepositoryCreated, RepositoryDeleted))
    payload = msgspec.Raw(msgspec.msgpack.encode({"id": "x"}))
    assert known.decode(RecordChange("repository-deleted", 1, payload), "_lake", 5) == RepositoryDeleted("x")
    with pytest.raises(FutureFormat, match=r"record 5 of _lake holds event repository-deleted version 3; .*version 2"):
        known.decode(RecordChange("repository-deleted", 3, payload), "_lake", 5)
    with pytest.raises(FutureFormat, match=r"record 5 of _lake holds event wormhole-opened .*no event of that type"):
        known.decode(RecordChange("wormhole-opened", 1, payload), "_lake", 5)


def test_lake_json_is_read_back_and_a_newer_one_refused() -> None:
    file = lake_file.LakeFile(1, "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "store", 7)
    assert lake_file.decode(lake_file.encode(file), "file:///x") == file
    with pytest.raises(FutureFormat, match="has format 9; this Lochan reads up to 1"):
        lake_file.decode(b'{"format": 9, "whatever": []}', "file:///x")
    with pytest.raises(Corrupt, match=r"file:///x/lake.json cannot be read"):
        lake_file.decode(b"{", "file:///x")
    with pytest.raises(Corrupt, match=r"file:///x/lake.json cannot be read"):
        lake_file.decode(b'{"format": 1}', "file:///x")
