"""The fold of multipart uploads: what a part costs, and what a checkpoint keeps."""

from time import process_time

import msgspec
import pytest

from lochan.formats.entry import Block
from lochan.formats.repository_events import PartPut, UploadOpened
from lochan.journal.state import EventPosition
from lochan.versioning.state.uploads import KeptUpload, Uploads

MANY = 10_000


def at(number: int) -> EventPosition:
    return EventPosition(number, number, "ann")


def put(number: int, etag: str = "") -> PartPut:
    return PartPut("u", number, (Block("r/data/x", 0, 5, b"0" * 32),), 5, etag or f"{number:032x}")


def opened() -> Uploads:
    uploads = Uploads()
    uploads.open(UploadOpened("u", "main", "big"), at(1))
    return uploads


def folded(count: int) -> Uploads:
    uploads = opened()
    for number in range(1, count + 1):
        fork = uploads.fork()  # as the fold does it for each record
        fork.put(put(number), at(number))
        fork.join()
    return uploads


def seconds_each(count: int) -> float:
    def once() -> float:
        begun = process_time()
        folded(count)
        return (process_time() - begun) / count

    return min(once() for _ in range(3))


@pytest.mark.thorough
def test_the_ten_thousandth_part_costs_what_the_first_does() -> None:
    seconds_each(100)
    assert seconds_each(MANY) < 2.5 * seconds_each(500)  # copying all of them each time made it six


def test_parts_come_by_number_and_the_last_of_a_number_counts() -> None:
    uploads = opened()
    for number in (7, MANY, 1, 7):
        uploads.put(put(number, f"{uploads.part('u', number) is not None}"), at(number))
    assert [(part.number, part.etag) for part in uploads.parts("u")] == [(1, "False"), (7, "True"), (MANY, "False")]
    assert uploads.part("u", 2) is None and uploads.parts("another") == []


def test_a_fork_keeps_its_parts_to_itself() -> None:
    uploads = folded(3)
    fork = uploads.fork()
    fork.put(put(4), at(4))
    assert (len(uploads.parts("u")), len(fork.parts("u"))) == (3, 4)
    fork.close("u")
    assert (len(uploads.parts("u")), fork.parts("u"), fork.find("u")) == (3, [], None)
    fork.join()
    assert (uploads.parts("u"), uploads.find("u")) == ([], None)
    uploads.open(UploadOpened("u", "main", "again"), at(9))
    assert uploads.parts("u") == []


def test_a_checkpoint_keeps_them() -> None:
    uploads = folded(20)
    data = msgspec.msgpack.encode(uploads.dump())
    again = Uploads()
    again.load(msgspec.msgpack.decode(data, type=list[KeptUpload]))
    assert again.parts("u") == uploads.parts("u") and again.all() == uploads.all()
    assert msgspec.msgpack.encode(again.dump()) == data
