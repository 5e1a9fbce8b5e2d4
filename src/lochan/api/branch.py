"""A branch: objects that are put on it are staged until `commit`, which moves its head."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from lochan.api import imports
from lochan.api.bodies import Body, chunks_of
from lochan.api.conditions import NO_CONDITIONS, Conditions
from lochan.api.imports import ImportChange, ImportRequest, ImportResult, ImportSource
from lochan.api.object_results import Address, ChangeCount, ObjectInfo
from lochan.api.options import DEFAULT_COMMIT, DEFAULT_ENGINE, CommitOptions, EngineOptions
from lochan.api.ref import NamedRef, full_name, name_of
from lochan.api.results import BranchInfo, Commit, RebaseResult, StashInfo, moment
from lochan.api.workspace import Workspace, info_of
from lochan.api.writable import WritableRef
from lochan.errors import Invalid, LochanError

if TYPE_CHECKING:
    import threading

    from lochan.api.watch import Listener as WatchListener
    from lochan.api.watch import WatchOptions
    from lochan.versioning.heads.commit import CommitRequest
    from lochan.versioning.heads.moves import CommitMessage
    from lochan.versioning.open_repository import OpenRepository


class Branch(WritableRef):
    async def show(self) -> BranchInfo:
        """Returns its head, and whether something is staged. Raises NotFound."""
        async with self._opened() as (repository, name):
            refs, _ = await repository.refs()
            found = refs.branch(name)
            return BranchInfo.of(found, refs.commit(found.head), repository.repository.default_branch)

    async def commit(
        self,
        message: str = "",
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        paths: Sequence[str] = (),
        allow_empty: bool = False,
    ) -> Commit:
        """Commits all that is staged, or what these paths and globs name. Raises NothingToDo, Protected, and Invalid
        without a message."""
        from lochan.versioning.heads.commit import CommitRequest, commit

        options = _with_message(options, message)
        request = CommitRequest(
            options.message, options.metadata, options.author, options.date_us, allow_empty=allow_empty, paths=paths
        )
        actor = self._session.acting(options.key, "commit", self.repository_name, self.name, request)
        async with self._staging() as (repository, at):
            return Commit.of(*await commit(repository, at, request, actor=actor))

    async def reset(
        self,
        to: NamedRef | str | None = None,
        *,
        paths: Sequence[str] = (),
        prefix: str | None = None,
        key: str = "",
    ) -> Commit:
        """Drops all that is staged, or only what is staged at these paths and below this prefix. With `to`, the branch
        also stands at that ref afterwards. Raises NotFound, Protected, Invalid, NothingToDo."""
        from lochan.versioning.branches import hard_reset, reset_staged

        target, some = None if to is None else name_of(to), bool(paths) or prefix is not None
        if some and to is not None:
            raise Invalid("a reset to another commit drops all that is staged", hint="leave out the paths")
        actor = self._session.acting(key, "reset", self.repository_name, self.name, target, *([paths, prefix] * some))
        async with self._opened() as (repository, at):
            if some:
                from lochan.versioning.unstage import unstage

                await unstage(repository, at, tuple(paths), prefix, actor=actor)
                return await _commit(repository, (await repository.resolve(at)).commit_id)
            if target is not None:
                return await _commit(repository, await hard_reset(repository, at, target, actor=actor))
            await reset_staged(repository, at, actor=actor)
            return await _commit(repository, (await repository.resolve(at)).commit_id)

    async def merge(
        self,
        source: NamedRef | str,
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        strategy: str = "default",
        prefixes: Mapping[str, str] | None = None,
        squash: bool = False,
        leave_staged: bool = False,
        commit_staged: str | None = None,
    ) -> Commit:
        """Brings in what `source` has changed. `strategy` decides conflicts (source-wins, dest-wins), and `prefixes`
        decide those of paths that begin with them. With `leave_staged`, only what is committed on the source counts,
        whatever is staged there. With `commit_staged`, what is staged here is committed first, with this message.
        Raises PathsInTheWay with the conflicts, Dirty, NothingToDo, SameRef."""
        from lochan.tree.merge import Strategy
        from lochan.versioning.heads.moves import merge

        async with self._opened() as (repository, at):
            name = full_name(source, repository)
            message, chosen = message_of(options), Strategy(strategy, prefixes or {})
            request = name, message, strategy, dict(prefixes or {}), squash, leave_staged, commit_staged
            actor = self._session.acting(options.key, "merge", self.repository_name, at, *request)
            id = await merge(
                repository,
                name,
                at,
                message,
                actor=actor,
                strategy=chosen,
                squash=squash,
                staged_source=leave_staged,
                commit_first=_commit_first(commit_staged),
            )
            return await _commit(repository, id)

    async def try_merge(
        self,
        source: NamedRef | str,
        *,
        strategy: str = "default",
        prefixes: Mapping[str, str] | None = None,
        leave_staged: bool = False,
    ) -> ChangeCount:
        """Counts what `merge` would change, and changes nothing. Raises as `merge` does."""
        from lochan.tree.diff import count
        from lochan.tree.merge import Strategy
        from lochan.versioning.heads.moves import rehearse_merge

        async with self._opened() as (repository, at):
            trees = await rehearse_merge(
                repository,
                full_name(source, repository),
                at,
                strategy=Strategy(strategy, prefixes or {}),
                staged_source=leave_staged,
            )
            return ChangeCount.of(await count(repository.trees, *trees))

    async def revert(
        self,
        ref: NamedRef | str,
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        parent: int = 1,
        commit_staged: str | None = None,
    ) -> Commit:
        """Commits the reverse of what that commit changed; for a merge, `parent` is the parent that it is compared
        with. `commit_staged` means the same as for `merge`. Raises PathsInTheWay, Dirty, NothingToDo."""
        from lochan.versioning.heads.moves import revert

        async with self._opened() as (repository, at):
            name, message, first = full_name(ref, repository), message_of(options), _commit_first(commit_staged)
            request = name, message, parent, commit_staged
            actor = self._session.acting(options.key, "revert", self.repository_name, at, *request)
            id = await revert(repository, at, name, message, actor=actor, parent=parent, commit_first=first)
            return await _commit(repository, id)

    async def cherry_pick(
        self,
        ref: NamedRef | str,
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        parent: int = 1,
        commit_staged: str | None = None,
    ) -> Commit:
        """Applies what that commit changed once more here. Raises as `revert` does."""
        from lochan.versioning.heads.moves import cherry_pick

        async with self._opened() as (repository, at):
            name, message, first = full_name(ref, repository), message_of(options), _commit_first(commit_staged)
            request = name, message, parent, commit_staged
            actor = self._session.acting(options.key, "cherry-pick", self.repository_name, at, *request)
            id = await cherry_pick(repository, at, name, message, actor=actor, parent=parent, commit_first=first)
            return await _commit(repository, id)

    async def rebase(self, onto: NamedRef | str, *, key: str = "") -> RebaseResult:
        """Replays the branch's own commits on top of `onto`. Raises PathsInTheWay, Dirty, NothingToDo."""
        from lochan.versioning.heads.rebase import rebase

        async with self._opened() as (repository, at):
            name = full_name(onto, repository)
            actor = self._session.acting(key, "rebase", self.repository_name, at, name)
            done = await rebase(repository, at, name, actor=actor)
            return RebaseResult(head=done.head, replayed=done.replayed, dropped=done.dropped)

    async def address(self, path: str, *, expires_s: float = 86_400, presigned_s: float = 0, key: str = "") -> Address:
        """Reserves a place in the lake where a client puts the bytes of an object itself; `link_address` then makes
        them the object, once. With `presigned_s`, it also returns a URL that takes the bytes for so many seconds
        without keys of the store, if the store can sign. Raises Invalid, NotFound."""
        from lochan.versioning.links import physical_address
        from lochan.versioning.presigned import url_to_write

        actor = self._session.acting(key, "address", self.repository_name, self.name, path, expires_s)
        async with self._staging() as (repository, at):
            given = await physical_address(
                repository, at, path, actor=actor, expires_s=expires_s, presigned=bool(presigned_s)
            )
            signed = await url_to_write(repository, given.address, presigned_s) if presigned_s else ""
            return Address(
                token=given.token,
                address=given.address,
                url=given.url,
                expires=moment(given.expires),
                presigned=signed,
            )

    async def put_address(self, path: str, token: str, body: Body) -> str:
        """Puts the bytes at the address of that token, for a client that cannot reach the store; `link_address` then
        makes them the object. Returns their MD5. Raises AlreadyExists, Refused for a token that was used or has
        expired."""
        from hashlib import md5

        from lochan.versioning.presigned import put_at

        digest = md5(usedforsecurity=False)

        async def hashed() -> AsyncIterator[bytes]:
            async for piece in chunks_of(body):
                digest.update(piece)
                yield piece

        async with self._staging() as (repository, at):
            await put_at(repository, at, path, token, hashed())
        return digest.hexdigest()

    async def link_address(
        self,
        path: str,
        token: str,
        *,
        size: int | None = None,
        checksum: str | None = None,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        conditions: Conditions = NO_CONDITIONS,
        key: str = "",
    ) -> ObjectInfo:
        """Makes what was put at the address of that token the object. Its size and MD5 must match those that are given,
        and the present object must meet the conditions. Raises NotFound, PreconditionFailed, Refused for a token that
        was used or has expired, Invalid."""
        from lochan.versioning.copy import CopyChanges
        from lochan.versioning.links import LinkOptions, link

        options, declared = CopyChanges(content_type, None, metadata or None), LinkOptions(size, checksum)
        actor = self._session.acting(key, "link address", self.repository_name, self.name, path, token, declared)
        async with self._staging() as (repository, at):
            check = conditions.checking(path)
            return ObjectInfo.of(
                await link(repository, at, path, token, actor=actor, declared=declared, options=options, check=check)
            )

    async def link(
        self,
        path: str,
        url: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        key: str = "",
    ) -> ObjectInfo:
        """Makes a file outside the lake the object, without a copy. The file must stay as it is: if it changes or goes,
        the object cannot be read. Raises NotFound, Refused for a file that may not be named."""
        from lochan.versioning.copy import CopyChanges
        from lochan.versioning.links import stage

        options = CopyChanges(content_type, None, metadata or None)
        actor = self._session.acting(key, "link", self.repository_name, self.name, path, url)
        async with self._staging() as (repository, at):
            return ObjectInfo.of(await stage(repository, at, path, url, actor=actor, options=options))

    async def import_files(
        self,
        sources: Sequence[ImportSource],
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        engine: EngineOptions = DEFAULT_ENGINE,
        progress: imports.Progress | None = None,
    ) -> ImportResult:
        """Makes all files under these URLs objects, without a copy, as one commit; they must stay where they are.
        Objects at the same paths are replaced, others stay. `progress` is called with the files as they are listed.
        Raises NotFound, PathsInTheWay for paths with uncommitted changes, NothingToDo."""
        message = message_of(options)
        actor = self._session.acting(options.key, "import", self.repository_name, self.name, sources, message)
        request = ImportRequest(self._session, engine, progress)
        async with self._staging() as (repository, at), request.imported(repository, at, sources) as found:
            return await imports.land(repository, at, found, message, actor)

    async def try_import(
        self,
        sources: Sequence[ImportSource],
        *,
        engine: EngineOptions = DEFAULT_ENGINE,
        progress: imports.Progress | None = None,
    ) -> ImportResult:
        """Returns what `import_files` would change, and changes nothing."""
        request = ImportRequest(self._session, engine, progress)
        async with self._staging() as (repository, at), request.imported(repository, at, sources) as found:
            return await imports.rehearse(repository, at, found)

    async def ingest(
        self,
        source: ImportSource,
        options: CommitOptions = DEFAULT_COMMIT,
        *,
        keep_removed: bool = False,
        engine: EngineOptions = DEFAULT_ENGINE,
        progress: imports.Progress | None = None,
    ) -> ImportResult:
        """Makes the prefix the same as the source: files that were added there, changed (by size and ETag) or removed
        are added, changed and removed here, as one commit, without a copy. Raises as `import_files` does."""
        message = message_of(options)
        request_parts = source, keep_removed, message
        actor = self._session.acting(options.key, "ingest", self.repository_name, self.name, *request_parts)
        async with self._staging() as (repository, at):
            request = ImportRequest(self._session, engine, progress)
            async with request.followed(repository, at, source, keep_removed) as found:
                return await imports.land(repository, at, found, message, actor)

    async def ingest_diff(
        self,
        source: ImportSource,
        *,
        keep_removed: bool = False,
        engine: EngineOptions = DEFAULT_ENGINE,
        progress: imports.Progress | None = None,
    ) -> AsyncIterator[ImportChange]:
        """Yields what `ingest` would add, change and remove now, in path order."""
        async with self._opened() as (repository, at):
            request = ImportRequest(self._session, engine, progress)
            async with request.followed(repository, at, source, keep_removed) as found:
                async for change in imports.changes(repository, at, found):
                    yield change

    async def ingest_watch(
        self,
        source: ImportSource,
        options: WatchOptions | None = None,
        *,
        events: str = "",
        stop: threading.Event | None = None,
        progress: WatchListener | None = None,
    ) -> None:
        """Follows a source until `stop` is set. The whole of it is compared now and then; with `events` (a file of a
        bucket's events, `-`, or `listen`), the files that these name are compared in between. Each batch is one commit,
        and lands once, even if the process was killed and started again. Raises what keeps it from going on; what
        landed stays."""
        import threading

        from lochan.api.watch import WatchOptions, events_of, watch

        chosen, ending = options or WatchOptions(), stop or threading.Event()
        async with self._staging() as (repository, at):
            lines = events_of(self._session, source, events, once=chosen.once, stop=ending) if events else None
            listener = progress or (lambda _: None)
            await watch(self._session, repository, at, source, chosen, events=lines, stop=ending, progress=listener)

    async def stash(self, message: str = "", *, key: str = "") -> str:
        """Puts aside all that is staged, and returns the stash's id. Raises NothingToDo."""
        from lochan.versioning.stash import push

        actor = self._session.acting(key, "stash", self.repository_name, self.name, message)
        async with self._staging() as (repository, at):
            return await push(repository, at, message, actor=actor)

    async def pop_stash(self, id: str = "", *, key: str = "") -> StashInfo:
        """Stages again what that stash holds, or the branch's newest. Raises NotFound, Dirty where something is staged,
        PathsInTheWay where the branch has changed a stashed path since."""
        from lochan.versioning.stash import pop

        actor = self._session.acting(key, "pop stash", self.repository_name, self.name, id)
        async with self._staging() as (repository, at):
            return StashInfo.of(await pop(repository, at, id, actor=actor))

    async def drop_stash(self, id: str = "", *, key: str = "") -> str:
        """Deletes a stash for good: the one named, or the branch's newest. Returns its id. Raises NotFound."""
        from lochan.versioning.stash import drop

        actor = self._session.acting(key, "drop stash", self.repository_name, self.name, id)
        async with self._opened() as (repository, at):
            return await drop(repository, at, id, actor=actor)

    async def rename(self, to: str, *, key: str = "") -> Branch:
        """Renames the branch. Raises AlreadyExists, Refused for the default branch."""
        from lochan.versioning.branches import rename_branch

        actor = self._session.acting(key, "rename branch", self.repository_name, self.name, to)
        async with self._opened() as (repository, at):
            default = repository.repository.default_branch
            head = await rename_branch(repository, at, to, default, actor=actor)
        return Branch(self._session, self.repository_name, to, head)

    @asynccontextmanager
    async def transaction(self, message: str, options: CommitOptions = DEFAULT_COMMIT) -> AsyncIterator[Workspace]:
        """Opens a workspace that is committed when the block ends, and dropped when it raises: one commit, or nothing.

            async with branch.transaction("first data") as tx:
                await tx.put("README.md", "# Shop")

        Raises ConcurrentCommit if the branch has changed the same paths meanwhile; what was put is dropped then."""
        workspace = await self.workspace(message)
        try:
            yield workspace
            await workspace.commit(message, options)
        except BaseException:
            with suppress(LochanError):  # the first error is the one that counts
                await workspace.drop()
            raise

    async def workspace(self, note: str = "", *, key: str = "") -> Workspace:
        """Opens a new workspace over the branch as it is now."""
        from lochan.versioning.workspaces.write import open_workspace

        actor = self._session.acting(key, "open workspace", self.repository_name, self.name, note)
        async with self._staging() as (repository, at):
            found = await open_workspace(repository, at, note, actor=actor)
            return Workspace(self._session, self.repository_name, found.ref, opened=info_of(repository, found))


def _with_message(options: CommitOptions, message: str) -> CommitOptions:
    return msgspec.structs.replace(options, message=message) if message else options


def message_of(options: CommitOptions) -> CommitMessage:
    from lochan.versioning.heads.moves import CommitMessage

    return CommitMessage(options.message, options.metadata, options.author, options.date_us)


def _commit_first(message: str | None) -> CommitRequest | None:
    from lochan.versioning.heads.commit import CommitRequest

    return None if message is None else CommitRequest(message)


async def _commit(repository: OpenRepository, id: str) -> Commit:
    refs, _ = await repository.refs()
    return Commit.of(id, refs.commit(id))
