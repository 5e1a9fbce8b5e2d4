"""Tasks write the same objects as an embedded load, and their errors are reported."""

import asyncio
import pickle
import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from lochan.api.pool import load_rows
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.pool_settings import PoolKey, PoolSettings
from lochan.ingest.lines import texts_of
from lochan.jobs.messages import TaskFailed, TaskMessage, error_of, pool_target, together
from lochan.jobs.pool_writer import join_batches, write_lines, write_rows
from lochan.pools.facts import from_metadata
from lochan.store.open import StoreLocation
from lochan.versioning.state.collection import mint_of
from tests.run import run
from tests.unit.engines.lake import ANN, query_lake
from tests.unit.jobs.place import job_pool, task

ROWS = pa.table(
    {
        "k": pa.array([5, 1, 3, 2, None, 4], pa.int32()),
        "t": pa.array([datetime(2026, 11, day, tzinfo=UTC) for day in range(1, 7)], pa.timestamp("us", "UTC")),
        "d": pa.array([date(2026, 11, day) for day in range(1, 7)]),
        "n": pa.array([Decimal("1.25"), None, Decimal("12345678901234567890.123"), *[Decimal("2")] * 3]),
        "b": pa.array([b"\x00\xff", b"", None, b"a", b"b", b"c"]),
        "o": pa.array([{"x": 1, "y": None}, None, {"x": None, "y": "s"}, *[{"x": 2, "y": "z"}] * 3]),
        "m": pa.array([[("p", 1)], [], None, *[[("q", 2), ("r", 3)]] * 3], pa.map_(pa.string(), pa.int64())),
        "l": pa.array([[1, 2], [], None, *[[3, None]] * 3], pa.list_(pa.int16())),
    }
)


@pytest.mark.thorough
def test_the_rows_are_those_of_an_embedded_load(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()
            messages = [*await task(target, [ROWS.slice(0, 3)]), *await task(target, [ROWS.slice(3)])]
            landed = await pool.land(messages)
            assert (landed.rows, landed.objects, landed.again) == (6, 2, False)
            assert landed.commit == await pool.head()
            await pool.lake.pool("same")
            await load_rows(pool.lake.lake, "same", ROWS, actor=ANN)
            assert await pool.lake.rows("from logs") == await pool.lake.rows("from same")

    run(play())


@pytest.mark.parametrize("inline_bytes, spilled", [(1 << 20, 0), (0, 2)])
def test_what_tasks_put_is_counted_to_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inline_bytes: int, spilled: int
) -> None:
    monkeypatch.setattr("lochan.jobs.entry_runs.INLINE_BYTES", inline_bytes)

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            rows = pa.table(
                {"k": range(5_000), "s": [f"{number * 2654435761 % (1 << 32):x}" for number in range(5_000)]}
            )
            settings = PoolSettings((PoolKey(("k",)),), size_bytes=8 << 10)
            target = replace(await pool.target(), settings=settings)
            messages = [*await task(target, [rows]), *await task(target, [rows.slice(0, 3)])]
            files = sorted(each.stat().st_size for each in (tmp_path / "lake").glob("*/data/*/*"))
            assert len(files) > 3
            runs = [each.stat().st_size for each in (tmp_path / "lake").glob("*/runs/*")]
            assert len(runs) == sum(len(message.runs) for message in messages) == spilled
            assert sum(message.put_bytes for message in messages) == sum(files) + sum(runs)
            landed = await pool.land(messages)
            assert landed.size_bytes == sum(files)
            assert landed.put_bytes == sum(files) + sum(runs)

    run(play())


def test_one_task_makes_what_one_load_makes(tmp_path: Path) -> None:
    """Down to the facts, which plans are made of."""

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            messages = await task(await pool.target(), [ROWS])
            await pool.lake.pool("same")
            await load_rows(pool.lake.lake, "same", ROWS, actor=ANN)
            (ours,), (theirs,) = messages[0].entries, await pool.entries("same")
            assert from_metadata(ours.metadata) == from_metadata(theirs.metadata)
            assert ours.checksum == theirs.checksum
            assert messages[0].size_bytes == ours.size > 0

    run(play())


def test_lines_with_their_places(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()
            data = b'{"k":2}\n{"k":\n{"k":1,"x":"y"}\n'
            chunk = texts_of("a.ndjson", data, ends_of(data), 7)
            skipped = await asyncio.to_thread(lambda: list(write_lines(target, [chunk], on_error="skip")))
            done = together(skipped)
            assert (done.rows, done.faults) == (2, 1)
            assert str(done.first_faults[0]).startswith("a.ndjson:8:")
            await pool.land(skipped)
            assert await pool.lake.rows("from logs") == [{"k": 1, "x": "y"}, {"k": 2}]
            with pytest.raises(TaskFailed) as failed:
                await asyncio.to_thread(lambda: list(write_lines(target, [chunk])))
            error = error_of(RuntimeError(f"Job aborted\n  at org.apache\n{failed.value}\n  ... 20 more"))
            assert isinstance(error, Invalid)
            assert "a.ndjson:8:" in error.message
            assert "nothing was loaded" in error.hint

    run(play())


def ends_of(data: bytes) -> Any:
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10) + 1


def test_objects_are_cut_by_the_size_of_the_pool_and_do_not_overlap(tmp_path: Path) -> None:
    async def play() -> None:
        settings = PoolSettings((PoolKey(("k",)),), size_bytes=15_000)
        async with job_pool(tmp_path, settings) as pool:
            ids = pa.array([(number * 7919) % 20_000 for number in range(20_000)])
            table = pa.table({"k": ids, "x": pa.array([f"{number * 104729 % 999983}" for number in range(20_000)])})
            [message] = await task(await pool.target(), [table.slice(0, 7), table.slice(7)])
            assert message.objects == len(message.entries) > 2
            facts = sorted((from_metadata(e.metadata) for e in message.entries), key=lambda each: each.key_min)
            assert all(low.key_max < high.key_min for low, high in pairwise(facts))
            assert sum(each.rows for each in facts) == 20_000

    run(play())


def test_files_carry_the_number_that_was_folded_before(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()
            (message,) = await task(target, [ROWS])
            assert mint_of(message.entries[0].blocks[0].address) == target.mint > 0

    run(play())


def test_impossible_work_is_refused_before_the_tasks(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            with pytest.raises(NotFound, match="nowhere"):
                await pool.target("nowhere")
        async with query_lake(tmp_path / "b") as lake:
            await lake.lake.create_repository("files", actor=ANN)
            files = await lake.lake.open_repository("files")
            with pytest.raises(Refused, match="holds files"):
                await pool_target(files, lake.lake.place, "main")
            await files.close()

    run(play())
    with pytest.raises(Refused, match="exists only in one process"):
        StoreLocation("memory://").for_others()


def test_an_executor_without_the_folder_says_so(tmp_path: Path) -> None:
    async def play() -> Any:
        async with job_pool(tmp_path) as pool:
            return await pool.target()

    target = run(play())
    shutil.rmtree(tmp_path / "lake")
    with pytest.raises(TaskFailed) as failed:
        list(write_rows(target, ROWS.to_batches()))
    error = error_of(failed.value)
    assert isinstance(error, Refused)
    assert "does not see the lake" in error.message


def test_secrets_are_sent_and_never_shown(tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.write_text("[lab]\naws_access_key_id = ID\naws_secret_access_key = HIDDEN\n")
    place = StoreLocation("s3://bucket/lake", {"profile": "lab", "credentials_file": str(credentials), "region": "eu"})
    sent = pickle.loads(pickle.dumps(place.for_others()))
    assert sent.keys == {"access_key_id": "ID", "secret_access_key": "HIDDEN"}
    assert "HIDDEN" not in repr(sent)
    assert "bucket" in repr(sent)
    assert place.with_keys().options == {"region": "eu", **sent.keys}


def test_an_executor_reads_a_named_credentials_file_again(tmp_path: Path) -> None:
    """Where it is there; else the keys that were sent count."""
    credentials = tmp_path / "credentials"
    credentials.write_text("[lab]\naws_access_key_id = ID\naws_secret_access_key = OLD\n")
    options = {"profile": "lab", "credentials_file": str(credentials)}
    sent = StoreLocation("s3://bucket/lake", options).for_others()
    credentials.write_text("[lab]\naws_access_key_id = ID\naws_secret_access_key = NEW\n")
    assert sent._options_here() == options
    assert sent.at("s3://other")._options_here() == options
    credentials.unlink()
    sent_keys = {"access_key_id": "ID", "secret_access_key": "OLD"}
    assert sent._options_here() == sent_keys
    assert sent.at("s3://other")._options_here() == sent_keys
    assert sent.at("file:///x")._options_here() == {}


def test_an_executor_does_not_take_the_home_of_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile of the same name may be of somebody else there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    credentials = tmp_path / ".aws" / "credentials"
    credentials.write_text("[lab]\naws_access_key_id = ID\naws_secret_access_key = MINE\n")
    sent = StoreLocation("s3://bucket/lake", {"profile": "lab"}).for_others()
    assert sent._options_here() == {"profile": "lab", "credentials_file": str(credentials)}
    elsewhere = replace(sent, host="another")
    assert elsewhere._options_here() == {"access_key_id": "ID", "secret_access_key": "MINE"}


def test_small_batches_are_joined_and_large_ones_are_not() -> None:
    batch = pa.RecordBatch.from_pydict({"a": list(range(10_000))})
    sizes = [each.num_rows for each in join_batches([batch] * 8 + [batch.slice(0, 0)])]
    assert sizes == [60_000, 20_000]
    other = pa.RecordBatch.from_pydict({"b": ["x"]})
    assert [each.num_rows for each in join_batches([batch, other, batch])] == [10_000, 1, 10_000]


def test_messages_of_many_tasks_are_one() -> None:
    assert together([]) == TaskMessage()
    assert together([TaskMessage(rows=2), TaskMessage(rows=3, faults=1)]) == TaskMessage(rows=5, faults=1)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(TaskMessage(rows=2)))[1] == 2
