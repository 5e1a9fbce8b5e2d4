"""Which checkpoints are no longer needed, and which records are still in memory."""

from lochan.journal.recent_records import RecentRecords
from lochan.journal.slots import FoundCheckpoint
from lochan.journal.trim import superfluous

HOUR = 3_600.0


def test_on_a_disk_the_newest_four_stay() -> None:
    assert superfluous([FoundCheckpoint(n, 0.0) for n in range(1, 8)], None) == [1, 2, 3]
    assert superfluous([FoundCheckpoint(1, 0.0)], None) == []


def test_in_a_bucket_one_an_hour_stays_for_two_days() -> None:
    """Or, under steady writing, none past a group would ever be a day old, and no slot could go."""
    every_ten_minutes = [FoundCheckpoint(n, n * HOUR / 6) for n in range(72 * 6)]
    now = 72 * HOUR
    dropped = set(superfluous(every_ten_minutes, now))
    kept = [found for found in every_ten_minutes if found.number not in dropped]
    assert kept[-4:] == every_ten_minutes[-4:]
    assert 46 <= len(kept) <= 54
    assert any(now - found.modified > 24 * HOUR for found in kept)
    assert superfluous(kept, now) == []


def test_the_oldest_records_are_forgotten_first() -> None:
    recent = RecentRecords(bytes_max=10)
    recent.begin()
    for number in range(1, 5):
        recent.add(number, b"abc")
    assert recent.span(2, 4) == [b"abc"] * 3
    assert recent.span(1, 4) is None, "three have room"
    assert recent.span(4, 5) is None, "it is not there yet"
    recent.forget_below(4)
    assert (recent.span(3, 4), recent.span(4, 4)) == (None, [b"abc"])


def test_a_reader_remembers_little() -> None:
    recent = RecentRecords()
    for number in range(1, 4):
        recent.add(number, bytes(100 << 10))
    assert recent.span(1, 3) is None
    assert recent.span(2, 3) is not None
