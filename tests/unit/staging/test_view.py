"""The view over layers and base, and the cost of a look-up."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from lochan.errors import Corrupt
from lochan.formats import run as run_format
from lochan.formats.entry import Change
from lochan.formats.run import changes_of, entries_of
from lochan.ids import Ids
from lochan.staging import merge
from lochan.staging import runs as runs_module
from lochan.staging import view as view_module
from lochan.staging.layers import EMPTY, Layers
from lochan.staging.listing import ViewPage
from lochan.staging.runs import Runs
from lochan.staging.sources import EmptyBase
from lochan.staging.view import View
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.unit.staging.fakes import FixedClock, MemoryBase, entry, gone, new_runs, table
from tests.unit.tree.small_trees import gathered


def staged(runs: Runs, *layers: Sequence[Change]) -> Layers:
    """A run for each, oldest first."""
    result = EMPTY
    for changes in layers:
        result = result.append(*run(runs.write_cut(table(*changes), 1, 1)))
    return result


def names(page: ViewPage) -> list[str]:
    return sorted([each.path for each in page.entries] + page.prefixes)


# --- what is seen ---------------------------------------------------------------------------------------------------
def test_newest_wins_and_tombstones_hide() -> None:
    runs, _ = new_runs()
    base = MemoryBase(["a", "b", "c", "d"])
    layers = staged(runs, [entry("b", 2), gone("c"), entry("e", 2)], [gone("e"), entry("c", 3)]).put(gone("a"))
    view = View(layers, base, runs)
    assert run(view.list()) == ViewPage([entry("b", 2), entry("c", 3), entry("d", 0)], [], None)
    found = {path: run(view.get(path)) for path in "abcdef"}
    assert found == {"a": None, "b": entry("b", 2), "c": entry("c", 3), "d": entry("d", 0), "e": None, "f": None}


def test_all_that_is_staged_is_one_table() -> None:
    runs, _ = new_runs()
    layers = staged(runs, [entry("p/b", 1), gone("p/c"), entry("q", 1)], [gone("q")]).put(entry("p/b", 2), entry("z"))
    view = View(layers, MemoryBase(["p/a"]), runs)
    assert changes_of(run(view.changes())) == [entry("p/b", 2), gone("p/c"), gone("q"), entry("z")]
    assert changes_of(run(view.changes("p/"))) == [entry("p/b", 2), gone("p/c")]
    assert len(run(View(EMPTY, EmptyBase(), runs).changes())) == 0


def test_all_that_is_staged_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "_PIECE", 3)
    monkeypatch.setattr(merge, "_STRIDE", 1)
    runs, _ = new_runs()
    layers = staged(runs, [entry(path, 1) for path in "acegikm"], [entry(path, 2) for path in "abcdefg"]).put(gone("e"))
    pieces = run(gathered(View(layers, EmptyBase(), runs).scan_changes()))
    newest = [*(entry(path, 2) for path in "abcd"), gone("e"), *(entry(path, 2) for path in "fg")]
    assert [each for piece in pieces for each in changes_of(piece)] == [*newest, *(entry(path, 1) for path in "ikm")]
    assert len(pieces) > 2 and all(1 <= len(piece) <= 4 for piece in pieces)


def test_a_run_is_opened_when_its_paths_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "_PIECE", 2)
    monkeypatch.setattr(merge, "_STRIDE", 1)
    runs, _ = new_runs(open_bytes_max=1)
    layers = staged(runs, *([entry(letter + digit) for digit in "1234"] for letter in "cadb"))

    async def opened() -> list[tuple[str, int]]:
        changes = View(layers, EmptyBase(), runs).scan_changes()
        return [(piece["path"][-1].as_py(), runs.opened) async for piece in changes]

    assert run(opened()) == [("a3", 1), ("b2", 2), ("c1", 3), ("c4", 3), ("d3", 4), ("d4", 4)]


def test_a_large_run_beside_the_others_passes_a_group_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What overlaps is merged, and what does not is neither held nor read twice."""
    monkeypatch.setattr(view_module, "_PASSED_ROWS_MIN", 3)
    monkeypatch.setattr(run_format, "ROW_GROUP", 2)
    runs, counts = new_runs()
    large = [entry(path, 1) if path != "c" else gone(path) for path in "abcde"]
    layers = staged(runs, large, [entry(path, 1) for path in "nopq"], [entry("o", 2)])
    view = View(layers, EmptyBase(), runs)
    pieces = run(gathered(view.scan_changes()))
    assert ["".join(piece["path"].to_pylist()) for piece in pieces] == ["ab", "cd", "e", "nopq"]
    rest = [entry("n", 1), entry("o", 2), entry("p", 1), entry("q", 1)]
    assert [change for piece in pieces for change in changes_of(piece)] == [*large, *rest]
    assert counts.get.requests == 3
    assert [runs.at_hand(each) is None for each in layers.runs] == [each.count == len(large) for each in layers.runs]
    assert changes_of(pa.concat_tables(run(gathered(view.scan_changes("d"))))) == [entry("d", 1)]


@pytest.mark.parametrize("damage", [-1, 40])
def test_a_damaged_run_that_passes_is_found(damage: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "_PASSED_ROWS_MIN", 3)
    store = MemoryStore()
    runs = Runs(store, "repo", FixedClock(), Ids(bytes))
    layers = staged(runs, [entry(path, 1) for path in "abcde"])
    path = f"repo/{layers.runs[0].file}"
    data = bytearray(run(store.get(path)))
    data[damage] ^= 1
    run(store.put(path, bytes(data)))
    with pytest.raises(Corrupt):
        run(gathered(View(layers, EmptyBase(), runs).scan_changes()))


def test_a_page_as_columns_is_the_same_page() -> None:
    runs, _ = new_runs()
    layers = staged(runs, [entry("b", 2), gone("c"), entry("e/1", 2)], [entry("c", 3)]).put(entry("a", 4), gone("d"))
    view = View(layers, MemoryBase(["a", "d", "e/2", "f", "g"]), runs)
    queries: list[dict[str, Any]] = [{}, {"delimiter": "/"}, {"limit": 2}, {"prefix": "e"}, {"after": "z"}]
    for query in queries:
        page, columns = run(view.list(**query)), run(view.list_columns(**query))
        assert entries_of(columns.entries) == page.entries
        assert (columns.prefixes, columns.next) == (page.prefixes, page.next)
    assert run(view.list_columns(limit=0)).entries.num_rows == 0


def test_staged_paths_are_found_in_every_kind_of_layer() -> None:
    runs, _ = new_runs()
    layers = staged(runs, [entry("a"), gone("b")]).put(gone("c"))
    view = View(layers, MemoryBase(["d"]), runs)
    candidates = pa.array(["d", "c", "b", "a", "a", ""])
    assert run(view.paths_staged(candidates)).to_pylist() == ["a", "b", "c"]
    assert run(view.paths_staged(pa.array([], pa.string()))).to_pylist() == []


@pytest.mark.parametrize("limit", [0, -1])
def test_no_page_of_nothing(limit: int) -> None:
    runs, _ = new_runs()
    assert run(View(EMPTY.put(entry("a")), EmptyBase(), runs).list(limit=limit)) == ViewPage([], [], None)


@pytest.mark.parametrize(
    "query, seen, after",
    [
        pytest.param({"delimiter": "/"}, ["a/", "b", "c/"], None, id="folders and files"),
        pytest.param({"delimiter": "/", "limit": 1}, ["a/"], "a/", id="a page that ends with a folder"),
        pytest.param({"delimiter": "/", "after": "a/"}, ["b", "c/"], None, id="a folder stands for all of it"),
        pytest.param({"delimiter": "/", "after": "a/1"}, ["a/", "b", "c/"], None, id="the middle of a folder does not"),
        pytest.param({"delimiter": "/", "prefix": "a/"}, ["a/1", "a/2"], None, id="within a folder"),
        pytest.param({"delimiter": "/", "prefix": "c"}, ["c/"], None, id="a prefix that is half a name"),
        pytest.param({"delimiter": "1"}, ["a/1", "a/2", "b", "c/d/1"], None, id="any letter"),
        pytest.param({"delimiter": "/d/"}, ["a/1", "a/2", "b", "c/d/"], None, id="several letters"),
        pytest.param({"prefix": "x"}, [], None, id="nothing under the prefix"),
        pytest.param({"after": "z"}, [], None, id="nothing behind"),
    ],
)
def test_listings(query: dict[str, object], seen: list[str], after: str | None) -> None:
    runs, _ = new_runs()
    layers = staged(runs, [entry("a/2"), gone("d/x")]).put(entry("c/d/1"))
    page = run(View(layers, MemoryBase(["a/1", "b", "d/x"]), runs).list(**query))  # type: ignore[arg-type]
    assert (names(page), page.next) == (seen, after)


def test_a_view_keeps_its_moment() -> None:
    runs, _ = new_runs()
    layers = EMPTY.put(entry("a"))
    view = View(layers, EmptyBase(), runs)
    layers.put(entry("b"))
    assert names(run(view.list())) == ["a"]


def test_a_jump_does_not_bring_back_what_a_sweep_has_passed() -> None:
    """The tombstone of 0 makes it sweep, past m too; then a/ is jumped over, and the base has nothing more at hand."""
    runs, _ = new_runs()
    layers = staged(runs, [gone("0"), entry("a/x"), gone("m")])
    assert names(run(View(layers, MemoryBase(["m"]), runs).list(delimiter="/"))) == ["a/"]


# --- what it costs --------------------------------------------------------------------------------------------------
def many(count: int, form: str = "{:05d}") -> list[str]:
    return [form.format(at) for at in range(count)]


@pytest.mark.thorough
def test_a_page_costs_the_page_and_not_what_is_staged() -> None:
    runs, _ = new_runs()
    layers = staged(runs, *([entry(path) for path in many(20_000)[part::4]] for part in range(4)))
    view = View(layers, MemoryBase(many(20_000, "{:05d}x"), batch_rows=1_000), runs)
    page = run(view.list(after="10000", limit=100))
    assert len(page.entries) == 100
    assert view.cost.rows < 1_500


def test_folders_are_jumped_over() -> None:
    runs, _ = new_runs()
    paths = [f"{folder:02d}/{file:03d}" for folder in range(20) for file in range(500)]
    base = MemoryBase(paths[::2], batch_rows=100)
    view = View(staged(runs, [entry(path) for path in paths[1::2]]), base, runs)
    assert run(view.list(delimiter="/")).prefixes == [f"{folder:02d}/" for folder in range(20)]
    assert view.cost.rows < 200
    assert base.batches <= 40  # of 50: one batch shows a folder, and the search goes on after it


@pytest.mark.thorough
def test_a_folder_of_files_is_not_walked_one_by_one() -> None:
    runs, _ = new_runs()
    view = View(staged(runs, [entry(f"d/{path}") for path in many(3_000)]), EmptyBase(), runs)
    page = run(view.list("d/", delimiter="/", limit=1_000))
    assert len(page.entries) == 1_000 and page.next == "d/00999"
    assert view.cost.rows < 8_000


@pytest.mark.parametrize("delimiter", ["", "/", "1"])
def test_tombstones_over_nothing_cost_nothing(delimiter: str) -> None:
    runs, _ = new_runs()
    layers = staged(runs, [*map(gone, many(30_000)), entry("z")])
    view = View(layers, EmptyBase(), runs)
    assert names(run(view.list(delimiter=delimiter))) == ["z"]
    assert view.cost.rows < 10


@pytest.mark.thorough
@pytest.mark.parametrize("delimiter", ["", "/", "1"])
def test_tombstones_over_entries_are_compared_by_the_block(delimiter: str) -> None:
    runs, _ = new_runs()
    paths = many(30_000, "d/{:05d}")
    layers = staged(runs, [entry(path) for path in [*paths, "z"]], [gone(path) for path in paths])
    view = View(layers, EmptyBase(), runs)
    assert names(run(view.list(delimiter=delimiter))) == ["z"]
    assert view.cost.rows <= 2 * 30_000 + 20  # each once on either side, whole columns at a time


def test_few_entries_under_many_tombstones_are_searched_for() -> None:
    runs, _ = new_runs()
    layers = staged(runs, [entry("00000"), entry("20000")], [gone(path) for path in many(30_000)])
    view = View(layers, EmptyBase(), runs)
    assert run(view.list()).entries == []
    assert view.cost.rows < 10


def test_only_runs_that_can_matter_are_opened() -> None:
    runs, counts = new_runs()
    layers = staged(runs, [entry("a"), entry("b")], [entry("b"), entry("c")], [entry("x"), entry("z")])
    view = View(layers, EmptyBase(), runs)
    run(view.list("b"))
    run(view.get("b"))
    run(view.get("m"))
    assert counts.get.requests == 2
    run(view.list(after="c"))
    assert counts.get.requests == 3


def test_a_head_move_is_tested_without_opening_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "INLINE_BYTES_MAX", 0)
    runs, _ = new_runs()
    layers = staged(runs, [entry("a"), entry("m"), entry("z")], [entry("b"), entry("y")])
    view = View(layers, EmptyBase(), runs)
    assert run(view.paths_staged(pa.array(["c", "e", "m"]))).to_pylist() == ["m"]
    assert (runs.heads, runs.opened) == (2, 1)


def test_the_base_is_read_as_far_as_the_page_goes() -> None:
    runs, _ = new_runs()
    base = MemoryBase(many(10_000), batch_rows=100)
    assert len(run(View(EMPTY.put(entry("00005x")), base, runs).list(limit=150)).entries) == 150
    assert base.batches <= 3


def test_the_page_behind_a_folder_does_not_read_the_folder() -> None:
    runs, _ = new_runs()
    base = MemoryBase([*many(10_000, "a/{:05d}"), "b"], batch_rows=100)
    page = run(View(EMPTY.put(entry("c")), base, runs).list(after="a/", delimiter="/"))
    assert names(page) == ["b", "c"]
    assert base.batches == 1
