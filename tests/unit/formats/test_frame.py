"""The frame around a file's content: its checksum, and what happens to damaged bytes."""

import pytest

from lochan.errors import Corrupt, FutureFormat
from lochan.formats import frame

MAGIC = b"LOCHANXX"


def test_what_was_sealed_comes_out() -> None:
    assert bytes(frame.unseal(MAGIC, 1, frame.seal(MAGIC, 1, b"body"), "it")) == b"body"


def test_every_flipped_bit_is_damage_never_the_future() -> None:
    data = frame.seal(MAGIC, 1, b"some body")
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Corrupt):
            frame.unseal(MAGIC, 1, bytes(flipped), "it")


def test_every_cut_is_damage() -> None:
    data = frame.seal(MAGIC, 1, b"some body")
    for length in range(len(data)):
        with pytest.raises(Corrupt):
            frame.unseal(MAGIC, 1, data[:length], "it")


def test_another_file_in_its_place_is_named() -> None:
    with pytest.raises(Corrupt, match="record 7 does not begin with LOCHANXX"):
        frame.unseal(MAGIC, 1, frame.seal(b"LOCHANYY", 1, b"body"), "record 7")


def test_a_newer_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(FutureFormat, match=r"format version 2; this Lochan reads up to 1 .*upgrade"):
        frame.unseal(MAGIC, 1, frame.seal(MAGIC, 2, b"body"), "record 7")
