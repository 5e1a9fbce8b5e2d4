"""A job whose entries go to the store as runs lands as one whose messages hold them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lochan import failpoints
from lochan.errors import Corrupt, Gone, Refused
from lochan.formats.entry import Entry
from lochan.formats.entry_table import as_table, entries_of
from lochan.jobs import entry_runs, entry_spool, job_commit
from lochan.jobs.entry_runs import spill_messages
from lochan.jobs.job_commit import BatchName
from lochan.jobs.job_entries import all_entries, job_entries
from lochan.jobs.messages import PoolTarget, TaskFailed, TaskMessage, encode_message, error_of, together
from lochan.store.counts import CountingStore, RequestCounts
from lochan.versioning.branches import create_branch
from tests.run import run
from tests.unit.engines.lake import ANN
from tests.unit.jobs.place import JobPool, job_pool
from tests.unit.jobs.simulated_entries import messages_of, shared_out

PATHS = [f"{number * 7919 % 10_007:05d}.parquet" for number in range(400)]


async def sent(target: PoolTarget, paths: Sequence[str], tasks: int = 4, **more: int) -> list[TaskMessage]:
    """What so many tasks send of these objects."""

    def work() -> list[TaskMessage]:
        lots = shared_out(paths, tasks)
        return [each for lot in lots for each in spill_messages(target, messages_of(target, lot, **more))]

    return await asyncio.to_thread(work)


def size_of(messages: Sequence[TaskMessage]) -> int:
    return sum(len(encode_message(message)) for message in messages)


names = st.lists(st.text("ab/é\U0001f41f.", min_size=1, max_size=6), unique=True, max_size=40)


@pytest.mark.thorough
@given(before=names, paths=names, tasks=st.integers(1, 5), replaced=st.none() | st.sampled_from(["", "a", "a/b"]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_runs_land_as_messages_do(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], paths: list[str], tasks: int, replaced: str | None
) -> None:
    """Whatever the paths are, and whatever was there."""
    how = {} if replaced is None else {"replace": True, "under": replaced}

    async def play() -> None:
        async with job_pool(tmp_path_factory.mktemp("lake")) as pool:
            target = await pool.target()
            if before:
                await pool.land(together_of(target, before))
            await create_branch(pool.repository, "runs", "main", actor=ANN)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(entry_runs, "INLINE_BYTES", 0)
                patch.setattr(entry_runs, "RUN_BYTES", 2_000)
                patch.setattr(entry_spool, "MEMORY_BYTES", 1_500)
                patch.setattr(entry_spool, "_CHUNK_BYTES", 500)
                patch.setattr(entry_spool, "PIECE_BYTES", 1_000)
                by_runs = await sent(target, paths, tasks)
                assert not any(message.entries for message in by_runs)
                await landed(pool, "runs", by_runs, **how)
            await landed(pool, "main", together_of(target, paths), **how)
            trees = [await pool.repository.tree((await pool.repository.resolve(at)).commit) for at in ("main", "runs")]
            assert trees[0].ref.id == trees[1].ref.id
            assert await pool.entries("logs") == await entries_at(pool, "runs")

    run(play())


def together_of(target: PoolTarget, paths: Sequence[str]) -> list[TaskMessage]:
    return [together(messages_of(target, paths))]


async def landed(pool: JobPool, branch: str, messages: list[TaskMessage], **how: object) -> None:
    """What changes nothing, changes nothing."""
    try:
        await job_commit.land(pool.repository, branch, messages, actor=ANN, **how)  # type: ignore[arg-type]
    except Exception as error:
        assert type(error).__name__ == "NothingToDo", error


async def entries_at(pool: JobPool, branch: str) -> list[Entry]:
    tree = await pool.repository.tree((await pool.repository.resolve(branch)).commit)
    return [entry async for batch in tree.scan() for entry in entries_of(as_table(batch))]


def test_few_entries_stay_in_the_message(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()
            [message] = await sent(target, PATHS[:3], tasks=1, bytes_of_facts=5_000)
            assert (len(message.entries), message.rows, message.runs) == (3, 3, ())
            [spilled_one] = await sent(target, PATHS[:4], tasks=1, bytes_of_facts=5_000)
            assert (spilled_one.entries, spilled_one.rows, spilled_one.objects) == ((), 4, 4)
            [made] = spilled_one.runs
            assert made.run.file.endswith(f"-{target.mint}.parquet")  # G1
            assert (made.run.min_path, made.run.max_path) == (min(PATHS[:4]), max(PATHS[:4]))

    run(play())


def test_what_a_job_sends_does_not_grow_with_its_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor much with its tasks: only the first ones may send entries."""

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()
            few, many = [await sent(target, PATHS[:count], bytes_of_facts=5_000) for count in (40, 400)]
            assert size_of(many) < size_of(few) + 100 < 4_000
            [first] = await sent(target, PATHS[:1], tasks=1)
            monkeypatch.setattr(entry_runs, "partition_of_task", lambda: entry_runs.INLINE_TASKS)
            [late] = await sent(target, PATHS[:1], tasks=1)
            assert (len(first.entries), len(late.entries), late.objects) == (1, 0, 1)

    run(play())


def test_a_run_is_full_at_some_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_runs, "RUN_BYTES", 50_000)

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            messages = await sent(await pool.target(), PATHS, tasks=1, bytes_of_facts=1_000)
            counts = [each.run.count for message in messages for each in message.runs]
            assert (sum(counts), len(counts) > 5, max(counts) < 60) == (400, True, True)
            assert (await pool.land(messages)).objects == 400
            assert [each.path for each in await pool.entries()] == sorted(PATHS)

    run(play())


@pytest.mark.parametrize("damage", ["a flipped bit", "cut off", "another run"])
def test_a_damaged_run_is_refused_by_its_name(tmp_path: Path, damage: str) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            messages = await sent(await pool.target(), PATHS)
            before, files = await pool.head(), sorted((tmp_path / "lake").glob("*/runs/*"))
            assert len(files) == 4
            data = files[1].read_bytes()
            flipped = data[:900] + bytes([data[900] ^ 4]) + data[901:]
            new = {"a flipped bit": flipped, "cut off": data[:-1], "another run": files[2].read_bytes()}[damage]
            files[1].chmod(0o600)
            files[1].write_bytes(new)
            with pytest.raises(Corrupt, match=files[1].name):
                await pool.land(messages)
            assert await pool.head() == before

    run(play())


def test_a_run_that_was_collected(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            messages = await sent(await pool.target(), PATHS)
            before = await pool.head()
            [file, *_] = (tmp_path / "lake").glob("*/runs/*")
            file.unlink()
            with pytest.raises(Gone, match=f"{file.name}.* is gone"):
                await pool.land(messages)
            assert await pool.head() == before

    run(play())


def test_a_job_that_began_before_two_collections_is_refused(tmp_path: Path) -> None:
    """By the lowest mint of what the runs list (G3), as if the entries were in messages."""

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()
            later = replace(target, mint=target.mint + 7)
            messages = [*await sent(later, PATHS[:200]), *await sent(target, PATHS[200:])]
            async with job_entries(pool.repository, messages) as entries:
                new = entries.new()
                assert new is not None
                assert new.mint == target.mint

    run(play())


def test_a_task_that_dies_behind_its_run_runs_again(tmp_path: Path) -> None:
    """What the first attempt wrote is in no message, and so in no commit."""

    def die(name: str) -> None:
        if name == "entry_runs.put":
            raise Refused("killed")

    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()
            failpoints.arm(die)
            try:
                with pytest.raises(TaskFailed) as died:
                    await sent(target, [f"first-{path}" for path in PATHS], tasks=1)
            finally:
                failpoints.arm(None)
            assert error_of(died.value).message == "killed"
            landed = await pool.land(await sent(target, PATHS, tasks=1))
            assert len([*(tmp_path / "lake").glob("*/runs/*")]) == 2
            assert landed.objects == 400
            assert [each.path for each in await pool.entries()] == sorted(PATHS)

    run(play())


def test_a_job_that_lands_twice_reads_no_run_again(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            messages = await sent(await pool.target(), PATHS)
            first = await pool.land(messages, once=BatchName("j"))
            for file in (tmp_path / "lake").glob("*/runs/*"):
                file.unlink()
            again = await pool.land(messages, once=BatchName("j"))
            assert (again.commit, again.again) == (first.commit, True)

    run(play())


def test_a_lost_race_reads_no_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            messages = await sent(await pool.target(), PATHS)
            counts, real, tries = RequestCounts(), job_commit._tree, 0
            monkeypatch.setattr(pool.repository, "store", CountingStore(pool.repository.store, counts))

            async def late(*what: object) -> object:
                nonlocal tries
                tries += 1
                if tries == 1:
                    await pool.lake.load("logs", [{"k": 100}])
                return await real(*what)  # type: ignore[arg-type]

            monkeypatch.setattr(job_commit, "_tree", late)
            landed = await pool.land(messages)
            assert (tries, landed.objects, counts.get.requests) == (2, 400, 4)
            assert len(await pool.entries()) == 401

    run(play())


def test_all_at_once_for_a_compaction(tmp_path: Path) -> None:
    async def play() -> None:
        async with job_pool(tmp_path) as pool:
            target = await pool.target()
            messages = [*await sent(target, PATHS[:350]), *await sent(target, PATHS[350:], tasks=50)]
            assert any(message.entries for message in messages)
            assert any(message.runs for message in messages)
            found = await all_entries(pool.repository, messages)
            assert found == sorted(together(messages_of(target, PATHS)).entries, key=lambda each: each.path)

    run(play())
