"""A lake with a history of every kind of commit, written by the verbs that users call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from lochan.access.users import ensure_admin
from lochan.formats import job
from lochan.formats.entry_table import table_of
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.staging.compaction import CompactionLimits
from lochan.store.memory import MemoryStore
from lochan.versioning.bodies.write import Batch
from lochan.versioning.branches import create_branch, delete_branch
from lochan.versioning.bulk import puts, stage
from lochan.versioning.collection.plan import CollectionLimits, plan
from lochan.versioning.collection.sweep import sweep
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.moves import cherry_pick, merge, revert
from lochan.versioning.heads.rebase import rebase
from lochan.versioning.objects import delete, put
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.stash import push
from lochan.versioning.upkeep import compact, cover
from lochan.versioning.workspaces.commit import commit as commit_workspace
from lochan.versioning.workspaces.write import open_workspace

ANN = Actor("ann", "test", "here")
JOB = job.JobRecord(1, "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X", "query", "logs", "ann", "", "", "", 1_000, 2_000, state=job.DONE)
NOW = CollectionLimits(grace_s=0, confirmed=True)


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


@dataclass(frozen=True)
class Place:
    objects: dict[str, bytes]
    repository: str  # its id
    lake: str

    async def store(self, **replaced: bytes | None) -> MemoryStore:
        """A lake of its own. `replaced` files have other bytes, or None: they are gone."""
        store = MemoryStore()
        for path, data in {**self.objects, **replaced}.items():
            if data is not None:
                await store.put(path, data)
        return store

    def paths(self, folder: str) -> list[str]:
        return sorted(path for path in self.objects if path.startswith(f"{self.repository}/{folder}/"))


async def written(repository: OpenRepository, branch: str, path: str, text: str) -> None:
    await put(repository, branch, path, once(text.encode()), actor=ANN)


async def committed(repository: OpenRepository, branch: str, message: str, *paths: str) -> str:
    return (await commit(repository, branch, CommitRequest(message, paths=paths), actor=ANN))[0]


async def staged_in_bulk(repository: OpenRepository, branch: str, folder: str, count: int) -> None:
    _, mint = await repository.refs()
    batch = Batch(repository.bodies, mint)
    for number in range(count):
        await batch.write(f"{folder}/{number:03}", once(b"%d" % number))
    changes = puts(table_of(sorted(await batch.finish(), key=lambda entry: entry.path)))
    await stage(repository, branch, changes, actor=ANN, read_at=mint)


async def make(*, collected: bool = False) -> Place:
    """`collected`: garbage was collected, so that the runs that commits were made from are gone."""
    store = MemoryStore()
    lake = await Lake.create(store)
    await ensure_admin(lake.open_access(), actor=ANN)
    await lake.create_repository("files", actor=ANN)
    files = await lake.open_repository("files")
    await files.token_key.get()
    await play(files)
    if collected:
        await collect(files, lake.id)
    await store.put(job.path_of(JOB.id), job.encode(JOB))
    repository, id = files.repository.id, lake.id
    await files.close()
    await lake.close()
    return Place({stat.path: await store.get(stat.path) async for stat in store.list("")}, repository, id)


async def collect(files: OpenRepository, lake: str) -> None:
    for _ in range(3):
        await plan(files, lake, NOW, actor=ANN)
        await sweep(files, lake, NOW, actor=ANN)


async def play(files: OpenRepository) -> None:
    for number in range(20):
        await written(files, "main", f"a/{number:02}", f"a{number}")
    await committed(files, "main", "one")
    await create_branch(files, "dev", "main", actor=ANN)
    await written(files, "dev", "dev/1", "of dev")
    await written(files, "dev", "a/00", "changed by dev")
    picked = await committed(files, "dev", "dev")
    await written(files, "main", "b/1", "b")
    await written(files, "main", "c/1", "c")
    await committed(files, "main", "only b", "b/*")
    await merge(files, "dev", "main", actor=ANN, commit_first=CommitRequest("c as well"))
    await create_branch(files, "topic", "main~1", actor=ANN)
    await cherry_pick(files, "topic", picked, actor=ANN)
    await written(files, "topic", "t/1", "topic")
    await committed(files, "topic", "topic")
    await rebase(files, "topic", "main", actor=ANN)
    await revert(files, "main", picked, actor=ANN)
    await staged_in_bulk(files, "main", "bulk", 300)
    await committed(files, "main", "bulk")
    await _compacted(files, 0)
    for branch in ("main", "dev"):  # nothing behind the last path changes
        await written(files, branch, f"a/{branch}", "added")
        await written(files, branch, "a/05", "changed by both")
        await delete(files, branch, ["a/06"], actor=ANN)
        await committed(files, branch, "inside")
    await merge(files, "dev", "main", actor=ANN)
    workspace = await open_workspace(files, "topic", actor=ANN)
    await delete(files, workspace.ref, ["t/1"], actor=ANN)
    await commit_workspace(files, workspace.id, CommitRequest("workspace"), actor=ANN, everything=True)
    await create_branch(files, "gone", "main", actor=ANN)
    await written(files, "gone", "g/1", "staged on a deleted branch")
    await delete_branch(files, "gone", "main", actor=ANN)
    await written(files, "dev", "s/1", "stashed")
    await push(files, "dev", actor=ANN)
    await _compacted(files, 3)  # these stay staged
    await files.journal.checkpoint()
    await written(files, "main", "z/1", "staged at last")


async def _compacted(files: OpenRepository, first: int) -> None:
    """Runs from inline changes, a run from runs, and a tree over them."""
    limits = CompactionLimits(inline_count=1, runs=1, tombstones=1)
    for number in range(first, first + 3):
        await written(files, "main", f"d/{number}", "d")
        await delete(files, "main", [f"bulk/{number:03}"], actor=ANN)
        while await compact(files, "main", limits):
            pass
    await cover(files, "main", limits)
