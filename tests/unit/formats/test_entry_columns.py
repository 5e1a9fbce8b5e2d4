"""Rows read from columns are the entries that were written, whatever their values have in common."""

import random
from itertools import pairwise

import pytest

from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import EntryRows, as_batch, table_of

LETTERS = "ab/ü"


def entry(path: str, number: int, *, plain: bool = False) -> Entry:
    """With `plain`, all values have one length, and the content type is the same everywhere."""
    block = Block("r/data/one" if plain else f"r/data/{number}", number, 7, bytes([number % 256]) * 32)
    if plain:
        return Entry(path, (block,), 7, f"{number:032x}", f"{number:032x}", 1_000 + number, "text/plain")
    return Entry(
        path,
        (block,) * (number % 3),
        7 * (number % 3),
        f"{number:032x}",
        f"{number:x}-{number % 5}",
        number,
        "text/plain" if number % 4 else "",
        checksums={"CRC32": "x"} if number % 7 == 0 else {},
        headers={"expires": "never"} if number % 11 == 0 else {},
        metadata={"a": "b"} if number % 13 == 0 else {},
    )


@pytest.mark.parametrize("plain", [True, False])
def test_a_row_is_its_entry(plain: bool) -> None:
    entries = [entry(f"p/{number:04d}", number, plain=plain) for number in range(200)]
    whole = as_batch(table_of(entries))
    for first in (0, 37):  # a slice begins somewhere in its buffers
        rows = EntryRows(whole.slice(first))
        for row, expected in enumerate(entries[first:]):
            assert rows.entry(row) == expected
            told = rows.brief(row)
            if expected.checksums or expected.headers or expected.metadata:
                assert told is None
            else:
                assert told == (expected.size, expected.etag, expected.mtime, expected.content_type)
            assert rows.block(row) == (expected.blocks[0] if len(expected.blocks) == 1 else None)


@pytest.mark.parametrize("seed", range(20))
def test_a_path_is_found_and_no_other(seed: int) -> None:
    """Also one that stands inside of another path, or across the end of one and the beginning of the next."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(LETTERS, k=chance.randrange(1, 7))) for _ in range(600)]
    paths = sorted(set(words), key=str.encode)
    asked = {*words, *(word[1:] for word in words if len(word) > 1)}
    asked |= {one + other for one, other in pairwise(paths)} | {"", "zzz", "A"}
    paths = paths[:: chance.choice((1, 2))]
    rows = EntryRows(as_batch(table_of([entry(path, 1) for path in paths])))
    numbers = {path: row for row, path in enumerate(paths)}
    for path in asked:
        assert rows.find(path.encode()) == numbers.get(path, -1), path
