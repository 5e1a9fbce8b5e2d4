"""Bytes move behind aliases and the old files are deleted. Every door still reads them."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lochan
from lochan.engines import run_query
from lochan.errors import Gone
from lochan.lake import Lake
from lochan.store.local import LocalStore
from tests.run import run
from tests.unit.collection.mover import move_everything
from tests.unit.server.gateway_place import Asked, signed
from tests.unit.server.two_paths import LARGE, opened

pytestmark = pytest.mark.thorough


def test_the_gateway_on_both_paths(tmp_path: Path) -> None:
    async def story() -> None:
        world = await opened(tmp_path)
        admin = world.people.admin

        def get(key: str, **headers: str) -> Asked:
            return signed(admin, "GET", f"/bucket/{key}", headers=headers)

        for _ in range(2):  # so that both have resolved everything before
            assert (await world.both(get("main/small"))).body == b"body of small"
        other = await Lake.open(LocalStore(str(tmp_path / "lake")))
        assert await move_everything(await other.open_repository("bucket"))
        before = world.short.short
        for _ in range(3):
            assert (await world.both(get("main/small"))).body == b"body of small"
            assert (await world.both(get("v1/d/small"))).body == b"body of d/small"
            assert (await world.both(get("main/large"))).body == LARGE
            assert (await world.both(get("main/large", range="bytes=7-1006"))).body == LARGE[7:1007]
            assert (await world.both(get("main/staged"))).body == b"body of staged"
        assert world.short.short > before, "the fast path follows aliases too"
        copied = signed(admin, "PUT", "/bucket/main/copied", headers={"x-amz-copy-source": "/bucket/main/small"})
        assert (await world.short.ask(copied)).status == 200
        assert (await world.both(get("main/copied"))).body == b"body of small"

    run(story())


def parquet(*numbers: int) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), sink)
    return sink.getvalue()


def move(lake: str, *names: str) -> None:
    async def story() -> None:
        opened_lake = await Lake.open(LocalStore(lake))
        for name in names:
            assert await move_everything(await opened_lake.open_repository(name))
        await opened_lake.close()

    run(story())


def test_python_queries_and_the_command_line(tmp_path: Path) -> None:
    at = str(tmp_path / "lake")
    run(_made(at))
    with lochan.connect(at) as lake:
        repo, pool = lake.create_repository("sales"), lake.create_pool("logs", key="n")
        main = repo.branch("main")
        for path, data in {"t/a.parquet": parquet(1, 2), "t/b.parquet": parquet(3), "x.txt": b"0123456789"}.items():
            main.put(path, data)
        main.commit("first")
        main.put("staged.txt", b"not committed")
        for n in range(3):
            pool.load([{"n": n, "text": "a" * n}])
    before = _read(at)
    move(at, "sales", "logs")
    assert _read(at) == before
    with lochan.connect(at) as lake:
        main, logs = lake.repository("sales").branch("main"), lake.pool("logs")
        main.copy(main, "x.txt", "y.txt")
        main.move("staged.txt", "z.txt")
        assert (main.read("y.txt"), main.read("z.txt")) == (b"0123456789", b"not committed")
        main.commit("copies")
        main.copy_folder(main, "t/", "u/")
        assert main.read("u/a.parquet") == before["t/a.parquet"]
        with main.transaction("in a workspace") as workspace:
            assert workspace.read("x.txt") == b"0123456789"
            workspace.put("w.txt", b"new")
        logs.delete_rows("n == 1")
        logs.compact()
        assert sorted(row["n"] for row in lake.query("from logs").to_arrow().to_pylist()) == [0, 2]
        stat = main.details("x.txt")
        assert (Path(at) / stat.blocks[0].address).read_bytes() == b"0123456789"
    cat = "from lochan.cli.main import main; main()"
    for command, expected in {
        ("fs", "cat", "sales/x.txt"): b"0123456789",
        ("fs", "cat", "sales@main~1/x.txt"): b"0123456789",
    }.items():
        done = subprocess.run([sys.executable, "-c", cat, "--lake", at, *command], capture_output=True, check=True)
        assert done.stdout == expected


def test_a_query_that_began_before_the_bytes_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No row was given out yet: it looks once more where they are. If they are nowhere, it says so."""
    at = str(tmp_path / "lake")
    run(_made(at))
    with lochan.connect(at) as lake:
        lake.create_pool("logs", key="n").load([{"n": 1}, {"n": 2}])
    begun = 0
    start = run_query._start

    async def late(*given: Any, **more: Any) -> Any:
        nonlocal begun
        begun += 1
        if begun == 1:
            await _moved(at)
        return await start(*given, **more)

    monkeypatch.setattr(run_query, "_start", late)
    with lochan.connect(at) as lake:
        assert [row["n"] for row in lake.query("from logs | sort n").to_arrow().to_pylist()] == [1, 2]
    assert begun == 2
    for file in Path(at).rglob("data/**/*"):
        if file.is_file():
            file.unlink()
    with lochan.connect(at) as lake, pytest.raises(Gone, match="is no longer on the store"):
        lake.query("from logs")


async def _moved(at: str) -> None:
    opened_lake = await Lake.open(LocalStore(at))
    assert await move_everything(await opened_lake.open_repository("logs"))
    await opened_lake.close()


async def _made(at: str) -> None:
    lake = await Lake.create(LocalStore(at, create=True))
    await lake.close()


def _read(at: str) -> dict[str, object]:
    with lochan.connect(at) as lake:
        main = lake.repository("sales").branch("main")
        found: dict[str, object] = {each.path: main.read(each.path) for each in main.list()}
        found["range"] = main.read("x.txt", 3, 7)
        found["rows"] = sorted(str(row) for row in lake.query("from logs | sort n").to_arrow().to_pylist())
        found["files"] = str(lake.query("from sales/t/*.parquet | sum(n)").to_arrow().to_pylist())
        return found
