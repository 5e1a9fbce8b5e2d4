"""Aliases of spans: where bytes are read that have moved to another file, by rule G7.

    block (address, offset, size) ──▶ the alias whose span holds it ──▶ the same bytes in the target file

A span that lies in an aliased span is read at the target. A span that does not, or only in part, is read where it is.
`resolve` is for tables, and `Aliases.place` for a block. Both decide in the same way, and both are pure: garbage
collection, dedupe and every reader agree on where a byte is."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Corrupt
from lochan.formats.alias_table import ALIAS_SCHEMA, AliasRow, in_order, table_of
from lochan.formats.entry import Block, Entry

SPAN_SCHEMA = pa.schema([ALIAS_SCHEMA.field(name) for name in ("address", "offset", "size")])
_WHOLE_FILE = 1 << 62  # an alias of a file, from before there were aliases of spans


class Aliases:
    """Aliases, which are looked up by block. REQUIRES: no two spans of one file overlap. Raises Corrupt."""

    def __init__(self, tables: Iterable[pa.Table], files: Mapping[str, str] = {}) -> None:
        self.table = in_order(
            pa.concat_tables([ALIAS_SCHEMA.empty_table(), *tables, _of_files(files)])
        ).combine_chunks()
        twice = overlapping(self.table)
        if len(twice):
            address = twice["address"][0].as_py()
            raise Corrupt(f"two aliases claim the same bytes of {address}", hint="report this; nothing was changed")

    def __len__(self) -> int:
        return len(self.table)

    def place(self, block: Block) -> Block:
        """Returns the same bytes at the place where they are now."""
        found = self.find(block)
        if found is None:
            return block
        return Block(found.target, found.target_offset + block.offset - found.offset, block.size, block.sha256)

    def find(self, block: Block) -> AliasRow | None:
        """Returns the alias whose span holds the block, or None."""
        row = self._row(block.address, block.offset)
        if row < 0:
            return None
        found = AliasRow(*(column[row].as_py() for column in self._columns))
        holds = found.address == block.address and block.offset + block.size <= found.offset + found.size
        return found if holds else None

    def place_entry(self, entry: Entry) -> Entry:
        if not len(self):
            return entry
        placed = tuple(map(self.place, entry.blocks))
        return entry if placed == entry.blocks else msgspec.structs.replace(entry, blocks=placed)

    def place_file(self, entry: Entry) -> Entry:
        """Places an entry like `place_entry`. An object that is a whole file becomes one block, even if its entry names
        several."""
        placed = self.place_entry(entry)
        found = self.find(entry.blocks[0]) if len(entry.blocks) > 1 else None
        if found is None or found.target_size != entry.size:
            return placed
        at = 0
        for block in placed.blocks:
            if (block.address, block.offset) != (found.target, at):
                return placed
            at += block.size
        whole = Block(found.target, 0, entry.size, found.target_sha256)
        return msgspec.structs.replace(entry, blocks=(whole,))

    def place_table(self, entries: pa.Table) -> pa.Table:
        """Returns the entries, with their blocks at the places where they are now."""
        if not len(self) or not len(entries):
            return entries
        index = entries.schema.get_field_index("blocks")
        chunks = entries["blocks"]
        placed = [self._place_lists(chunk) for chunk in chunks.chunks]
        return entries.set_column(index, entries.schema.field(index), pa.chunked_array(placed, chunks.type))

    def _place_lists(self, lists: pa.ListArray) -> pa.ListArray:
        blocks = pc.list_flatten(lists)
        found = resolve(spans_of(blocks), self.table)
        columns = [found["address"], found["offset"], found["size"], pc.struct_field(blocks, "sha256")]
        arrays = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in columns]
        placed = pa.StructArray.from_arrays(arrays, fields=list(blocks.type))
        offsets = pc.subtract(lists.offsets, lists.offsets[0])
        return pa.ListArray.from_arrays(offsets, placed, type=lists.type)

    def _row(self, address: str, offset: int) -> int:
        """Returns the row of the last alias of that file that does not begin after the offset, or -1 if there is
        none."""
        files = self._files
        at = bisect_left(range(files.count), address.encode(), key=files.address)
        if at == files.count or files.address(at) != address.encode():
            return -1
        first, end = files.first[at], files.first[at + 1]
        row = bisect_right(files.offsets, offset, first, end) - 1
        return row if row >= first else -1

    @cached_property
    def _files(self) -> "_AliasedFiles":
        return _AliasedFiles(self.table)

    @cached_property
    def _columns(self) -> tuple[pa.Array, ...]:
        return tuple(_whole(self.table[name]) for name in ALIAS_SCHEMA.names)


class _AliasedFiles:
    """The distinct addresses, sorted, each with the rows of its aliases. They are compared as bytes in place, so a
    look-up among a million aliases does not make an object for each."""

    def __init__(self, table: pa.Table) -> None:
        codes = _whole(table["address"]).dictionary_encode()
        _, offsets, data = codes.dictionary.buffers()
        self.count = len(codes.dictionary)
        self._ends = memoryview(offsets).cast("i") if self.count else memoryview(b"").cast("i")
        self._bytes = memoryview(data) if data is not None else memoryview(b"")
        first = np.searchsorted(np.asarray(codes.indices), np.arange(self.count + 1))
        self.first: list[int] = first.tolist()
        self.offsets = np.ascontiguousarray(np.asarray(table["offset"])).data

    def address(self, at: int) -> bytes:
        return bytes(self._bytes[self._ends[at] : self._ends[at + 1]])


def resolve(spans: pa.Table, aliases: pa.Table) -> pa.Table:
    """Returns a table of SPAN_SCHEMA and `alias`: where the bytes of each span are, and the row of the alias that says
    so, or -1.

    REQUIRES: the aliases are sorted by address and offset, and do not overlap in one file."""
    alias = np.full(len(spans), -1, np.int64)
    if len(aliases) and len(spans):
        _match(spans, aliases, alias)
    moved = np.flatnonzero(alias >= 0)
    columns = {name: spans[name] for name in SPAN_SCHEMA.names}
    if len(moved):
        rows, mask = pa.array(alias[moved]), pa.array(alias >= 0)
        by = np.asarray(spans["offset"])[moved] - np.asarray(aliases["offset"].take(rows))
        offsets = np.asarray(spans["offset"]).copy()
        offsets[moved] = np.asarray(aliases["target_offset"].take(rows)) + by
        columns["offset"] = pa.array(offsets, pa.int64())
        columns["address"] = pc.replace_with_mask(_whole(spans["address"]), mask, _whole(aliases["target"].take(rows)))
    return pa.table(columns, SPAN_SCHEMA).append_column("alias", pa.array(alias))


def _match(spans: pa.Table, aliases: pa.Table, found: npt.NDArray[np.int64]) -> None:
    """Writes the row of the alias that holds each span into `found`. Both tables are sorted together by file and
    offset. The last alias before a span is the only one that can hold it."""
    sources = _whole(aliases["address"]).dictionary_encode()  # it is sorted, so the codes ascend
    codes = pc.index_in(_whole(spans["address"]), value_set=sources.dictionary)
    wanted = np.flatnonzero(np.asarray(codes.is_valid()))
    if not len(wanted):
        return
    code = np.asarray(codes.take(pa.array(wanted))).astype(np.int64)
    start, size = (np.asarray(spans[name])[wanted] for name in ("offset", "size"))
    named = np.isin(np.asarray(sources.indices), code)
    rows = np.flatnonzero(named)
    alias_code = np.asarray(sources.indices)[rows].astype(np.int64)
    alias_start, alias_size = (np.asarray(aliases[name])[rows] for name in ("offset", "size"))
    of_span = np.concatenate([np.zeros(len(rows), bool), np.ones(len(wanted), bool)])
    order = np.lexsort((of_span, np.concatenate([alias_start, start]), np.concatenate([alias_code, code])))
    before = np.maximum.accumulate(np.where(order < len(rows), order, -1))
    last = np.empty(len(wanted), np.int64)
    at = order >= len(rows)
    last[order[at] - len(rows)] = before[at]
    near = last.clip(0)
    holds = (last >= 0) & (alias_code[near] == code) & (start + size <= alias_start[near] + alias_size[near])
    found[wanted[holds]] = rows[last[holds]]


def overlaps(spans: pa.Table, others: pa.Table) -> npt.NDArray[np.bool_]:
    """Returns, for each span, whether it shares a byte with one of the others. REQUIRES: the others are sorted by
    address and offset, and do not overlap in one file."""
    if not len(spans) or not len(others):
        return np.zeros(len(spans), bool)
    # Only the last one that begins before the span's last byte could end after its first.
    last_byte = np.asarray(spans["offset"]) + np.asarray(spans["size"]) - 1
    ends = pa.table([spans["address"], pa.array(last_byte), pa.array(np.zeros(len(spans), np.int64))], SPAN_SCHEMA)
    wide = others.set_column(2, SPAN_SCHEMA.field("size"), pa.array(np.full(len(others), _WHOLE_FILE)))
    row = np.full(len(spans), -1, np.int64)
    _match(ends, wide, row)
    near = row.clip(0)
    other_end = np.asarray(others["offset"])[near] + np.asarray(others["size"])[near]
    touched: npt.NDArray[np.bool_] = (row >= 0) & (other_end > np.asarray(spans["offset"]))
    return touched


def overlapping(spans: pa.Table) -> pa.Table:
    """Returns the spans that begin before an earlier span of the same file ends. REQUIRES: the spans are sorted by
    address and offset."""
    if len(spans) < 2:
        return spans.slice(0, 0)
    address = _whole(spans["address"])
    same = np.asarray(pc.equal(address.slice(1), address.slice(0, len(address) - 1)))
    start, end = np.asarray(spans["offset"]), np.asarray(spans["offset"]) + np.asarray(spans["size"])
    return spans.filter(pa.array(np.concatenate([[False], same & (start[1:] < end[:-1])])))


def spans_of(blocks: pa.StructArray) -> pa.Table:
    """Returns a table of SPAN_SCHEMA with a row for each block."""
    return pa.table([pc.struct_field(blocks, name) for name in SPAN_SCHEMA.names], SPAN_SCHEMA)


def table_of_spans(blocks: Iterable[Block]) -> pa.Table:
    rows = [(each.address, each.offset, each.size) for each in blocks]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SPAN_SCHEMA, strict=True)], SPAN_SCHEMA
    )


def _of_files(files: Mapping[str, str]) -> pa.Table:
    return table_of(AliasRow(address, 0, _WHOLE_FILE, target, 0) for address, target in files.items())


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


NO_ALIASES = Aliases(())
