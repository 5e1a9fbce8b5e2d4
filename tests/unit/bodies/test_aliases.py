"""Aliases of spans: a table and a block are placed alike, and nothing is found where it is not."""

import random

import numpy as np
import pyarrow as pa
import pytest

from lochan.errors import Corrupt, FutureFormat
from lochan.formats import alias_table
from lochan.formats.alias_table import AliasRow
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import entries_of, table_of
from lochan.versioning.bodies.aliases import SPAN_SCHEMA, Aliases, overlapping, overlaps, resolve, table_of_spans

Row = tuple[str, int, int, str, int]


def aliases_of(*rows: Row) -> pa.Table:
    return alias_table.table_of(AliasRow(*row) for row in rows)


def random_rows(chance: random.Random) -> list[Row]:
    """Spans of a few files that do not overlap."""
    rows: list[Row] = []
    for file in ("ä", "a", "b/c", "b"):
        at = 0
        for number in range(chance.randrange(5)):
            at += chance.randrange(4)
            size = chance.randrange(1, 6)
            rows.append((file, at, size, f"target-{file}-{number}", chance.randrange(9)))
            at += size
    return rows


def brute(rows: list[Row], block: Block) -> Block:
    for address, offset, size, target, at in rows:
        if address == block.address and offset <= block.offset and block.offset + block.size <= offset + size:
            return Block(target, at + block.offset - offset, block.size, block.sha256)
    return block


@pytest.mark.parametrize("seed", range(30))
def test_a_table_and_a_block_are_placed_as_by_looking_at_every_alias(seed: int) -> None:
    chance = random.Random(seed)
    rows = random_rows(chance)
    aliases = Aliases([aliases_of(*rows[::2]), aliases_of(*rows[1::2])])
    blocks = [
        Block(chance.choice(("ä", "a", "b", "b/c", "z")), chance.randrange(20), chance.randrange(1, 6), bytes([n]))
        for n in range(40)
    ]
    expected = [brute(rows, block) for block in blocks]
    assert [aliases.place(block) for block in blocks] == expected
    found = resolve(table_of_spans(blocks), aliases.table)
    assert found.select(SPAN_SCHEMA.names).equals(table_of_spans(expected))
    entries = [Entry(f"{n:02}", tuple(blocks[n : n + n % 4]), 0, "", "", 0) for n in range(37)]
    placed = aliases.place_table(table_of(entries).slice(3))
    assert entries_of(placed) == [aliases.place_entry(entry) for entry in entries[3:]]
    touched = overlaps(table_of_spans(blocks), aliases.table)
    for block, is_touched in zip(blocks, touched.tolist(), strict=True):
        pieces = [r for r in rows if r[0] == block.address and r[1] < block.offset + block.size]
        assert is_touched == any(offset + size > block.offset for _, offset, size, _, _ in pieces)


def test_an_alias_of_a_file_from_before_there_were_tables_leads_to_every_span_of_it() -> None:
    aliases = Aliases((), {"old": "new"})
    assert aliases.place(Block("old", 7, 3, b"x")) == Block("new", 7, 3, b"x")
    assert aliases.place(Block("older", 7, 3, b"x")) == Block("older", 7, 3, b"x")


def test_aliases_that_claim_the_same_bytes_are_refused() -> None:
    with pytest.raises(Corrupt, match="two aliases claim the same bytes of a"):
        Aliases([aliases_of(("a", 0, 5, "x", 0)), aliases_of(("a", 4, 2, "y", 0))])
    assert len(overlapping(aliases_of(("a", 0, 5, "x", 0), ("a", 5, 2, "y", 0)))) == 0


def test_a_table_comes_back_and_a_flipped_bit_is_refused_by_name() -> None:
    rows = aliases_of(("b", 3, 2, "y", 1), ("a", 0, 5, "x", 0))
    name, data = alias_table.encode(rows, "repo", 17)
    assert name.startswith("aliases/") and name.endswith(f"-{17:020d}.parquet")
    assert alias_table.decode(name, data, "repo").equals(alias_table.in_order(rows))
    with pytest.raises(Corrupt, match="another repository"):
        alias_table.decode(name, data, "other")
    for at in np.linspace(0, len(data) - 1, 50).astype(int).tolist():
        wrong = bytearray(data)
        wrong[at] ^= 1
        with pytest.raises((Corrupt, FutureFormat), match=name):
            alias_table.decode(name, bytes(wrong), "repo")
