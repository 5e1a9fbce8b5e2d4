"""Retention rules over a branch of many entries, against reading the same range files once with pyarrow.

What is measured is `lochan gc rules check`: which entries nobody has written since a moment, and which nobody has read,
by a usage log with as many rows as there are entries, half of which were read.
"""

import asyncio
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.places import ACTOR
from bench.sizes import sizes
from bench.table import show
from bench.tree import entries
from lochan.formats import usage
from lochan.formats.collection_events import DropRule, RetentionSet
from lochan.formats.repository_events import Moved
from lochan.lake import Lake
from lochan.store.local import LocalStore
from lochan.usage.last_read import ReadPaths, UnknownReads, read_since
from lochan.usage.read import read_usage
from lochan.versioning import bulk
from lochan.versioning.collection.drops import DropRequest, find_drops
from lochan.versioning.collection.store_clock import store_time
from lochan.versioning.heads.commit import commit_record
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.open_repository import OpenRepository

_DAYS = 1e-9  # what is there before the clock is read is old
_FILE_ROWS = 20_000


def main() -> None:
    for size in sizes((100_000, 1_000_000)):
        with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
            asyncio.run(_measure(Path(folder), size))


async def _measure(folder: Path, size: int) -> None:
    store = LocalStore(str(folder / "lake"), create=True)
    lake = await Lake.create(store)
    await lake.create_repository("demo", actor=ACTOR)
    repository = await lake.open_repository("demo")
    table = entries(size)
    await _commit(repository, table)
    await _log(store, table["path"].combine_chunks()[: size // 2])
    await repository.close()
    repository = await lake.open_repository("demo")  # with nothing in memory
    begun, spent = perf_counter(), process_time()
    for file in sorted((folder / "lake" / repository.repository.id / "ranges").glob("*.parquet")):
        pq.read_table(file)
    bare, bare_spent = perf_counter() - begun, process_time() - spent
    rows = []
    for name, rule in (
        ("unwritten", DropRule("old", "main", unwritten_days=_DAYS)),
        ("unread", DropRule("idle", "main", unread_days=_DAYS)),
    ):
        now = round(await store_time(store, repository.repository.id) * 1e6)
        request = DropRequest(now, _Reads(store, now).since, lambda rule, batch: np.ones(len(batch), np.bool_))
        begun, spent = perf_counter(), process_time()
        found = await find_drops(repository, "main", RetentionSet(drops=(rule,)), request)
        took, spent = perf_counter() - begun, process_time() - spent
        rows.append([name, len(found.paths), took, bare, took / bare, spent / bare_spent, size / took])
    show(
        f"retention rules, {size:,} entries",
        ["", "found", "s", "bare s", "ratio", "of processor time", "entries/s"],
        rows,
    )
    await repository.close()
    await lake.close()


class _Reads:
    def __init__(self, store: LocalStore, now: int) -> None:
        self._store = store
        self._now = now

    async def since(self, since: int) -> ReadPaths | UnknownReads:
        """The whole log counts here, however short the rule's time is."""
        found = await read_usage(self._store, 0, self._now)
        return read_since(found.rows, ["demo"], 0)


async def _commit(repository: OpenRepository, table: pa.Table) -> None:
    refs, mint = await repository.refs()
    branch = refs.branch("main")
    head = refs.commit(branch.head)
    old = table.set_column(table.schema.get_field_index("mtime"), "mtime", pa.array(np.zeros(len(table), np.int64)))
    puts = bulk.puts(old.cast(table.schema))
    tree = await repository.trees.apply(await repository.tree(head), puts, mint)
    made = commit_record(tree, {branch.head: head}, CommitMessage("all"), ACTOR, repository.clock.wall())
    await repository.submit(
        ACTOR, Moved("main", branch.incarnation, branch.head, made.id, "import", (made,), read_at=mint)
    )


async def _log(store: LocalStore, paths: pa.Array) -> None:
    for start in range(0, len(paths), _FILE_ROWS):
        part = paths[start : start + _FILE_ROWS]
        count = len(part)
        texts = {name: pa.array([value]).take(pa.array(np.zeros(count, np.int64))) for name, value in _ROW.items()}
        table = pa.table(
            {
                "time": pa.array(np.full(count, 1_700_000_000_000_000 + start), pa.timestamp("us", "UTC")),
                **texts,
                "path": part,
                "bytes": pa.array(np.zeros(count, np.int64)),
                "status": pa.array(np.full(count, 200, np.int16)),
            }
        ).cast(usage.schema())
        await store.put(
            usage.file_name(1_700_000_000_000_000 + start, "bench", usage.ROWS),
            usage.encode_table(table, usage.UsageHead()),
        )


_ROW = {"user": "ann", "operation": "GetObject", "repository": "demo", "ref": "main"}
