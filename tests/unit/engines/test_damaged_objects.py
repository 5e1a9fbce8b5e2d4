"""Damage to the files of data objects is found before one of their rows is shown or copied, whatever the operation."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from lochan.api.lake import compare_rows
from lochan.api.queries import run_query
from lochan.clock import SystemClock
from lochan.engines.duckdb import files as object_check
from lochan.engines.duckdb.delete import delete_where
from lochan.engines.duckdb.files import files_of
from lochan.engines.row_diff.sides import RowDiffRequest
from lochan.errors import Corrupt
from lochan.jobs.compaction import compact
from lochan.lake import CacheFolder, Lake, LakeOptions
from lochan.pools.snapshot import DataObject
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.verified_files import VerifiedFiles
from lochan.versioning.branches import create_branch
from lochan.versioning.heads.moves import merge
from tests.run import run
from tests.unit.engines.lake import ANN, QueryLake

pytestmark = pytest.mark.thorough

ROWS: list[dict[str, Any]] = [{"k": number, "x": number * 7, "text": f"row {number}"} for number in range(400)]


class Later(SystemClock):
    """As if the files were older than they are."""

    def wall(self) -> int:
        return super().wall() + 60_000_000


@asynccontextmanager
async def damaged_lake(folder: Path, **world: Any) -> AsyncIterator[QueryLake]:
    """Whose pool `logs` has two objects."""
    store = LocalStore(str(folder / "lake"), create=True, clock=Later())
    lake = await Lake.create(store, clock=Later(), world=LakeOptions(**world))
    fixture = QueryLake(lake)
    try:
        await fixture.pool("logs", ROWS[:200], ROWS[200:])
        yield fixture
    finally:
        await lake.close()


async def _query(fixture: QueryLake) -> Any:
    return await fixture.rows("from logs | sum(x)")


async def _export(fixture: QueryLake) -> Any:
    with await run_query(fixture.lake, "from logs") as result:
        result.write("parquet", io.BytesIO())


async def _compact(fixture: QueryLake) -> Any:
    repository = await fixture.lake.open_repository("logs")
    try:
        await compact(repository, "main", fixture.lake.queries(), actor=ANN)
    finally:
        await repository.close()


async def _delete(fixture: QueryLake) -> Any:
    repository = await fixture.lake.open_repository("logs")
    try:
        await delete_where(repository, "main", "x >= 0 and k % 2 == 1", fixture.lake.queries().files, actor=ANN)
    finally:
        await repository.close()


async def _merge(fixture: QueryLake) -> Any:
    repository = await fixture.lake.open_repository("logs")
    try:
        await merge(repository, "dev", "ours", actor=ANN)
    finally:
        await repository.close()


async def _diff(fixture: QueryLake) -> Any:
    found = await compare_rows(fixture.lake, "logs", RowDiffRequest("main", "empty"))
    found.close()


ACTS: dict[str, Callable[[QueryLake], Awaitable[Any]]] = {
    "query": _query,
    "export": _export,
    "compact": _compact,
    "delete": _delete,
    "merge": _merge,
    "diff": _diff,
}


def _flipped(at: int, bit: int) -> Callable[[Path, Path], None]:
    def damage(file: Path, _: Path) -> None:
        data = bytearray(file.read_bytes())
        data[at % len(data)] ^= 1 << bit
        file.write_bytes(data)

    return damage


def _swapped(file: Path, other: Path) -> None:
    one, two = file.read_bytes(), other.read_bytes()
    file.write_bytes(two)
    other.write_bytes(one)


def _cut(file: Path, _: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def _zeroed(file: Path, _: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))


def _emptied(file: Path, _: Path) -> None:
    file.write_bytes(b"")


KINDS = {"swapped": _swapped, "cut": _cut, "zeroed": _zeroed, "emptied": _emptied, "flipped": _flipped(100, 3)}


async def _forked(fixture: QueryLake) -> None:
    """Branches of which both have replaced the same objects, and one that has none of them."""
    repository = await fixture.lake.open_repository("logs")
    try:
        files = fixture.lake.queries().files
        await create_branch(repository, "empty", "main~2", actor=ANN)
        await create_branch(repository, "dev", "main", actor=ANN)
        await create_branch(repository, "ours", "main", actor=ANN)
        await delete_where(repository, "dev", "k == 3 or k == 303", files, actor=ANN)
        await delete_where(repository, "ours", "k == 4 or k == 304", files, actor=ANN)
    finally:
        await repository.close()


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake to be copied."""
    folder = tmp_path_factory.mktemp("forked")

    async def play() -> None:
        async with damaged_lake(folder) as fixture:
            await _forked(fixture)

    run(play())
    return folder / "lake"


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("act", ACTS)
def test_every_act_finds_every_kind_of_damage(forked: Path, tmp_path: Path, act: str, kind: str) -> None:
    shutil.copytree(forked, tmp_path / "lake")

    async def play() -> None:
        store = LocalStore(str(tmp_path / "lake"), clock=Later())
        lake = await Lake.open(store, clock=Later())
        fixture = QueryLake(lake)
        try:
            files = await fixture.files("logs")
            assert await _query(fixture) == [{"sum": sum(row["x"] for row in ROWS)}]  # so they were right once
            KINDS[kind](*files)
            heads = await fixture.rows("from logs:branches | cut name, commit")
            with pytest.raises(Corrupt, match=r"data object \w+ of logs.* is damaged, at \S+/data/") as found:
                await ACTS[act](fixture)
            assert any(file.name in str(found.value) for file in files)
            assert await fixture.rows("from logs:branches | cut name, commit") == heads
        finally:
            await lake.close()

    run(play())


@pytest.mark.thorough
def test_every_flipped_bit_is_found_by_a_query(tmp_path: Path) -> None:
    async def play() -> None:
        async with damaged_lake(tmp_path) as fixture:
            [file, other] = await fixture.files("logs")
            whole = file.read_bytes()
            for number in range(64):
                _flipped(len(whole) * number // 64, number % 8)(file, other)
                with pytest.raises(Corrupt, match="is damaged"):
                    await _query(fixture)
                file.write_bytes(whole)
            assert await _query(fixture) == [{"sum": sum(row["x"] for row in ROWS)}]

    run(play())


def test_a_query_ignores_damaged_objects_that_it_does_not_read(tmp_path: Path) -> None:
    async def play() -> None:
        async with damaged_lake(tmp_path) as fixture:
            [file, other] = await fixture.files("logs")
            _cut(other, file)
            assert await fixture.rows("from logs | where k < 100 | count()") == [{"count": 100}]

    run(play())


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read to check them."""
    read: list[str] = []
    digest = object_check._digest

    def noted(path: str) -> bytes:
        read.append(path)
        return digest(path)

    monkeypatch.setattr(object_check, "_digest", noted)
    return read


def test_a_file_is_read_once_for_each_stamp_by_all_processes_together(tmp_path: Path, hashed: list[str]) -> None:
    async def play() -> None:
        async with damaged_lake(tmp_path, verified=str(tmp_path / "marks")) as fixture:
            await _query(fixture)
            assert len(hashed) == 2
            await _query(fixture)
            assert len(hashed) == 2
            [file, _] = await fixture.files("logs")
            os.utime(file)
            await _query(fixture)
            assert len(hashed) == 3
        store = LocalStore(str(tmp_path / "lake"), clock=Later())
        another = await Lake.open(store, clock=Later(), world=LakeOptions(verified=str(tmp_path / "marks")))
        await _query(QueryLake(another))
        await another.close()
        assert len(hashed) == 3

    run(play())


def test_what_copies_rows_reads_each_file_whatever_was_found_before(tmp_path: Path, hashed: list[str]) -> None:
    async def play() -> None:
        async with damaged_lake(tmp_path) as fixture:
            await _query(fixture)
            hashed.clear()
            await _compact(fixture)
            assert len(hashed) == 2

    run(play())


class HeldClock(SystemClock):
    at: int | None = None

    def wall(self) -> int:
        return super().wall() if self.at is None else self.at


def test_a_query_whose_rows_are_loaded_reads_each_file_too(tmp_path: Path, hashed: list[str]) -> None:
    async def play() -> None:
        async with damaged_lake(tmp_path) as fixture:
            await fixture.pool("copy")
            await _query(fixture)
            hashed.clear()
            await fixture.rows("from logs | load copy")
            assert len(hashed) == 2

    run(play())


def test_a_file_of_this_moment_is_checked_each_time(tmp_path: Path, hashed: list[str]) -> None:
    async def play() -> None:
        clock = HeldClock()
        lake = await Lake.create(LocalStore(str(tmp_path / "lake"), create=True), clock=clock)
        fixture = QueryLake(lake)
        await fixture.pool("logs", ROWS)
        [file] = await fixture.files("logs")
        clock.at = file.stat().st_ctime_ns // 1_000 + 1_000_000
        hashed.clear()
        await _query(fixture)
        await _query(fixture)
        assert len(hashed) == 2
        clock.at += 2_000_000
        await _query(fixture)
        await _query(fixture)
        await lake.close()
        assert len(hashed) == 3

    run(play())


def test_what_was_found_out_holds_for_a_week_at_most(tmp_path: Path, hashed: list[str]) -> None:
    async def play() -> None:
        clock = HeldClock()
        lake = await Lake.create(LocalStore(str(tmp_path / "lake"), create=True), clock=clock)
        fixture = QueryLake(lake)
        await fixture.pool("logs", ROWS)
        clock.at = clock.wall() + 60_000_000
        await _query(fixture)
        hashed.clear()
        clock.at += 8 * 86_400_000_000
        await _query(fixture)
        await lake.close()
        assert len(hashed) == 1

    run(play())


def test_damage_on_the_way_is_not_reported_as_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = object_check._digest
    calls: list[str] = []

    def once_wrong(path: str) -> bytes:
        calls.append(path)
        return b"wrong" if len(calls) == 1 else digest(path)

    monkeypatch.setattr(object_check, "_digest", once_wrong)

    async def play() -> None:
        async with damaged_lake(tmp_path) as fixture:
            assert await _query(fixture) == [{"sum": sum(row["x"] for row in ROWS)}]
            assert len(calls) == 3

    run(play())


def test_an_engine_error_from_a_damaged_file_is_reported_as_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that loses bytes without a trace: the stamp is as it was, and DuckDB stumbles."""

    async def play() -> None:
        async with damaged_lake(tmp_path) as fixture:
            await _query(fixture)
            [file, other] = await fixture.files("logs")
            monkeypatch.setattr(VerifiedFiles, "has", lambda *_: True)
            size = file.stat().st_size
            file.write_bytes(bytes(size))
            with pytest.raises(Corrupt, match=rf"is damaged, at \S+{file.name}"):
                await _query(fixture)
            assert other.exists()

    run(play())


def _copies(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").rglob("*.parquet"))


def _no_link(*_: object) -> None:
    raise OSError(errno.EXDEV, "Invalid cross-device link")


@pytest.mark.parametrize("disks", ["one disk", "two disks"])
def test_a_damaged_copy_of_another_store_is_made_again(
    disks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if disks == "two disks":  # the cache on one, the folders of queries on the other
        monkeypatch.setattr("lochan.engines.duckdb.copies.os.link", _no_link)

    async def play() -> None:
        counts = RequestCounts()
        store = CountingStore(MemoryStore(clock=Later()), counts)
        lake = await Lake.create(
            store, clock=Later(), world=LakeOptions(cache=CacheFolder(str(tmp_path / "cache"), 1 << 30))
        )
        fixture = QueryLake(lake)
        await fixture.pool("logs", ROWS)
        expected = [{"sum": sum(row["x"] for row in ROWS)}]
        assert await _query(fixture) == expected
        fetched = counts.get_stream.requests
        assert await _query(fixture) == expected
        assert counts.get_stream.requests == fetched
        for damage in KINDS.values():
            [copy] = _copies(tmp_path)
            damage(copy, copy)
            if damage is not _swapped:
                fetched += 1
            assert await _query(fixture) == expected
            assert counts.get_stream.requests == fetched
        await lake.close()

    run(play())


def test_an_object_of_another_store_is_fetched_twice_before_it_is_called_damaged(tmp_path: Path) -> None:
    class Lying(MemoryStore):
        lies = 1

        async def get_stream(self, path: str) -> AsyncIterator[bytes]:
            async for chunk in super().get_stream(path):
                self.lies -= 1
                yield b"?" * len(chunk) if self.lies >= 0 else chunk

    async def play() -> None:
        store = Lying()
        data = b"rows"
        await store.put("a", data)
        object = DataObject("id", "a", len(data), hashlib.sha256(data).digest(), 1, "logs", "c")
        files = files_of(store)
        assert await files.place([object], str(tmp_path)) == [f"{tmp_path}/id.parquet"]
        store.lies = 2
        with pytest.raises(Corrupt, match="data object other of logs@c is damaged, at a"):
            await files.place([object._replace(id="other")], str(tmp_path))

    run(play())
