"""Clients of a simulated repository. They use the real verbs."""

from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import md5
from typing import Any

import pyarrow as pa

from lochan.errors import Corrupt, DiskFull, Transient, Unknown
from lochan.formats.entry import ENTRY_SCHEMA, Tombstone
from lochan.formats.record import Actor
from lochan.formats.repository_events import RunsStaged
from lochan.formats.run import changes_table
from lochan.staging.compaction import CompactionLimits
from lochan.tree.merge import Strategy
from lochan.versioning import branches, objects, stash, upkeep
from lochan.versioning.heads import commit, rebase, subtree
from lochan.versioning.heads import imports as import_
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.workspaces import commit as workspace_commit
from lochan.versioning.workspaces import write
from lochan.versioning.workspaces import write as registry
from tests.sim.versioning.place import EAGER
from tests.sim.versioning.reader import Reader, absent
from tests.sim.versioning.request import FILE, ClientRequest

Ask = Callable[[Actor], Awaitable[Any]]
ASK = "default"


class Client(Reader):
    # --- writing -----------------------------------------------------------------------------------------------------
    async def put(self, branch: str, *paths: str) -> bool | None:
        entries = [self.entry(path) for path in paths]
        return await self.ask(
            ClientRequest("put", branch), lambda actor: objects.put_many(self.repository, branch, entries, actor=actor)
        )

    async def put_run(self, branch: str, puts: tuple[str, ...], deletes: tuple[str, ...] = ()) -> bool | None:
        """Like a smart client: first the file, then one event that names it."""

        async def stage(actor: Actor) -> None:
            table = changes_table([*map(self.entry, puts), *map(Tombstone, deletes)])
            _, mint = await self.repository.refs()
            runs = await self.repository.runs.adopt(table, mint)
            await self.repository.submit(actor, RunsStaged(branch, runs))

        return await self.ask(ClientRequest("put run", branch), stage)

    async def delete(self, branch: str, *paths: str) -> bool | None:
        async def remove(actor: Actor) -> int:
            gone = await objects.delete(self.repository, branch, paths, actor=actor)
            missing = [path for path in paths if path not in gone]
            if missing:
                self.oracle.saw(self.name, f"{missing} are not there", since, absent(branch, missing))
            return 1 if gone else 0

        since = self.oracle.floor
        return await self.ask(ClientRequest("delete", branch), remove)

    async def commit(self, branch: str, *paths: str) -> bool | None:
        request = commit.CommitRequest("c", paths=paths)
        return await self.ask(
            ClientRequest("commit", branch, paths=paths),
            lambda actor: commit.commit(self.repository, branch, request, actor=actor),
        )

    # --- moving ------------------------------------------------------------------------------------------------------
    async def merge(self, source: str, branch: str, strategy: str = ASK) -> bool | None:
        return await self.ask(
            ClientRequest("merge", branch, source=source, strategy=strategy),
            lambda actor: head_moves.merge(self.repository, source, branch, actor=actor, strategy=Strategy(strategy)),
        )

    async def revert(self, branch: str, id: str) -> bool | None:
        return await self.ask(
            ClientRequest("revert", branch, commit=id),
            lambda actor: head_moves.revert(self.repository, branch, id, actor=actor),
        )

    async def cherry_pick(self, branch: str, id: str) -> bool | None:
        return await self.ask(
            ClientRequest("cherry-pick", branch, commit=id),
            lambda actor: head_moves.cherry_pick(self.repository, branch, id, actor=actor),
        )

    async def merge_committing(self, source: str, branch: str, strategy: str = ASK) -> bool | None:
        """The branch's staged changes are committed first, in the same event."""
        first = commit.CommitRequest("first")
        return await self.ask(
            ClientRequest("merge", branch, source=source, strategy=strategy, commits_first=True),
            lambda actor: head_moves.merge(
                self.repository,
                source,
                branch,
                actor=actor,
                strategy=Strategy(strategy),
                staged_source=True,
                commit_first=first,
            ),
        )

    async def rebase(self, branch: str, onto: str) -> bool | None:
        return await self.ask(
            ClientRequest("rebase", branch, source=onto),
            lambda actor: rebase.rebase(self.repository, branch, onto, actor=actor),
        )

    async def bring_in(self, branch: str, *paths: str) -> bool | None:
        """An import, with made-up files."""
        entries = [self.entry(path) for path in paths]
        files = MadeUpFiles(changes_table(entries).select(ENTRY_SCHEMA.names))
        gathered = import_.ImportPlan("import", (), files, subtree.SubtreeRequest(""))
        return await self.ask(
            ClientRequest("import", branch, puts={entry.path: entry.checksum for entry in entries}),
            lambda actor: import_.bring_in(
                self.repository, branch, gathered, head_moves.CommitMessage("import"), actor=actor
            ),
        )

    async def reset(self, branch: str) -> bool | None:
        return await self.ask(
            ClientRequest("reset", branch), lambda actor: branches.reset_staged(self.repository, branch, actor=actor)
        )

    async def hard_reset(self, branch: str, target: str) -> bool | None:
        return await self.ask(
            ClientRequest("hard reset", branch),
            lambda actor: branches.hard_reset(self.repository, branch, target, actor=actor),
        )

    # --- stashes -----------------------------------------------------------------------------------------------------
    async def push(self, branch: str) -> bool | None:
        return await self.ask(
            ClientRequest("push", branch), lambda actor: stash.push(self.repository, branch, actor=actor)
        )

    async def pop(self, branch: str) -> bool | None:
        return await self.ask(
            ClientRequest("pop", branch), lambda actor: stash.pop(self.repository, branch, actor=actor)
        )

    async def forget(self, branch: str) -> bool | None:
        return await self.ask(
            ClientRequest("forget", branch), lambda actor: stash.drop(self.repository, branch, actor=actor)
        )

    # --- workspaces --------------------------------------------------------------------------------------------------
    async def open_workspace(self, branch: str) -> bool | None:
        async def open_one(actor: Actor) -> None:
            opened = await registry.open_workspace(self.repository, branch, actor=actor)
            self.place.workspaces.append(opened.id)

        return await self.ask(ClientRequest("open", branch), open_one)

    async def put_in(self, workspace: str, *paths: str) -> bool | None:
        entries = [self.entry(path) for path in paths]
        return await self.ask(
            ClientRequest("put in", workspace=workspace),
            lambda actor: write.stage(self.repository, workspace, entries, actor=actor),
        )

    async def put_file(self, workspace: str) -> bool | None:
        """A plain file at a path of its own."""
        body = self.entry("").checksum.encode()
        path = f"f/{body.decode()}"
        return await self.ask(
            ClientRequest(FILE, workspace=workspace, puts={path: md5(body, usedforsecurity=False).hexdigest()}),
            lambda actor: write.put(self.repository, workspace, path, _once(body), actor=actor),
        )

    async def delete_in(self, workspace: str, *paths: str) -> bool | None:
        async def remove(actor: Actor) -> int:
            gone = await write.delete(self.repository, workspace, paths, actor=actor)
            return 1 if gone else 0

        return await self.ask(ClientRequest("delete in", workspace=workspace), remove)

    async def commit_workspace(self, workspace: str) -> bool | None:
        request = commit.CommitRequest("w")
        return await self.ask(
            ClientRequest("workspace", workspace=workspace),
            lambda actor: workspace_commit.commit(self.repository, workspace, request, actor=actor, everything=True),
        )

    async def drop_workspace(self, workspace: str) -> bool | None:
        return await self.ask(
            ClientRequest("drop workspace", workspace=workspace),
            lambda actor: registry.drop(self.repository, workspace, actor=actor),
        )

    # --- branches ----------------------------------------------------------------------------------------------------
    async def create(self, branch: str, source: str) -> bool | None:
        return await self.ask(
            ClientRequest("create", branch, source=source),
            lambda actor: branches.create_branch(self.repository, branch, source, actor=actor),
        )

    async def drop(self, branch: str) -> bool | None:
        return await self.ask(
            ClientRequest("drop", branch),
            lambda actor: branches.delete_branch(self.repository, branch, "nobody-s", actor=actor),
        )

    async def restore(self, branch: str) -> bool | None:
        return await self.ask(
            ClientRequest("restore", branch),
            lambda actor: branches.restore_branch(self.repository, branch, actor=actor),
        )

    async def rename(self, branch: str, to: str) -> bool | None:
        return await self.ask(
            ClientRequest("rename", branch, to=to),
            lambda actor: branches.rename_branch(self.repository, branch, to, "nobody-s", actor=actor),
        )

    # --- upkeep ------------------------------------------------------------------------------------------------------
    async def compact(self, branch: str, limits: CompactionLimits = EAGER) -> bool:
        """One step; False: nothing was done."""
        try:
            done = await upkeep.compact(self.repository, branch, limits)
            return done or await upkeep.cover(self.repository, branch, limits)
        except (Transient, Unknown, DiskFull):
            return False
        except Corrupt as error:
            self.oracle.world.fail(f"CORRUPT on a sound store: {error}")


class MadeUpFiles:
    """A list of files outside the lake that are nowhere. REQUIRES: sorted by path."""

    def __init__(self, entries: pa.Table) -> None:
        self._entries = entries

    @property
    def count(self) -> int:
        return len(self._entries)

    async def between(self, after: str, upto: str | None) -> AsyncIterator[pa.Table]:
        paths = self._entries["path"].to_pylist()
        rows = [at for at, path in enumerate(paths) if path > after and (upto is None or path <= upto)]
        if rows:
            yield self._entries.take(rows)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body
