"""What executors do in a garbage collection, played in this process: twice, as Spark may do it."""

import asyncio
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from lochan.formats.record import Actor
from lochan.jobs.collection import tasks
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
    rows = ((tree.file, tasks.TREE, msgspec.msgpack.encode(tree), 0, True) for tree in target.look.roots.trees)
    files = list(tasks.read_trees(small(target), [tasks.file_rows(rows)]))
    prefix = f"{target.repository}/"
    staged = pa.array(sorted(each.removeprefix(prefix) for each in target.look.roots.addresses), pa.string())
    return [*tasks.mark_files(small(target), (), files), tasks.mark_rows(staged, ())]


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
    for batches, named in ((marks(target), 0), ([tasks.mark_rows(pa.array([part.first]), ())], 1)):
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
