"""Compares the bytes that the entries of a repository need with the files that the store has.

Entries come batch by batch. Only blocks in the lake itself are checked. Files outside it belong to others and may
change; a read of such a file reports that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid, NotFound
from lochan.formats.entry import Block
from lochan.store.protocol import Store
from lochan.versioning.bodies.aliases import Aliases, resolve

_REPORTED_MAX = 1_000
BLOCKS = pa.schema(
    [
        ("address", pa.string()),
        ("offset", pa.int64()),
        ("size", pa.int64()),
        ("sha256", pa.binary()),
        ("path", pa.string()),  # the path of an entry that has the block
    ]
)


class BlockDamage(NamedTuple):
    kind: str  # data-missing, data-short, data-damaged
    address: str
    path: str  # the path of an entry
    detail: str


class BlockListCheck:
    """Checks blocks against a listing. `aliases` have the places where the bytes of an address are now."""

    def __init__(self, files: pa.Table, aliases: Aliases) -> None:
        """Starts a check. `files` has the columns `path` and `size`."""
        self._files = files["path"].combine_chunks()
        self._sizes = files["size"].combine_chunks()
        self._aliases = aliases
        self.damaged: dict[str, BlockDamage] = {}
        self.count = 0  # the number of blocks that were checked
        self.more = 0  # the number of damaged blocks that are not listed

    def add(self, entries: pa.RecordBatch) -> None:
        self.add_blocks(blocks_of(entries))

    def add_blocks(self, blocks: pa.Table) -> None:
        blocks = resolve_aliases(blocks, self._aliases)
        self.count += len(blocks)
        at = pc.index_in(blocks["address"], value_set=self._files)
        has = pc.fill_null(self._sizes.take(at.combine_chunks()), -1)
        needs = pc.add(blocks["offset"], blocks["size"])
        wrong = pc.less(pa.chunked_array([has]), needs)
        # An empty body needs no bytes, but it needs a file.
        wrong = pc.or_(wrong, pc.equal(pa.chunked_array([has]), -1))
        if not pc.any(wrong).as_py():
            return
        mask = wrong.combine_chunks()
        found = blocks.filter(mask)
        sizes = has.filter(mask).to_pylist()
        for row, size in zip(found.select(["address", "path", "offset", "size"]).to_pylist(), sizes, strict=True):
            self._report(row, size)

    def _report(self, row: dict[str, object], size: int) -> None:
        address = str(row["address"])
        if address in self.damaged:
            return
        if len(self.damaged) >= _REPORTED_MAX:
            self.more += 1
            return
        needed = int(str(row["offset"])) + int(str(row["size"]))
        kind, detail = ("data-missing", "") if size < 0 else ("data-short", f"it has {size} bytes of {needed}")
        self.damaged[address] = BlockDamage(kind, address, str(row["path"]), detail)


def blocks_of(entries: pa.RecordBatch) -> pa.Table:
    """Returns the blocks in the lake, without those of tombstones and of files outside it."""
    column = entries.column("blocks")
    flat = pc.list_flatten(column)
    paths = entries.column("path").take(pc.list_parent_indices(column))
    fields = [pc.struct_field(flat, name) for name in ("address", "offset", "size", "sha256")]
    table = pa.table([*fields, paths], names=BLOCKS.names).cast(BLOCKS)
    return table.filter(pc.invert(pc.match_substring(table["address"], "://")))


def table_of_blocks(blocks: Iterable[Block], path: str = "") -> pa.Table:
    rows = [(each.address, each.offset, each.size, each.sha256, path) for each in blocks if "://" not in each.address]
    columns = zip(*rows, strict=True) if rows else ([] for _ in BLOCKS)
    return pa.table([pa.array(list(each), field.type) for each, field in zip(columns, BLOCKS, strict=True)], BLOCKS)


def resolve_aliases(blocks: pa.Table, aliases: Aliases) -> pa.Table:
    """Returns the blocks with the places that they are read from."""
    if not len(aliases) or not len(blocks):
        return blocks
    found = resolve(blocks.combine_chunks(), aliases.table)
    return blocks.set_column(0, "address", found["address"]).set_column(1, "offset", found["offset"]).cast(BLOCKS)


async def check_bytes(store: Store, blocks: pa.Table) -> list[BlockDamage]:
    """Reads each file once, and hashes its blocks. REQUIRES: the blocks are sorted by address and offset."""
    found = [await check_file(store, each) for each in by_address(blocks)]
    return [each for each in found if each is not None]


def by_address(blocks: pa.Table) -> Iterator[pa.Table]:
    """Yields the blocks of one file after the other. REQUIRES: they are sorted by address."""
    if not len(blocks):
        return
    addresses = blocks["address"].combine_chunks()
    ends = np.flatnonzero(pc.not_equal(addresses[1:], addresses[:-1]).to_numpy(zero_copy_only=False)) + 1
    for start, stop in zip([0, *ends], [*ends, len(addresses)], strict=True):
        yield blocks.slice(start, stop - start)


def check_blocks(data: bytes, blocks: pa.Table) -> str:
    """Returns what is wrong with the bytes of one file, or an empty text."""
    for row in blocks.to_pylist():
        start, stop = row["offset"], row["offset"] + row["size"]
        if stop > len(data):
            return f"it has {len(data)} bytes of {stop}"
        if row["sha256"] and hashlib.sha256(data[start:stop]).digest() != row["sha256"]:
            return f"bytes {start} to {stop} fail their SHA-256"
    return ""


async def check_file(store: Store, blocks: pa.Table) -> BlockDamage | None:
    """Checks all blocks of one file. A wrong block is read a second time before it counts as damaged."""
    rows = blocks.to_pylist()
    for row in rows:
        address, start, stop = row["address"], row["offset"], row["offset"] + row["size"]
        if not row["sha256"]:
            continue  # the block of a linked file, whose hash is unknown
        for attempt in (1, 2):
            try:
                digest = await _digest(store, address, start, stop)
            except NotFound:
                return BlockDamage("data-missing", address, row["path"], "")
            except Invalid:
                return BlockDamage("data-short", address, row["path"], f"it ends before byte {stop}")
            if digest == row["sha256"]:
                break
            if attempt == 2:
                return BlockDamage("data-damaged", address, row["path"], f"bytes {start} to {stop} fail their SHA-256")
    return None


_PIECE = 8 << 20


async def _digest(store: Store, address: str, start: int, stop: int) -> bytes:
    digest = hashlib.sha256()
    if start == stop:
        await store.head(address)
    while start < stop:
        end = min(stop, start + _PIECE)
        digest.update(await store.get_range(address, start, end))
        start = end
    return digest.digest()
