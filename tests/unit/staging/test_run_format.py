"""The run file: what goes in comes out, and any wrong byte is found."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.errors import Corrupt, FutureFormat, Invalid
from lochan.formats import bloom, run
from lochan.formats.entry import RUN_SCHEMA, Block, Change, Entry
from tests.unit.staging.fakes import entry, gone, table

_TEXTS = st.text("aé0/", max_size=4)
_MAPS = st.dictionaries(_TEXTS, _TEXTS, max_size=2)
_BLOCKS = st.builds(Block, _TEXTS, st.integers(0, 9), st.integers(0, 9), st.binary(max_size=4))
_ENTRIES = st.builds(
    Entry,
    path=_TEXTS,
    blocks=st.lists(_BLOCKS, max_size=3).map(tuple),
    size=st.integers(0, 1 << 62),
    checksum=_TEXTS,
    etag=_TEXTS,
    mtime=st.integers(0, 1 << 62),
    content_type=_TEXTS,
    checksums=_MAPS,
    parts=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    headers=_MAPS,
    metadata=_MAPS,
)
_CHANGES = st.lists(_ENTRIES | _TEXTS.map(gone), min_size=1, max_size=8, unique_by=lambda change: change.path)


@pytest.mark.thorough
@settings(deadline=None)
@given(_CHANGES)
def test_what_goes_in_comes_out(changes: list[Change]) -> None:
    ordered = sorted(changes, key=lambda change: change.path)
    data = run.encode(run.changes_table(changes))
    read = run.decode(data, "it")
    assert read.schema.equals(RUN_SCHEMA)
    assert run.changes_of(read) == ordered
    assert [run.changes_of(read.slice(row, 1))[0] for row in range(len(ordered))] == ordered
    assert run.changes_of(read.slice(1)) == ordered[1:]


@pytest.mark.thorough
@settings(deadline=None)
@given(_CHANGES, st.integers(1, 8))
def test_a_run_made_piece_by_piece_is_the_same_run(changes: list[Change], rows: int) -> None:
    """A row group for each piece; the reader does not mind."""
    whole, encoder = run.changes_table(changes), run.Encoder()
    for start in range(0, len(whole), rows):
        encoder.add(whole.slice(start, rows))
    data = encoder.finish()
    assert pq.read_metadata(pa.BufferReader(data)).num_row_groups == -(-len(whole) // rows)
    assert run.decode(data, "it").equals(run.decode(run.encode(whole), "it"))
    assert run.head(data, "it")[:2] == run.head(run.encode(whole), "it")[:2]


def test_pieces_of_a_run_follow_each_other() -> None:
    encoder = run.Encoder()
    encoder.add(table(entry("a"), entry("c")))
    for path in "abc":
        with pytest.raises(Invalid, match="order"):
            encoder.add(table(entry(path)))


@pytest.mark.thorough
@settings(deadline=None)
@given(_CHANGES)
def test_the_footer_alone_describes_the_contents(changes: list[Change]) -> None:
    data = run.encode(run.changes_table(changes))
    end = data[-run.footer_bytes(data[-8:]) :]
    summary = run.head(end, "it")
    paths = sorted(change.path for change in changes)
    tombstones = sum(not isinstance(change, Entry) for change in changes)
    assert summary.head == run.RunHead(run.VERSION, len(changes), tombstones, paths[0], paths[-1])
    assert all(summary.may_hold(path, bloom.hash_one(path)) for path in paths)


@pytest.mark.thorough
def test_every_flipped_bit_is_found() -> None:
    data = run.encode(table(entry("a"), gone("b"), entry("c", 2)))
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(Corrupt, match="it"):
            run.decode(bytes(damaged), "it")


@pytest.mark.parametrize("left", [0, 1, 8, 100, 3000])
def test_a_file_cut_short_is_found(left: int) -> None:
    data = run.encode(table(entry("a")))
    with pytest.raises(Corrupt):
        run.decode(data[:left], "it")


def test_another_parquet_file_in_its_place_is_found() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table(entry("a")), sink)
    with pytest.raises(Corrupt, match="not a run"):
        run.decode(sink.getvalue(), "it")


def test_a_newer_format_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(run, "VERSION", 2)
        data = run.encode(table(entry("a")))
    with pytest.raises(FutureFormat, match="version 2; this Lochan reads up to 1"):
        run.decode(data, "it")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(RUN_SCHEMA.empty_table(), id="no change"),
        pytest.param(pa.concat_tables([table(entry("b")), table(entry("a"))]), id="out of order"),
        pytest.param(pa.concat_tables([table(entry("a")), table(gone("a"))]), id="a path twice"),
        pytest.param(table(entry("a")).drop_columns(["etag"]), id="a column missing"),
        pytest.param(
            table(entry("a")).set_column(2, RUN_SCHEMA.field("size"), pa.array([None], pa.int64())), id="a null"
        ),
    ],
)
def test_invalid_runs_are_refused(changes: pa.Table) -> None:
    with pytest.raises(Invalid):
        run.encode(changes)


def test_order_is_that_of_utf_8_bytes() -> None:
    """UTF-16, which Java and JavaScript sort by, has the last two the other way round."""
    paths = ["Z", "a", "é", "\uffff", "\U0001f600"]
    assert run.changes_table(map(gone, reversed(paths)))["path"].to_pylist() == paths
    run.encode(run.changes_table(map(gone, paths)))


def test_other_readers_see_a_table() -> None:
    data = run.encode(table(entry("a"), gone("b")))
    assert pl.read_parquet(data)["path"].to_list() == ["a", "b"]
    file = pq.read_table(pa.BufferReader(data))
    assert file.schema.equals(RUN_SCHEMA)
    assert duckdb.from_arrow(file).filter("deleted").select("path").fetchall() == [("b",)]


@pytest.mark.thorough
@pytest.mark.parametrize("count", [1, 1_000, 100_000, 1_000_000])
def test_one_request_brings_the_footer(count: int) -> None:
    one = table(gone("x")).take(pa.array(np.zeros(count, np.int64))).combine_chunks()
    paths = pa.array([f"{at:08d}" for at in range(count)])
    data = run.encode(one.set_column(0, RUN_SCHEMA.field("path"), paths))
    assert run.footer_bytes(data) <= run.footer_bytes_likely(count)


# --- the bloom filter -----------------------------------------------------------------------------------------------
def test_hashes_never_change() -> None:
    """They are on users' disks."""
    assert bloom.hash_one("") == 0
    assert bloom.hash_one("a") == 0xC27D_0280_A2A7_0BD4
    assert bloom.hash_one("tables/é/part-0000.parquet") == 0xB82F_E025_0E00_E4DB
    assert bloom.build(bloom.hash_all(pa.array(["a", "b"]))).hex() == "1000140001400000"


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=9), st.integers(0, 3))
def test_hashing_many_is_hashing_each(paths: list[str], start: int) -> None:
    some = pa.array(paths, pa.string())[start:]
    assert bloom.hash_all(some).tolist() == [bloom.hash_one(path) for path in paths[start:]]


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 3))
def test_hashing_paths_of_one_length_is_hashing_each(length: int, count: int, start: int) -> None:
    paths = [f"{number:0{length}d}"[-length:] for number in range(7, 7 + count)]
    some = pa.array(["before", *paths], pa.string())[1 + start :]
    assert bloom.hash_all(some).tolist() == [bloom.hash_one(path) for path in paths[start:]]


def test_the_filter_is_seldom_wrong_and_never_the_wrong_way() -> None:
    there = [f"a/{at}" for at in range(5_000)]
    filter = bloom.build(bloom.hash_all(pa.array(there)))
    assert all(bloom.may_hold(filter, bloom.hash_one(path)) for path in there)
    wrong = sum(bloom.may_hold(filter, bloom.hash_one(f"b/{at}")) for at in range(5_000))
    assert wrong < 5_000 * 0.025  # expected: one in eighty
    assert len(filter) == 5_000 * bloom.BITS_PER_KEY / 8 + 6
