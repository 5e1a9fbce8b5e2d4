"""Run files on a store: which parts are read, and how often."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pyarrow as pa
import pytest

from lochan.errors import Corrupt, Invalid
from lochan.formats import run
from lochan.formats.entry import RUN_SCHEMA
from lochan.formats.run import RunRef
from lochan.ids import Ids
from lochan.staging import runs as module
from lochan.staging.runs import OpenRuns, Runs
from lochan.store.memory import MemoryStore
from lochan.tree.cache import ArrowCache
from tests.run import run as driven
from tests.unit.staging.fakes import FixedClock, entry, gone, new_runs, table


def test_a_run_is_named_by_its_id_and_mint_number() -> None:
    runs, counts = new_runs()
    ref = driven(runs.write(table(entry("a"), gone("b")), 1, 42))
    assert re.fullmatch(r"runs/[0-9A-Za-z]{27}-42\.parquet", ref.file) and ref.id in ref.file
    assert (ref.level, ref.count, ref.tombstones, ref.min_path, ref.max_path, ref.mint) == (1, 2, 1, "a", "b", 42)
    assert ref.bytes == counts.put.bytes_out


def test_what_was_written_is_found() -> None:
    runs, _ = new_runs()
    ref = driven(runs.write(table(entry("a"), gone("b")), 1, 1))
    opened = driven(runs.open(ref))
    assert [opened.get(path) for path in ("a", "b", "aa", "")] == [entry("a"), gone("b"), None, None]


def test_a_run_is_read_once() -> None:
    runs, counts = new_runs()
    ref = driven(runs.write(table(entry("a")), 1, 1))

    async def at_once() -> None:
        await asyncio.gather(*(runs.open(ref) for _ in range(5)))
        await runs.open(ref)

    driven(at_once())
    assert counts.get.requests == 1


def test_who_waits_for_a_read_that_failed_reads_again() -> None:
    runs, _ = new_runs()
    ref = driven(runs.write(table(entry("a")), 1, 1))
    lost = RunRef(ref.id, "runs/lost", 1, 1, 0, ref.bytes, "a", "a", 1)

    async def at_once() -> list[object]:
        return await asyncio.gather(*(runs.open(lost) for _ in range(3)), return_exceptions=True)

    assert [type(error).__name__ for error in driven(at_once())] == ["Gone"] * 3


def test_open_runs_are_bounded_by_their_bytes() -> None:
    runs, counts = new_runs(open_bytes_max=1)
    one, two = (driven(runs.write(table(entry(path)), 1, 1)) for path in "ab")
    for ref in (one, one, two, one):
        driven(runs.open(ref))
    assert counts.get.requests == 3  # there is always room for the last one


def test_weights_are_given_back() -> None:
    held = OpenRuns(1000)
    runs, _ = new_runs()
    opened = driven(runs.open(driven(runs.write(table(entry("a")), 1, 1))))
    for name in ("a", "b", "a", "c"):
        held.hold(name, opened, 400)
    assert held.bytes == 800
    assert [held.get(name) is not None for name in "abc"] == [True, False, True]


# --- looking up without opening -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "path, heads, opened",
    [
        pytest.param("Z", 0, 0, id="outside its span: nothing is read"),
        pytest.param("c", 1, 0, id="not in its bloom filter: the footer is read"),
        pytest.param("b", 1, 1, id="there: it is opened"),
    ],
)
def test_the_cost_of_a_look_up(path: str, heads: int, opened: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INLINE_BYTES_MAX", 0)
    runs, counts = new_runs()
    ref = driven(runs.write(table(entry("a"), entry("b"), entry("d")), 1, 1))
    for _ in range(2):
        found = driven(runs.get(ref, path))
        assert found == (entry("b") if path == "b" else None)
    assert (runs.heads, runs.opened) == (heads, opened) == (counts.get_range.requests, counts.get.requests)


def test_a_small_run_is_read_whole_at_once() -> None:
    runs, counts = new_runs()
    ref = driven(runs.write(table(entry("a"), entry("c")), 1, 1))
    driven(runs.get(ref, "b"))
    assert (counts.get_range.requests, counts.get.requests) == (0, 1)


def test_a_footer_larger_than_thought_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "footer_bytes_likely", lambda count: 100)
    runs, counts = new_runs()
    ref = driven(runs.write(table(entry("a")), 1, 1))
    assert driven(runs.head(ref)).head.count == 1
    assert counts.get_range.requests == 2


# --- a smart client's runs ------------------------------------------------------------------------------------------
async def tables(*names: str) -> AsyncIterator[pa.Table]:
    for letters in names:
        yield table(*(entry(letter) for letter in letters))


def test_tables_that_follow_each_other_are_one_run() -> None:
    runs, _ = new_runs()
    (ref,) = driven(runs.adopt(tables("ab", "c", "de"), 7))
    assert (ref.count, ref.min_path, ref.max_path, ref.level, ref.mint) == (5, "a", "e", 1, 7)


def test_a_large_adoption_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_MAX", 2)
    runs, _ = new_runs()
    refs = driven(runs.adopt(tables("abc", "d", "e"), 7))
    assert [(ref.min_path, ref.max_path) for ref in refs] == [("a", "b"), ("c", "d"), ("e", "e")]


@pytest.mark.parametrize("names", [("ba",), ("ab", "b"), ("b", "a"), ("abc", "c"), ("acd", "b")])
@pytest.mark.parametrize("rows_max", [2, 100])
def test_an_adoption_out_of_order_is_refused(
    names: tuple[str, ...], rows_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_MAX", rows_max)
    runs, _ = new_runs()
    unsorted = [pa.concat_tables([table(entry(letter)) for letter in letters]) for letters in names]

    async def each() -> AsyncIterator[pa.Table]:
        for one in unsorted:
            yield one

    with pytest.raises(Invalid):
        driven(runs.adopt(each(), 7))


def test_an_adoption_of_other_columns_is_refused() -> None:
    runs, counts = new_runs()
    with pytest.raises(Invalid, match="columns"):
        driven(runs.adopt(table(entry("a")).drop_columns(["size"]), 7))
    assert counts.total.requests == 0


def test_adopting_nothing_makes_no_run() -> None:
    runs, _ = new_runs()
    assert driven(runs.adopt(RUN_SCHEMA.empty_table(), 7)) == ()


def test_a_small_adoption_is_at_hand() -> None:
    runs, counts = new_runs()
    (ref,) = driven(runs.adopt(table(entry("a"), gone("b")), 7))
    assert [driven(runs.open(ref)).get(path) for path in "ab"] == [entry("a"), gone("b")]
    assert (counts.get.requests, runs.opened) == (0, 0)


def test_a_small_slice_of_a_large_table_does_not_keep_it_in_memory() -> None:
    runs, counts = new_runs()
    large = table(*(entry(f"{number:04d}") for number in range(100)))
    (ref,) = driven(runs.adopt(large.slice(0, 2), 7))
    assert driven(runs.open(ref)).batch.num_rows == 2
    assert counts.get.requests == 1


# --- damage ---------------------------------------------------------------------------------------------------------
class SpoiledReads(MemoryStore):
    """Spoils the first reads, as a bad line would."""

    spoil = 0

    async def get(self, path: str) -> bytes:
        data = await super().get(path)
        self.spoil -= 1
        return data if self.spoil < 0 else data[:50] + bytes([data[50] ^ 1]) + data[51:]


@pytest.mark.parametrize("spoil, comes", [(1, True), (2, False)])
def test_damage_on_the_way_is_mended_and_damage_there_reported(spoil: int, comes: bool) -> None:
    store = SpoiledReads()
    runs = Runs(store, "repo", FixedClock(), Ids())
    ref = driven(runs.write(table(entry("a")), 1, 1))
    store.spoil = spoil
    if comes:
        assert driven(runs.open(ref)).get("a") == entry("a")
    else:
        with pytest.raises(Corrupt, match=ref.file):
            driven(runs.open(ref))


def test_another_run_in_its_place_is_found() -> None:
    runs, _ = new_runs()
    one, two = (driven(runs.write(table(entry(path)), 1, 1)) for path in "ab")
    swapped = RunRef(one.id, two.file, 1, one.count, 0, two.bytes, "a", "a", 1)
    with pytest.raises(Corrupt, match="another file"):
        driven(runs.open(swapped))
    with pytest.raises(Corrupt, match="another file"):
        driven(runs.head(swapped))


# --- the local disk -------------------------------------------------------------------------------------------------
def test_a_run_is_mapped_from_the_local_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SMALL_ROWS", 1)
    store, disk = MemoryStore(), ArrowCache(str(tmp_path), 1 << 20, FixedClock())
    first = Runs(store, "repo", FixedClock(), Ids(), disk=disk)
    ref = driven(first.write(table(entry("a"), gone("b")), 1, 1))
    assert driven(first.open(ref)).get("a") == entry("a")
    driven(store.delete(f"repo/{ref.file}"))
    second = Runs(store, "repo", FixedClock(), Ids(), disk=disk)
    assert [driven(second.open(ref)).get(path) for path in "ab"] == [entry("a"), gone("b")]
