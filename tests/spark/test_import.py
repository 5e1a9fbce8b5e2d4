"""Files that tasks of Spark list become the same commit as those that one process lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lochan
from lochan.api.options import EngineOptions
from lochan.engines.spark import session
from lochan.errors import Invalid, NothingToDo
from lochan.formats.repository_events import Moved
from lochan.jobs import import_files
from lochan.lake import Lake as EngineLake
from lochan.store.local import LocalStore
from tests.run import run
from tests.spark.local_spark import LEFT_SOCKETS

pytestmark = LEFT_SOCKETS
SPARK = EngineOptions(engine="spark", master="local[2]")


@pytest.fixture(scope="module", autouse=True)
def spark() -> Iterator[None]:
    yield
    session.stop()


def made_lake(folder: Path) -> lochan.Lake:
    run(EngineLake.create(LocalStore(str(folder), create=True)))
    return lochan.connect(str(folder))


def write_files(folder: Path, count: int) -> None:
    for number in range(count):
        file = folder / f"{number % 7}" / f"{number:04d}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")


def write_list(folder: Path, file: Path) -> None:
    async def rows() -> list[tuple[str, int, str, int]]:
        store = LocalStore(str(folder))
        return [(each.path, each.size, each.etag.strip('"'), int(each.modified * 1e6)) async for each in store.list()]

    path, size, etag, mtime = (list(each) for each in zip(*reversed(run(rows())), strict=True))
    pq.write_table(pa.table({"path": path, "size": size, "etag": etag, "mtime": mtime}), file)


def test_spark_makes_the_same_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_files, "_RUN_ROWS", 50)  # of the driver, which says how many runs there are
    source, listed = tmp_path / "files", tmp_path / "list.parquet"
    write_files(source, 300)
    write_list(source, listed)
    with made_lake(tmp_path / "lake") as lake:
        repository = lake.create_repository("demo")
        trees = {}
        for name, engine, inventory in (
            ("here", EngineOptions(), ""),
            ("listed", SPARK, ""),
            ("inventory", SPARK, f"file://{listed}"),
        ):
            branch = repository.create_branch(name, "main")
            found = lochan.ImportSource(f"file://{source}", "in/", inventory, verify=bool(inventory))
            done = branch.import_files([found], engine=engine)
            assert (done.added, done.changed, done.removed) == (300, 0, 0)
            trees[name] = repository.ref(name).resolve().tree
            with pytest.raises(NothingToDo):
                branch.ingest(found, engine=engine)
        assert len(set(trees.values())) == 1
        single = [lochan.ImportSource(f"file://{source}/3/0010.csv", "one", file=True)]
        assert repository.create_branch("single", "main").import_files(single, engine=SPARK).added == 1
        assert repository.ref("single").read("one") == b"10\n"
        assert repository.ref("inventory").read("in/3/0010.csv") == b"10\n"

        (source / "0" / "0000.csv").unlink()
        (source / "1" / "0001.csv").write_text("changed\n")
        (source / "1" / "new.csv").write_text("new\n")
        write_list(source, listed)
        found = lochan.ImportSource(f"file://{source}", "in/", f"file://{listed}")
        branch = repository.branch("inventory")
        changes = [(each.kind, each.path) for each in branch.ingest_diff(found, engine=SPARK)]
        assert changes == [("removed", "in/0/0000.csv"), ("changed", "in/1/0001.csv"), ("added", "in/1/new.csv")]
        done = branch.ingest(found, engine=SPARK)
        assert (done.added, done.changed, done.removed) == (1, 1, 1)
        assert any(job.kind == "import" for job in lake.jobs())


def test_tasks_write_the_ranges_and_a_job_holds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "files"
    write_files(source, 120)
    with made_lake(tmp_path / "lake") as lake:
        repository = lake.create_repository("demo")
        branch = repository.branch("main")
        branch.put("zebra", b"1")
        branch.commit("what is behind them")

        def never(*_: object) -> None:
            raise AssertionError("the driver has read a run")

        monkeypatch.setattr(import_files.RunFiles, "between", never)
        done = branch.import_files([lochan.ImportSource(f"file://{source}", "in/")], engine=SPARK)
        assert (done.added, done.bytes) == (120, sum(len(f"{number}\n") for number in range(120)))
        assert repository.ref("main").read("in/3/0010.csv") == b"10\n"
        assert repository.ref("main").read("zebra") == b"1"
        (moved,) = run(_moves(tmp_path / "lake"))
        assert len(moved.closes) == 2
        assert moved.mint
        (job,) = [each for each in lake.jobs() if each.kind == "import"]
        assert job.id == moved.closes[0]
        assert job.state == "done"


async def _moves(folder: Path) -> list[Moved]:
    """Every import that landed; nothing is held open any more."""
    lake = await EngineLake.open(LocalStore(str(folder)))
    repository = await lake.open_repository("demo")
    refs, _ = await repository.refs()
    assert refs.collection.all_held() == []
    journal, found = repository.journal, []
    async for sealed in journal.records():
        changes = [change for each in sealed.record.entries for change in each.changes]
        found += [journal.schema.vocabulary.decode(each, journal.journal, sealed.record.number) for each in changes]
    await repository.close()
    await lake.close()
    return [event for event in found if isinstance(event, Moved) and event.why == "import"]


def test_a_list_that_lies_is_refused_by_a_task(tmp_path: Path) -> None:
    source, listed = tmp_path / "files", tmp_path / "list.parquet"
    write_files(source, 20)
    write_list(source, listed)
    table = pq.read_table(listed)
    twice = tmp_path / "twice.parquet"
    pq.write_table(pa.concat_tables([table, table.slice(7, 1)]), twice)
    (source / "3" / "0003.csv").write_text("longer than before\n")
    with made_lake(tmp_path / "lake") as lake:
        branch = lake.create_repository("demo").branch("main")
        head = branch.resolve().id
        for file, match in ((listed, "0003.csv with 2 bytes"), (twice, "two files would become|0003.csv with 2 bytes")):
            with pytest.raises(Invalid, match=match):
                found = lochan.ImportSource(f"file://{source}", "in/", f"file://{file}", verify=file == listed)
                branch.import_files([found], engine=SPARK)
        assert branch.resolve().id == head


def test_tasks_export_what_one_process_exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "files"
    write_files(source, 200)
    with made_lake(tmp_path / "lake") as lake:
        repository = lake.create_repository("demo")
        repository.branch("main").import_files([lochan.ImportSource(f"file://{source}", "in/")])
        for name, engine in (("here", EngineOptions()), ("spark", SPARK)):
            done = repository.ref("main").export(f"file://{tmp_path}/{name}", prefix="in/", engine=engine)
            assert (done.files, done.present) == (200, 0)
            again = repository.ref("main").export(f"file://{tmp_path}/{name}", prefix="in/", engine=engine)
            assert again.present == 200
        for file in source.rglob("*.csv"):
            path = file.relative_to(source)
            assert (tmp_path / "spark" / path).read_bytes() == file.read_bytes()
            assert (tmp_path / "here" / path).read_bytes() == file.read_bytes()
        assert (tmp_path / "spark" / "_SUCCESS").exists()
