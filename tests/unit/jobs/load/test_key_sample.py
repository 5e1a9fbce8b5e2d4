"""Parts have about the same size, in whatever order the rows come, in every format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.errors import Invalid
from lochan.jobs.load.file_splits import splits_of
from lochan.jobs.load.files import File, SurveyedFile, local_file
from lochan.jobs.load.key_ranges import bounds_of, size_of
from lochan.jobs.load.key_sample import KeySampler, sample_tasks, split_tasks, take_samples
from lochan.jobs.load.load import LoadPlan, cut, plan_load
from lochan.jobs.load.positions import SPLITS_MAX, check_count
from lochan.jobs.load.shuffle import Received
from lochan.jobs.load.sizes import LoadSizes
from lochan.jobs.load.survey import survey
from lochan.jobs.messages import PoolTarget, error_of
from lochan.pools.settings import parse
from lochan.store.open import StoreLocation
from tests.unit.jobs.load.local_load import records_in, run_here
from tests.unit.jobs.load.test_load import avro_file, orc_file, parquet

pytestmark = pytest.mark.thorough

ROWS, PARTS = 8_000, 8
ROW_BYTES = 36  # of a row in most formats, about
Numbers = npt.NDArray[np.int64]
_sorted = np.arange(ROWS, dtype=np.int64)
_shuffled = np.random.default_rng(1).permutation(ROWS)

ORDERS: dict[str, Numbers] = {
    "sorted": _sorted,
    "reversed": _sorted[::-1].copy(),
    "clustered": np.concatenate(np.array_split(_sorted, 100)[::7] + np.array_split(_sorted, 100)[1::2]),
    "skewed": np.where(_shuffled % 10 < 4, 70_000, np.where(_shuffled % 10 < 6, 5, _shuffled)),
    "one key": np.full(ROWS, 7),
}


def _ndjson(keys: Numbers) -> bytes:
    return b"".join(b'{"k":%d,"s":"%d is a text"}\n' % (key, n * 7919) for n, key in enumerate(keys.tolist()))


def _csv(keys: Numbers) -> bytes:
    return b"k,s\n" + b"".join(b"%d,%d is a text\n" % (key, n * 7919) for n, key in enumerate(keys.tolist()))


def _table(keys: Numbers) -> pa.Table:
    return pa.table({"k": keys, "s": [f"{n * 7919} is a text" for n in range(len(keys))]})


def _arrow(keys: Numbers) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, (table := _table(keys)).schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _xml(keys: Numbers) -> bytes:
    return b"<rows>" + b"".join(b'<r k="%d"><s>a text</s></r>' % key for key in keys.tolist()) + b"</rows>"


FORMATS: dict[str, Callable[[Numbers], bytes]] = {
    "a.ndjson": _ndjson,
    "a.ndjson.gz": lambda keys: gzip.compress(_ndjson(keys)),
    "a.json": lambda keys: json.dumps([{"k": key} for key in keys.tolist()]).encode(),
    "a.csv": _csv,
    "a.csv.gz": lambda keys: gzip.compress(_csv(keys)),
    "a.parquet": lambda keys: parquet(_table(keys)),
    "a.orc": lambda keys: orc_file(_table(keys)),
    "a.avro": lambda keys: avro_file(_table(keys)),
    "a.arrow": _arrow,
    "a.xml": _xml,
}


def target(key: str = "k") -> PoolTarget:
    return PoolTarget(StoreLocation("/nowhere"), "", parse([key]), 0, Limits(64 << 20, threads=1))


def plan_of(files: list[File]) -> LoadPlan:
    sizes = LoadSizes(part_bytes=ROWS * ROW_BYTES // PARTS, split_bytes=50_000)
    return plan_load(survey(files, None, run_here), target(), LoaderOptions(), sizes, parallel=1, run=run_here)


def rows_by_part(plan: LoadPlan) -> list[int]:
    """How many rows go to each part that gets any."""
    found: dict[int, int] = {}
    for task in plan.tasks:
        for part, record in records_in(cut(plan.work, [pa.RecordBatch.from_pydict({"number": [0], "task": [task]})])):
            found[part] = found.get(part, 0) + sum(size_of(chunk) for chunk in Received([record]).chunks())
    return list(found.values())


def check_balanced(folder: Path, name: str, keys: Numbers) -> None:
    (folder / name).write_bytes(FORMATS[name](keys))
    rows = rows_by_part(plan_of([local_file(folder / name)]))
    assert sum(rows) == len(keys)
    assert len(rows) >= 3, "the key was cut at all"
    assert max(rows) <= 2 * len(keys) / len(rows), rows


@pytest.mark.parametrize("name", ["a.ndjson", "a.ndjson.gz"])
@pytest.mark.parametrize("order", ["sorted", "one key"])
def test_lines_are_cut_into_parts_of_one_size(tmp_path: Path, name: str, order: str) -> None:
    check_balanced(tmp_path, name, ORDERS[order])


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("order", ORDERS)
def test_every_format_is_cut_into_parts_of_one_size(tmp_path: Path, name: str, order: str) -> None:
    check_balanced(tmp_path, name, ORDERS[order])


def test_numbers_of_csv_are_cut_though_one_of_them_is_none(tmp_path: Path) -> None:
    """Then the whole column is of texts, which the sample does not know."""
    (tmp_path / "a.csv").write_bytes(_csv(_sorted) + b"none,a text\n")
    rows = rows_by_part(plan_of([local_file(tmp_path / "a.csv")]))
    assert max(rows) <= 2 * ROWS / PARTS, rows


@pytest.mark.parametrize("count", [3, 40])
def test_the_first_row_of_many_files_is_not_all_of_their_sample(tmp_path: Path, count: int) -> None:
    for number in range(count):
        (tmp_path / f"{number}.ndjson.gz").write_bytes(gzip.compress(_ndjson(_sorted[number::count])))
    rows = rows_by_part(plan_of([local_file(path) for path in sorted(tmp_path.iterdir())]))
    assert sum(rows) == ROWS
    assert max(rows) <= 2 * ROWS / PARTS, rows


def test_a_damaged_file_is_found_by_the_sample(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(_ndjson(_shuffled))[:-100])
    with pytest.raises(Exception, match=r"a\.ndjson\.gz") as raised:
        plan_of([local_file(tmp_path / "a.ndjson.gz")])
    assert isinstance(error_of(raised.value), Invalid)


def test_spots_are_equally_far_apart_and_few_files_are_opened_for_them() -> None:
    files = [SurveyedFile(File(str(number), str(number), 1_000, ""), "ndjson") for number in range(1_000)]
    splits = splits_of(files, 10_000)
    tasks = sample_tasks(splits, 64)
    assert len(tasks) == 64 and all(len(task.spots) == 1 for task in tasks)
    assert len(sample_tasks(splits, 10_000)) == 1_000
    assert len(split_tasks(sample_tasks(splits, 10_000))) == 40
    assert sum(len(task.spots) for task in sample_tasks(splits, 10_000)) == 10_000


def test_files_without_a_spot_are_never_opened(tmp_path: Path) -> None:
    """There are more files than the sample has rows; the others do not even exist here."""
    files = [SurveyedFile(File(str(number), "/nowhere", 1_000, ""), "ndjson") for number in range(1_000)]
    splits = splits_of(files, 10_000)
    hit = {task.split.number for task in sample_tasks(splits, 64)}
    (tmp_path / "there").write_bytes(_ndjson(_sorted[:20]).rstrip().ljust(999) + b"\n")
    there = [
        seen if number not in hit else seen._replace(file=File(str(number), str(tmp_path / "there"), 1_000, ""))
        for number, seen in enumerate(files)
    ]
    sampler = KeySampler((), parse(["k"]), LoaderOptions(), 64 << 20)
    found = take_samples(sampler, splits_of(there, 10_000), 64, run_here)
    assert sum(found.values()) == pytest.approx(1_000_000)


def test_bounds_give_hot_keys_parts_of_their_own() -> None:
    weights = {b"a": 1.0, b"b": 6.0, b"c": 1.0, b"d": 2.0, b"e": 2.0}
    assert bounds_of(weights, 6) == [b"b", b"b", b"b", b"b\0", b"d", b"d\0", b"e", b"e\0"]
    assert bounds_of({}, 1) == bounds_of({b"a": 1.0}, 1) == bounds_of({}, 2) == []


def test_too_many_splits_are_refused() -> None:
    check_count(SPLITS_MAX)
    with pytest.raises(Exception, match="too many for one load"):
        check_count(SPLITS_MAX + 1)
