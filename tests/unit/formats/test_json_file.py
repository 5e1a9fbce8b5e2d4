"""Small JSON files, and key files: any flipped bit is reported as damage."""

import msgspec
import pytest

from lochan.errors import Corrupt, FutureFormat
from lochan.formats import job, key_file, lake_file
from lochan.formats.job import JobLogLine, JobRecord, JobStageRecord
from lochan.formats.lake_file import LakeFile

LAKE = LakeFile(1, "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "postgres", 1_700_000_000_000_000)
JOB = JobRecord(
    *(1, "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "query", "logs@main", "ann", "cli", "here", "local[2]", 5, 6),
    error='it said "checksum": "' + "a" * 64 + '"',
    stages=(JobStageRecord(1, "a", 2, 3),),
    lines=(JobLogLine(7, "näme"),),
)
OLD = msgspec.json.format(msgspec.json.encode(LAKE)) + b"\n"


def _flips(data: bytes) -> list[bytes]:
    return [data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :] for at in range(len(data)) for bit in range(8)]


def test_they_come_back_as_they_were() -> None:
    assert lake_file.decode(lake_file.encode(LAKE), "file:///x") == LAKE
    assert job.decode(job.encode(JOB), "x") == JOB
    assert key_file.decode(key_file.encode(b"k" * 32), "x") == b"k" * 32


def test_every_flipped_bit_is_found() -> None:
    for damaged in _flips(lake_file.encode(LAKE)):
        with pytest.raises(Corrupt, match=r"^file:///x/lake.json "):
            lake_file.decode(damaged, "file:///x")
    for damaged in _flips(job.encode(JOB)):
        with pytest.raises(Corrupt, match=r"^x "):
            job.decode(damaged, "x")
    for damaged in _flips(key_file.encode(b"k" * 32)):
        with pytest.raises(Corrupt, match=r"^x is damaged: it is not the key"):
            key_file.decode(damaged, "x")


def test_every_end_that_is_missing_is_found() -> None:
    data = lake_file.encode(LAKE)
    for size in range(len(data) - 2):  # without the last line break it says the same
        with pytest.raises(Corrupt):
            lake_file.decode(data[:size], "file:///x")
    with pytest.raises(Corrupt):
        key_file.decode(b"k" * 31, "x")


def test_files_without_a_checksum_are_read_and_no_flip_is_a_raw_exception() -> None:
    assert lake_file.decode(OLD, "file:///x") == LAKE
    assert job.decode(msgspec.json.encode(JOB), "x") == JOB
    assert key_file.decode(b"k" * 32, "x") == b"k" * 32
    noticed = 0
    for damaged in _flips(OLD):
        try:
            found = lake_file.decode(damaged, "file:///x")
            assert len(found.lake) == 27
        except (Corrupt, FutureFormat):
            noticed += 1
    assert noticed > len(_flips(OLD)) / 2


@pytest.mark.parametrize(
    "text, why",
    [
        (b'{"format": 0, "lake": "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X"}', "there is no format 0"),
        (b'{"format": 1, "lake": "short"}', "'short' is not the id of a lake"),
        (b'{"format": 1, "lake": "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "journal": "stone"}', "'stone' is not a place"),
        (b'{"format": 1, "lake": "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "created": -1}', "its creation time is -1"),
        (b'{"format": 1, "lake": "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "kournal": "store"}', "an unknown field: 'kournal'"),
        (b'{"format": true, "lake": "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X"}', "cannot be read"),
        (b'{"format": 1}', "cannot be read"),
        (b'{"format": 1, "lake": "\xff"}', "cannot be read"),
        (b"[1]", "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_values_that_no_lake_has(text: bytes, why: str) -> None:
    with pytest.raises(Corrupt, match=why):
        lake_file.decode(text, "file:///x")
