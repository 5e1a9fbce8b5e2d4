"""Why a file is dead: a plan tells what the journal, the aliases and the trees of expired commits know, and no more."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from lochan.errors import Corrupt
from lochan.formats.collection_events import Expired
from lochan.formats.entry import Entry
from lochan.formats.entry_table import table_of
from lochan.formats.pool_settings import PoolSettings
from lochan.formats.repository_events import RunsStaged
from lochan.pools.commit_objects import ObjectWriter
from lochan.pools.facts import Facts
from lochan.versioning import bulk, objects, uploads
from lochan.versioning.collection import journal_names
from lochan.versioning.collection.dedupe import dedupe
from lochan.versioning.collection.plan import CollectionLimits, preview
from lochan.versioning.heads.commit import CommitRequest, commit
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import ANN, Lakeside, lakeside

OLD = CollectionLimits(grace_s=-1e9)


async def body(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def put(at: Lakeside, path: str, data: bytes, branch: str = "main") -> Entry:
    return await objects.put(at.repository, branch, path, body(data), actor=ANN)


async def reasons(at: Lakeside, limits: CollectionLimits = OLD) -> dict[str, int]:
    made = await preview(at.repository, at.lake.id, limits)
    found: Counter[str] = Counter()
    for each in made.head.totals:
        if each.kind == "data":
            found[each.why] += each.files
    return found


async def write_unnamed(at: Lakeside) -> None:
    """As if the writer had died before it said anything."""
    _, mint = await at.repository.refs()
    await at.repository.bodies.write("lost", body(b"lost" * 100), mint=mint)


def test_what_was_staged_is_told_from_what_was_never_named() -> None:
    async def play() -> None:
        at = await lakeside()
        await put(at, "a", b"one")
        await put(at, "a", b"two")
        await put(at, "b", b"three")
        await objects.delete(at.repository, "main", ["b"], actor=ANN)
        await write_unnamed(at)
        upload = await uploads.open_upload(at.repository, "main", "big", actor=ANN)
        await uploads.put_part(at.repository, upload, 1, body(b"part"), actor=ANN)
        await uploads.abort(at.repository, upload, actor=ANN)
        assert await reasons(at) == {"staged": 3, "unnamed": 1}
        assert await reasons(at, OLD._replace(records=0)) == {"uncommitted": 4}
        assert await reasons(at, OLD._replace(records=1)) == {"uncommitted": 4}, "what was not read is not claimed"

    run(play())


def test_expired_commits_and_moved_bytes() -> None:
    async def play() -> None:
        at = await lakeside()
        await put(at, "a", b"one" * 100)
        await put(at, "same", b"two" * 100)  # an expired commit names it too, whichever is kept
        await commit(at.repository, "main", CommitRequest("first"), actor=ANN)
        await put(at, "a", b"two" * 100)
        await commit(at.repository, "main", CommitRequest("second"), actor=ANN)
        refs, _ = await at.repository.refs()
        head = refs.branch("main").head
        await at.repository.submit(ANN, Expired(tuple(id for id in refs.commit_table if id != head)))
        await dedupe(at.repository, actor=ANN)
        assert await reasons(at) == {"expired": 1, "moved": 1}

    run(play())


def test_the_tree_of_an_expired_commit_that_is_gone_may_have_named_it() -> None:
    async def play() -> None:
        at = await lakeside()
        await write_unnamed(at)
        await put(at, "a", b"one")
        await commit(at.repository, "main", CommitRequest("first"), actor=ANN)
        first = at.repository.folded().branch("main").head
        await put(at, "a", b"two")
        await commit(at.repository, "main", CommitRequest("second"), actor=ANN)
        assert await reasons(at) == {"unnamed": 1}
        await at.repository.submit(ANN, Expired((first,)))
        assert await reasons(at) == {"unnamed": 1, "expired": 1}
        gone = at.repository.folded().recorded(first).tree_file
        await at.repository.store.delete(f"{at.repository.repository.id}/{gone}")
        fresh = at._replace(history=type(at.history)(await at.lake.open_repository("demo-repo")))
        assert await reasons(fresh) == {"uncommitted": 1, "staged": 1}

    run(play())


def test_what_a_run_named_is_in_no_record() -> None:
    async def play() -> None:
        at = await lakeside()
        _, mint = await at.repository.refs()
        entry = await at.repository.bodies.write("bulk", body(b"bulk"), mint=mint)
        await write_unnamed(at)
        runs = await at.repository.runs.adopt(bulk.puts(table_of([entry])), mint)
        await at.repository.submit(ANN, RunsStaged("main", runs, mint))
        assert await reasons(at) == {"uncommitted": 1}
        # Another writer: the first one goes on with the number that it had.
        later = at._replace(history=type(at.history)(await at.lake.open_repository("demo-repo")))
        await write_unnamed(later)
        assert await reasons(later) == {"uncommitted": 1, "unnamed": 1}

    run(play())


def test_objects_of_a_pool_that_no_commit_has() -> None:
    async def play() -> None:
        at = await lakeside()
        await at.lake.create_pool("rows", PoolSettings(), actor=ANN)
        rows = at._replace(history=type(at.history)(await at.lake.open_repository("rows")))
        _, mint = await rows.repository.refs()
        await ObjectWriter.of(rows.repository, mint).write(body(b"rows"), Facts(1, 0, b"a", b"z", ()))
        assert await reasons(rows) == {"unnamed": 1}

    run(play())


def test_addresses_that_hold_paths_and_a_journal_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        at = await lakeside()
        at.repository.bodies._addresses.style = "path"
        await put(at, "logs/2026/a 1", b"one")
        await put(at, "logs/2026/a 1", b"two")
        await write_unnamed(at)
        assert await reasons(at) == {"staged": 1, "unnamed": 1}
        monkeypatch.setattr(journal_names, "_BYTES_MAX", 1)
        assert await reasons(at) == {"uncommitted": 2}

    run(play())


def test_a_damaged_record_is_refused_by_its_name() -> None:
    async def play() -> None:
        at = await lakeside()
        await put(at, "a", b"one")
        await put(at, "a", b"two")
        path = f"{at.repository.repository.id}/journal/{2:020d}"
        data = bytearray(await at.repository.store.get(path))
        data[len(data) // 2] ^= 1
        await at.repository.store.put(path, bytes(data))
        with pytest.raises(Corrupt, match="record 2"):
            await preview(at.repository, at.lake.id, OLD)

    run(play())
