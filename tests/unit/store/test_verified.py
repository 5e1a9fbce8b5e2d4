"""Marks of checked files: other processes find them, losing them does no harm, and their number is bounded."""

from pathlib import Path

import pytest

from lochan.store import verified_files
from lochan.store.verified_files import VerifiedFiles
from tests.unit.store.clocks import StillClock

SHA = b"s" * 32
STAMP = (1, 2, 3, 4, 5)


def test_a_mark_is_found_by_name_stamp_and_digest_alone(tmp_path: Path) -> None:
    marks = VerifiedFiles("file:///lake", StillClock(), str(tmp_path / "deep" / "marks"))
    marks.add("a", STAMP, SHA)
    marks.save()
    for each in (marks, VerifiedFiles("file:///lake", StillClock(), str(tmp_path / "deep" / "marks"))):
        assert each.has("a", STAMP, SHA)
        assert not each.has("b", STAMP, SHA)
        assert not each.has("a", (1, 2, 3, 4, 6), SHA)
        assert not each.has("a", STAMP, b"t" * 32)
        assert not each.has("a", None, SHA)
    assert not VerifiedFiles("file:///other", StillClock(), str(tmp_path / "deep" / "marks")).has("a", STAMP, SHA)
    assert (tmp_path / "deep" / "marks").stat().st_mode & 0o777 == 0o600


def test_a_mark_ends_within_a_week(tmp_path: Path) -> None:
    clock = StillClock()
    marks = VerifiedFiles("file:///lake", clock, str(tmp_path / "marks"))
    for number in range(100):
        marks.add(str(number), STAMP, SHA)
    clock.now += 86_400 * 3.5
    left = sum(marks.has(str(number), STAMP, SHA) for number in range(100))
    assert 20 < left < 80  # not all on one day
    clock.now += 86_400 * 3.5
    assert not any(marks.has(str(number), STAMP, SHA) for number in range(100))


def test_a_flipped_bit_or_a_torn_end_costs_a_mark_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "marks"
    names = [str(number) for number in range(50)]
    marks = VerifiedFiles("file:///lake", StillClock(), str(file))
    for name in names:
        marks.add(name, STAMP, SHA)
    marks.save()
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        found = VerifiedFiles("file:///lake", StillClock(), str(file))
        assert [name for name in names if not found.has(name, STAMP, SHA)] == [names[at // 8]]
    file.write_bytes(whole[:-3])
    torn = VerifiedFiles("file:///lake", StillClock(), str(file))
    torn.add("last", STAMP, SHA)
    torn.save()
    found = VerifiedFiles("file:///lake", StillClock(), str(file))
    assert [name for name in [*names, "last"] if not found.has(name, STAMP, SHA)] == [names[-1]]


def test_there_are_never_more_than_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified_files, "_MARKS_MAX", 100)
    file = tmp_path / "marks"
    marks = VerifiedFiles("file:///lake", StillClock(), str(file))
    for number in range(1_000):
        marks.add(str(number), STAMP, SHA)
        marks.save()
        assert file.stat().st_size <= 102 * 8
    found = VerifiedFiles("file:///lake", StillClock(), str(file))
    assert found.has("999", STAMP, SHA)
    assert not found.has("0", STAMP, SHA)


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    marks = VerifiedFiles("file:///lake", StillClock(), str(tmp_path / "file" / "marks"))
    marks.add("a", STAMP, SHA)
    marks.save()
    assert marks.has("a", STAMP, SHA)
