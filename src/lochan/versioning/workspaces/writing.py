"""Writing in a workspace: a body becomes a plain file, as anybody could write it; what a file cannot say is staged.

A file, where there is one, wins over what is staged, and that over the commit that the workspace was opened on.
"""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence

from lochan.errors import Invalid, NotFound, Refused
from lochan.failpoints import fp
from lochan.formats.entry import Block, Entry
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.workspace_events import WorkspaceStaged
from lochan.journal.request_key import without_key
from lochan.versioning.bodies.body import Body
from lochan.versioning.bodies.hashing import Feed, Hashing
from lochan.versioning.bodies.paths import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import Workspace
from lochan.versioning.workspaces.opening import find
from lochan.versioning.workspaces.removing import remove
from lochan.versioning.workspaces.several import several

_NONE: Mapping[str, str] = {}
_STAGED_AT_ONCE = 500  # entries in one event; with paths of 1 KiB still far from the 4 MiB of a journal's entry
_STAGED_MAX = 50_000  # they stay in the journal's state until the workspace is closed
_HEADS_AT_ONCE = 32
_HASHING = Hashing()  # the threads are shared


async def put(
    repository: OpenRepository,
    workspace: str,
    path: str,
    chunks: AsyncIterable[bytes],
    *,
    actor: Actor,
    content_type: str = "",
    headers: Mapping[str, str] = _NONE,
    metadata: Mapping[str, str] = _NONE,
    expected_md5: str | None = None,
) -> Entry:
    """One put to the store, and no event, unless there is a content type, a header or a note to be kept with it.
    Raises Invalid for a path that no file can have, Refused for a closed workspace."""
    refs, _ = await repository.refs()
    refs.guard.check_writable()  # before the bytes are sent
    found = refs.workspaces.get(workspace)
    if content_type or headers or metadata:
        return await _put_entry(repository, found, path, chunks, actor, content_type, headers, metadata, expected_md5)
    body = Body(path, "", _NONE, _NONE, expected_md5, {})
    address = repository.folder(workspace).address(path)
    sha256 = hashlib.sha256()
    feed = Feed(_HASHING, [*body.hashers, sha256])
    size = await repository.store.put_stream(address, _verified(chunks, feed, body))
    fp("workspace.file_put")
    await _check_in_time(repository, found, path, actor)
    return body.entry([Block(address, 0, size, sha256.digest())], repository.clock.wall())


async def named(repository: OpenRepository, ref: str) -> str:
    """The id of the workspace that a ref to be written to names; empty for a branch, of which nothing is known yet."""
    if "+" not in ref:
        return ""
    found = (await repository.resolve(ref, workspaces=True)).workspace
    return "" if found is None else found.id


async def delete(repository: OpenRepository, workspace: str, paths: Sequence[str], *, actor: Actor) -> list[str]:
    """Those of the paths that were there. A file goes; what the commit below shows is hidden by a tombstone."""
    for path in paths:
        check_key(path)
    paths = list(dict.fromkeys(paths))
    gone: list[str] = []
    for start in range(0, max(len(paths), 1), _STAGED_AT_ONCE):
        by = actor if start + _STAGED_AT_ONCE >= len(paths) else without_key(actor)  # the last append decides
        gone += await _delete(repository, workspace, paths[start : start + _STAGED_AT_ONCE], by)
    return gone


async def _delete(repository: OpenRepository, workspace: str, paths: Sequence[str], actor: Actor) -> list[str]:
    refs, _ = await repository.refs()
    found = refs.workspaces.get(workspace)
    fork = refs.commit(found.fork)
    files = await files_at(repository, workspace, paths)
    below = await repository.view_of(fork, found.layers)
    hidden = [path for path in paths if await below.get(path) is not None]
    then = [WorkspaceStaged(workspace, deletes=tuple(hidden))] if hidden else []
    await remove(repository, found, list(files.values()), then, actor=actor)
    there = {*files, *hidden}
    return [path for path in paths if path in there]


async def stage(
    repository: OpenRepository, workspace: str, entries: Sequence[Entry], *, actor: Actor, read_at: int = 0
) -> None:
    """Entries whose bytes are on the store already: uploads, and copies of the state `read_at`. A file at such a path
    would hide the entry, so it goes."""
    found = await find(repository, workspace)
    if found.layers.count + len(entries) > _STAGED_MAX:
        raise Refused(
            f"a workspace holds at most {_STAGED_MAX:,} staged objects besides its files",
            hint="write files, or copy on a branch",
        )
    for start in range(0, len(entries), _STAGED_AT_ONCE):
        batch = tuple(entries[start : start + _STAGED_AT_ONCE])
        files = await files_at(repository, workspace, [entry.path for entry in batch])
        events: list[Event] = [WorkspaceStaged(workspace, batch, read_at=read_at)]
        by = actor if start + _STAGED_AT_ONCE >= len(entries) else without_key(actor)  # the last append decides
        await remove(repository, found, list(files.values()), events, actor=by)


async def _put_entry(
    repository: OpenRepository,
    workspace: Workspace,
    path: str,
    chunks: AsyncIterable[bytes],
    actor: Actor,
    content_type: str,
    headers: Mapping[str, str],
    metadata: Mapping[str, str],
    expected_md5: str | None,
) -> Entry:
    _, mint = await repository.refs()
    entry = await repository.bodies.write(
        path,
        chunks,
        mint=mint,
        content_type=content_type,
        headers=headers,
        metadata=metadata,
        expected_md5=expected_md5,
    )
    await stage(repository, workspace.id, [entry], actor=actor)
    return entry


async def _verified(chunks: AsyncIterable[bytes], feed: Feed, body: Body) -> AsyncIterator[bytes]:
    """Raises BadDigest before the store has the whole of it, and so before it has anything."""
    async for chunk in chunks:
        await feed.add(chunk)
        yield chunk
    await feed.done()
    body.verify()


async def _check_in_time(repository: OpenRepository, workspace: Workspace, path: str, actor: Actor) -> None:
    """A commit that had its last look before the file was there is made to look again. Raises Refused if it landed."""
    try:
        if (await find(repository, workspace.id)).sealed:
            await repository.submit(actor, WorkspaceStaged(workspace.id))
    except Refused as error:
        raise Refused(
            f"{path!r} was written too late: {error.message} meanwhile",
            hint="it is no part of that; open a new workspace, and write it again",
        ) from error


async def files_at(repository: OpenRepository, workspace: str, paths: Sequence[str]) -> dict[str, str]:
    """Those of the paths at which there is a file, with its address."""
    folder = repository.folder(workspace)

    async def address(path: str) -> str:
        try:
            return (await repository.store.head(folder.address(path))).path
        except (Invalid, NotFound):  # what no file can be named is not there
            return ""

    addresses = await several(address, paths, _HEADS_AT_ONCE)
    return {path: address for path, address in zip(paths, addresses, strict=True) if address}
