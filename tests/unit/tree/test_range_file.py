"""The files of a tree: their names, what other tools read in them, and that damage never gives a wrong answer."""

import io
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import duckdb
import msgspec
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lochan.errors import Corrupt, FutureFormat, Invalid
from lochan.formats import metarange
from lochan.formats import range as ranges
from lochan.formats.entry import ENTRY_SCHEMA, Block, Entry
from lochan.formats.entry_table import EntryRows, as_batch, as_table, canonical, entries_of, table_of
from lochan.formats.metarange import EMPTY, TreeRef
from lochan.formats.range import KeySpan, RangeRef

# Everything a path may be, and every column with something and with nothing in it.
ENTRIES = [
    Entry("..", (), 0, "d41d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427e", 0),
    Entry("a//b", (Block("data/7-x/1", 5, 6, bytes(32)),), 6, "0" * 32, "0" * 32, 1_790_000_000_000_000, "text/plain"),
    Entry(
        "a\nb", (Block("d/1", 0, 1, b"\1" * 32), Block("d/2", 0, 2, b"\2" * 32)), 3, "1" * 32, "1-2", 9, "", {}, (1, 2)
    ),
    Entry("caf\u00e9", (), 1, "2" * 32, "2", 1, "x", {"sha256": "abc="}, (), {"b": "1", "a": "2"}, {"é": "🐟", "": ""}),
    Entry("cafe\u0301", (), 1 << 40, "3" * 32, "3", -1),
    Entry("\ud7ff", (), 1, "4" * 32, "4", 1),
    Entry("\ue000", (), 1, "5" * 32, "5", 1),
    Entry("🐟", (), 1, "6" * 32, "6", 1),
    Entry("x" * 1024, (), 1, "7" * 32, "7", 1),
]
BATCH = canonical(as_batch(table_of(ENTRIES)))
REF = ranges.refer(BATCH, 12, ranges.content_id(BATCH))
DATA = ranges.encode(BATCH, REF.id)


def test_names_are_made_of_the_values() -> None:
    """Pinned: the first version made these names, and they are on users' disks."""
    id = "d6dcf0c68b4c135856e9b20e623abcbe7abc6c5474bf0dcb6a846dccadcf5951"
    assert (REF.id, REF.file) == (id, f"ranges/{id}-12-f8ab35e67ddefb4f.parquet")
    id = "da20418bf0f7e4b56e88203485e700586330c82c2712a436a56cb09298dc6087"
    assert metarange.encode([REF], 12).ref == TreeRef(id, f"metaranges/{id}-12-a3490e8cac58faa3.parquet")
    assert TreeRef("2c1b2f45f86eba518e43eda0cbe0f1a98dc56beb598db7d1bee7e4129b4c8cb3", "") == EMPTY


def test_the_id_is_what_the_page_of_the_format_says() -> None:
    def texts(values: list[str]) -> bytes:
        encoded = [value.encode() for value in values]
        return b"".join(len(each).to_bytes(4, "little") for each in encoded) + b"".join(encoded)

    def maps(values: list[dict[str, str]]) -> bytes:
        items = [item for each in values for item in sorted(each.items())]
        sizes = b"".join(len(each).to_bytes(4, "little") for each in values)
        return sizes + texts([name for name, _ in items]) + texts([value for _, value in items])

    entries = sorted(ENTRIES, key=lambda entry: entry.path.encode())
    content = b"".join(
        [
            b"lochan range 1\n" + len(entries).to_bytes(8, "little"),
            texts([entry.path for entry in entries]),
            b"".join(entry.size.to_bytes(8, "little", signed=True) for entry in entries),
            texts([entry.checksum for entry in entries]),
            texts([entry.etag for entry in entries]),
            texts([entry.content_type for entry in entries]),
            maps([entry.headers for entry in entries]),
            maps([entry.metadata for entry in entries]),
        ]
    )
    assert sha256(content).hexdigest() == REF.id
    assert sha256(b"lochan metarange 1\n" + bytes.fromhex(REF.id)).hexdigest() == metarange.tree_id([REF])


def test_what_is_written_is_read() -> None:
    assert ranges.decode(DATA, REF, "it") == BATCH
    assert entries_of(pa.Table.from_batches([BATCH])) == sorted(ENTRIES, key=lambda entry: entry.path.encode())
    tree = metarange.encode([REF], 12)
    assert metarange.decode(tree.data, tree.ref, "it") == (REF,)


@pytest.mark.parametrize("settings", [{"compression": "none"}, {"version": "1.0", "data_page_version": "2.0"}])
def test_another_parquet_writer_gives_the_same_names(settings: dict[str, str]) -> None:
    sink = io.BytesIO()
    pq.write_table(pq.read_table(pa.BufferReader(DATA)), sink, **settings)
    assert ranges.decode(sink.getvalue(), REF, "it") == BATCH


@pytest.mark.parametrize(
    ("change", "content_differs"),
    [
        (lambda entry: msgspec.structs.replace(entry, mtime=8), False),
        (lambda entry: msgspec.structs.replace(entry, etag="else"), True),
        (lambda entry: msgspec.structs.replace(entry, blocks=(Block("else", 0, 1, b""),)), False),
        (lambda entry: msgspec.structs.replace(entry, parts=(1, 2, 3)), False),
        (lambda entry: msgspec.structs.replace(entry, checksums={"crc32": "AAAA"}), False),
        (lambda entry: msgspec.structs.replace(entry, size=8), True),
        (lambda entry: msgspec.structs.replace(entry, checksum="8"), True),
        (lambda entry: msgspec.structs.replace(entry, content_type="else"), True),
        (lambda entry: msgspec.structs.replace(entry, headers={"a": "b"}), True),
        (lambda entry: msgspec.structs.replace(entry, metadata={"a": "b"}), True),
        (lambda entry: msgspec.structs.replace(entry, path="else"), True),
    ],
)
def test_the_id_is_of_the_content_and_the_name_of_everything(
    change: Callable[[Entry], Entry], content_differs: bool
) -> None:
    batch = as_batch(table_of([change(ENTRIES[0]), *ENTRIES[1:]]))
    ref = ranges.refer(canonical(batch), 12, ranges.content_id(canonical(batch)))
    assert (ref.id != REF.id) == content_differs
    assert ref.file != REF.file


def test_any_slice_has_the_id_of_its_rows() -> None:
    for low, high in ((0, 3), (1, 4), (2, 9), (3, 4)):
        rows = BATCH.slice(low, high - low)
        alone = as_batch(pa.Table.from_pylist(rows.to_pylist(maps_as_pydicts=None), ENTRY_SCHEMA))
        assert ranges.content_id(rows) == ranges.content_id(alone)
        assert ranges.storage_id(rows) == ranges.storage_id(alone)


def test_a_newer_format_is_refused() -> None:
    for module, key, data, ref in (
        (ranges, b"lochan.range", DATA, REF),
        (metarange, b"lochan.metarange", *metarange.encode([REF], 12)[::-1]),
    ):
        table = pq.read_table(pa.BufferReader(data))
        sink = io.BytesIO()
        pq.write_table(table.replace_schema_metadata({**table.schema.metadata, key: "4"}), sink)
        with pytest.raises(FutureFormat, match="version 4"):
            module.decode(sink.getvalue(), ref, "it")
        sink = io.BytesIO()
        pq.write_table(table.replace_schema_metadata({}), sink)
        with pytest.raises(Corrupt, match="another file"):
            module.decode(sink.getvalue(), ref, "it")


def test_ranges_of_data_objects_tell_their_keys() -> None:
    def object(path: str, least: str, greatest: str, keyless: int) -> Entry:
        metadata = {"lochan-min": least, "lochan-max": greatest, "lochan-keyless": str(keyless)}
        return Entry(path, (), 1, "0" * 32, "0", 1, metadata=metadata)

    batch = as_batch(table_of([object("a", "30", "3f", 0), object("b", "", "", 7), object("c", "20", "31", 1)]))
    ref = ranges.refer(batch, 12, ranges.content_id(batch))
    assert ref.keys == KeySpan("20", "3f", 8)
    tree = metarange.encode([ref, REF], 12)
    assert metarange.decode(tree.data, tree.ref, "it") == (ref, REF)  # of files, as before
    data = ranges.encode(batch, ref.id)
    assert ranges.decode(data, ref, "it") == batch
    untold = msgspec.structs.replace(ref, keys=None)  # as written before entries had them
    assert ranges.decode(data, untold, "it") == batch
    older = metarange.encode([untold], 12)
    assert older.ref.id == metarange.encode([ref], 12).ref.id
    assert pq.read_schema(pa.BufferReader(older.data)).metadata[b"lochan.metarange"] == b"1"
    with pytest.raises(Corrupt, match="does not match"):
        ranges.decode(data, msgspec.structs.replace(ref, keys=KeySpan("20", "3e", 8)), "it")
    mixed = as_batch(table_of([object("a", "30", "3f", 0), ENTRIES[3]]))
    assert ranges.refer(mixed, 12, ranges.content_id(mixed)).keys is None


@pytest.mark.thorough
@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.full)])
def test_a_flipped_bit_is_found_or_does_no_harm(step: int) -> None:
    tree = metarange.encode([REF], 12)
    for bit in range(0, len(DATA) * 8, step):
        assert _found_or_equal(lambda data: ranges.decode(data, REF, "it"), DATA, bit, BATCH)
    for bit in range(0, len(tree.data) * 8, step):
        assert _found_or_equal(lambda data: metarange.decode(data, tree.ref, "it"), tree.data, bit, (REF,))


def _found_or_equal(decode: Callable[[bytes], object], data: bytes, bit: int, right: object) -> bool:
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    try:
        return decode(bytes(damaged)) == right
    except (Corrupt, FutureFormat):
        return True


@pytest.mark.parametrize("length", [0, 1, 8, 100, len(DATA) // 2, len(DATA) - 1])
def test_a_short_file_is_corrupt(length: int) -> None:
    with pytest.raises(Corrupt, match="it cannot be read"):
        ranges.decode(DATA[:length], REF, "it")


def test_another_range_in_its_place_is_corrupt() -> None:
    other = BATCH.slice(1)
    data = ranges.encode(other, ranges.content_id(other))
    with pytest.raises(Corrupt, match="does not match"):
        ranges.decode(data, REF, "it")
    moved = as_batch(table_of([msgspec.structs.replace(ENTRIES[0], mtime=5), *ENTRIES[1:]]))
    data = ranges.encode(canonical(moved), REF.id)
    with pytest.raises(Corrupt, match="does not match"):
        ranges.decode(data, REF, "it")


def test_a_metarange_with_another_file_in_it_is_corrupt() -> None:
    tree = metarange.encode([REF], 12)
    other = metarange.encode([RangeRef(REF.id, "ranges/else", *msgspec.structs.astuple(REF)[2:])], 12)
    assert other.ref.id == tree.ref.id
    with pytest.raises(Corrupt, match="its name"):
        metarange.decode(other.data, tree.ref, "it")


# --- others read them -----------------------------------------------------------------------------------------------
@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "range.parquet").write_bytes(DATA)
    (tmp_path / "metarange.parquet").write_bytes(metarange.encode([REF], 12).data)
    return tmp_path / "range.parquet", tmp_path / "metarange.parquet"


def test_duckdb_reads_them(files: tuple[Path, Path]) -> None:
    rows = duckdb.execute(f"select path, size, blocks, headers, parts from '{files[0]}' order by path").fetchall()
    assert [row[0] for row in rows] == BATCH.column("path").to_pylist()
    entry = rows[[row[0] for row in rows].index("a\nb")]
    assert [block["address"] for block in entry[2]] == ["d/1", "d/2"]
    assert entry[4] == [1, 2]
    headers = rows[[row[0] for row in rows].index("caf\u00e9")][3]
    assert headers == {"a": "2", "b": "1"}
    found = duckdb.execute(f"select count, min_path from '{files[1]}'").fetchall()
    assert found == [(len(ENTRIES), "..")]


def test_pandas_reads_them(files: tuple[Path, Path]) -> None:
    frame = pandas.read_parquet(files[0])
    assert frame["path"].tolist() == BATCH.column("path").to_pylist()
    assert frame["size"].tolist() == BATCH.column("size").to_pylist()
    assert pandas.read_parquet(files[1])["count"].tolist() == [len(ENTRIES)]


def test_paths_are_stored_by_their_difference_to_the_one_before() -> None:
    columns = pq.read_metadata(pa.BufferReader(DATA)).row_group(0)
    encodings = {columns.column(i).path_in_schema: columns.column(i).encodings for i in (0, 1)}
    assert "DELTA_BYTE_ARRAY" in encodings["path"]
    assert "DELTA_BYTE_ARRAY" in encodings["blocks.list.element.address"]


def test_everybody_sorts_paths_by_their_bytes() -> None:
    paths = [
        "",
        "a",
        "a\0",
        "a\n",
        "a/b",
        "a//b",
        "a.b",
        "B",
        "é",
        "e\u0301",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "🐟",
        "\U0010ffff",
    ]
    by_bytes = sorted(paths, key=str.encode)
    array = pa.array(paths)
    assert array.take(pc.sort_indices(array)).to_pylist() == by_bytes
    assert polars.Series(paths).sort().to_list() == by_bytes
    rows = duckdb.execute("select unnest($paths) as path order by path", {"paths": paths}).fetchall()
    assert [row[0] for row in rows] == by_bytes
    assert sorted(paths) == by_bytes


# --- rows -----------------------------------------------------------------------------------------------------------
def test_single_rows() -> None:
    for batch in (BATCH, BATCH.slice(2, 5), BATCH.slice(3)):
        rows = EntryRows(batch)
        entries = entries_of(pa.Table.from_batches([batch]))
        assert [rows.entry(row) for row, _ in enumerate(entries)] == entries
        assert [entries_of(as_table(batch).slice(row, 1))[0] for row, _ in enumerate(entries)] == entries
        assert [rows.find(entry.path.encode()) for entry in entries] == list(range(len(entries)))
        assert rows.find(b"not there") == rows.find(b"") == rows.find(b"\xff") == -1


def test_a_name_twice_in_a_map_is_refused() -> None:
    row = table_of(ENTRIES[:1]).to_pylist()[0] | {"metadata": [("a", "1"), ("b", "1"), ("a", "2")]}
    with pytest.raises(Invalid, match="metadata"):
        canonical(as_batch(pa.Table.from_pylist([row], ENTRY_SCHEMA)))
