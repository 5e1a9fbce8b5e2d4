"""What executors do in a garbage collection, played in this process: twice, as Spark may do it."""

import asyncio
import importlib.util
import sys
import zipfile
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lochan.engines.spark.executors import keep_archives_read
from lochan.formats.record import Actor
from lochan.jobs.collection import tasks
from lochan.jobs.collection.mark_rows import empty_rows, mark_rows, marks_of, read_marks
from lochan.jobs.collection.metadata_files import file_rows, files_of, trees_of, work_of
from lochan.jobs.collection.shards import bounds_of, shards_of, span_of
from lochan.jobs.collection.tasks import CollectionTarget, ShardMessage
from lochan.lake import Lake
from lochan.store.open import open_store
from lochan.versioning.collection.plan import NEVER, look_at
from lochan.versioning.collection.roots import Roots
from tests.unit.versioning.history import History

ANN = Actor("ann", "test", "here")


async def made(folder: Path) -> CollectionTarget:
    lake = await Lake.create(open_store(str(folder / "lake"), create=True))
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    history = History(repository)
    await history.write("main", "a=1 b=2")
    await history.stage("main", "a=3")
    await history.stage("main", "a=4")
    look = await look_at(repository, NEVER)
    await repository.close()
    return CollectionTarget(lake.place, look)


def small(target: CollectionTarget) -> CollectionTarget:
    return CollectionTarget(target.place, target.look._replace(roots=Roots()))


def marks(target: CollectionTarget) -> list[pa.RecordBatch]:
    """Of the trees, and of what the state itself names."""
    trees = file_rows(trees_of(target.look))
    files = [file for batch in tasks.read_trees(small(target), [trees]) for file in files_of(batch)]
    prefix = f"{target.repository}/"
    staged = pa.array(sorted(each.removeprefix(prefix) for each in target.look.roots.addresses), pa.string())
    names = pa.array([file.file for file in files], pa.string())
    read = pa.array([msgspec.msgpack.encode(each) for each in work_of(files)], pa.binary())
    work = pa.RecordBatch.from_pydict({"task": read})
    return [*tasks.mark_files(small(target), (), [work]), mark_rows([marks_of(staged), marks_of(names)], ())]


def found(target: CollectionTarget, batches: list[pa.RecordBatch]) -> ShardMessage:
    [batch] = tasks.collect_shard(small(target), (), True, batches)
    return msgspec.msgpack.decode(batch.column("result")[0].as_py(), type=ShardMessage)


def test_a_task_that_runs_twice_writes_the_same_part_and_deletes_once(tmp_path: Path) -> None:
    target = asyncio.run(made(tmp_path))
    batches = marks(target)
    first, second = found(target, batches), found(target, batches)
    assert first == second
    assert (len(first.parts), first.parts[0].files) == (1, 1)
    work = [msgspec.msgpack.encode((first.parts[0], ""))]
    swept = [msgspec.msgpack.decode(data) for _ in range(2) for data in tasks.delete_parts(small(target), work)]
    assert [files for files, _ in swept] == [1, 0]


def test_a_part_is_checked_against_marks_by_name(tmp_path: Path) -> None:
    target = asyncio.run(made(tmp_path))
    [part] = found(target, marks(target)).parts
    for batches, named in ((marks(target), 0), ([mark_rows([marks_of(pa.array([part.first]))], ())], 1)):
        [batch] = tasks.check_part(small(target), [part], batches)
        assert msgspec.msgpack.decode(batch.column("result")[0].as_py()) == named


@pytest.mark.parametrize("count", [2, 8, 100])
def test_every_path_is_in_one_shard(count: int) -> None:
    paths = [f"data/{mint:020d}-w/{name}" for mint in (1, 5, 70) for name in ("a", "é", "文", "%41", "~")]
    paths += ["metaranges/x", "ranges/y", "runs/z", "workspaces/1-a/b"]
    bounds = bounds_of(paths, 100, count)
    assert list(bounds) == sorted(bounds)
    for path, shard in zip(paths, shards_of(pa.array(paths), bounds).to_pylist(), strict=True):
        span = span_of(shard, bounds)
        assert path > span.after or not span.after
        assert span.upto is None or path <= span.upto


def test_marks_reach_their_shards() -> None:
    bounds = ("b", "d")
    marks = [
        marks_of(pa.array(["d", "a", "z", "b", "bb"])),
        marks_of(pa.array(["c", "z"]), live=False, folders=pa.array(["x/", None])),
    ]
    rows = [mark_rows(marks, bounds), empty_rows(3)]
    assert rows[0].num_rows == 3
    found = {
        shard: [
            row
            for each in read_marks(batch.filter(pc.equal(batch["shard"], shard)) for batch in rows)
            for row in each.to_pylist()
        ]
        for shard in range(3)
    }
    assert [(row["path"], row["live"], row["folder"]) for row in found[0]] == [("a", True, None), ("b", True, None)]
    assert [(row["path"], row["live"], row["folder"]) for row in found[1]] == [
        ("d", True, None),
        ("bb", True, None),
        ("c", False, "x/"),
    ]
    assert [(row["path"], row["live"]) for row in found[2]] == [("z", True), ("z", False)]
    assert mark_rows([], bounds).num_rows == 0


def test_archives_are_read_once_for_all_tasks_of_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "some.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("packed_here/__init__.py", "")
    monkeypatch.syspath_prepend(str(archive))
    importlib.import_module("packed_here")
    assert str(archive) in sys.path_importer_cache
    keep_archives_read()
    archive.unlink()
    importlib.invalidate_caches()  # as a worker of Spark does before each task
    assert importlib.util.find_spec("packed_here.nothing") is None
    assert importlib.util.find_spec("packed_here") is not None
    monkeypatch.delitem(sys.modules, "packed_here")
