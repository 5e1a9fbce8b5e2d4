"""Hard links to the cache: shared while nobody changes them, and never handed out once somebody has."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lochan.api.blocking import Branch, Lake
from lochan.checkout.cache import ContentCache
from lochan.errors import Refused
from lochan.versioning.bodies.read import BodyReader
from tests.unit.checkout.conftest import FIRST
from tests.unit.checkout.test_checkout import changes, files


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache. Whoever runs the tests is not root."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return tmp_path / "cache"


def test_root_gets_none(main: Branch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Refused, match="not for root"):
        main.checkout(tmp_path / "out", cache=tmp_path / "cache")
    assert not (tmp_path / "out").exists()


def test_two_checkouts_share_their_files(
    main: Branch, lake: Lake, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main.checkout(tmp_path / "one", cache=place)
    monkeypatch.setattr(BodyReader, "read_now", None)  # nothing is read again
    monkeypatch.setattr(BodyReader, "read", None)
    assert main.checkout(tmp_path / "two", cache=place).written == len(FIRST)
    for path, body in FIRST.items():
        one, two = tmp_path / "one" / path, tmp_path / "two" / path
        assert two.read_bytes() == body
        if body:
            assert one.stat().st_ino == two.stat().st_ino
            assert one.stat().st_mode & 0o777 == 0o444
    assert changes(lake.checkout(tmp_path / "two").status()) == []


def test_a_file_that_is_replaced_is_a_change_of_one_checkout(
    main: Branch, lake: Lake, place: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        main.checkout(tmp_path / name, cache=place)
    (tmp_path / "new").write_text("uno\n")
    (tmp_path / "new").replace(tmp_path / "one" / "a.txt")
    assert changes(lake.checkout(tmp_path / "one").status()) == [("changed", "a.txt")]
    assert changes(lake.checkout(tmp_path / "two").status()) == []
    lake.checkout(tmp_path / "one").commit("uno")
    assert lake.checkout(tmp_path / "two").pull().written == 1
    assert files(tmp_path / "two") == FIRST | {"a.txt": b"uno\n"}


def test_an_edit_in_place_does_not_come_out_of_the_cache(main: Branch, lake: Lake, place: Path, tmp_path: Path) -> None:
    """Also one of the same size, by somebody who made the file writable first."""
    main.checkout(tmp_path / "one", cache=place)
    edited = tmp_path / "one" / "a.txt"
    edited.chmod(0o644)
    edited.write_text("ONE\n")
    edited.chmod(0o444)
    main.checkout(tmp_path / "two", cache=place)
    assert files(tmp_path / "two") == FIRST
    assert changes(lake.checkout(tmp_path / "one").status()) == [("changed", "a.txt")]
    assert edited.read_text() == "ONE\n"


def test_a_file_of_another_size_time_or_mode_is_not_handed_out(tmp_path: Path) -> None:
    kept = ContentCache(tmp_path / "cache")
    spoils: list[Callable[[Path], object]] = [
        lambda file: os.truncate(file, 3),
        os.utime,
        lambda file: file.chmod(0o644),
        Path.unlink,
    ]
    for number, spoil in enumerate(spoils):
        part = tmp_path / f"part-{number}"
        part.write_text("four")
        file = kept.add("key", part)
        assert kept.find("key", 4) == file
        assert kept.find("other", 4) is None
        file.chmod(0o600)
        file.chmod(0o444)
        assert kept.find("key", 4) == file
        spoil(file)
        assert kept.find("key", 4) is None
