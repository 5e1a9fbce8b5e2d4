"""Opens workspaces, writes to them and drops them, without destroying anything that a commit may name (S8).

    a new path          a plain file in the workspace's folder, by put-if-absent: other programs see it there
    everything else     a fresh file under `data/`, staged by an event, which hides a file at the same path
    a delete            a tombstone, which hides a file at the same path

No file is overwritten or deleted here; garbage collection removes files that no commit names. A reader sees the file at
a path unless it is hidden; otherwise what is staged; otherwise the commit that the workspace was opened on."""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence

from msgspec.structs import replace

from lochan.errors import AlreadyExists, Invalid, LochanError, NotFound, Refused, Transient, Unknown
from lochan.failpoints import fp
from lochan.formats.entry import Block, Entry
from lochan.formats.record import Actor
from lochan.formats.workspace_events import WorkspaceDropped, WorkspaceOpened, WorkspaceStaged
from lochan.journal.keys import CarriedOut, KeyedActor, without_key
from lochan.store.capabilities import StreamIfAbsent, capability
from lochan.versioning.bodies.body import Cutter, IncomingBody
from lochan.versioning.bodies.digests import Feed, Hashing
from lochan.versioning.bodies.outside_files import plain_etag
from lochan.versioning.idempotency import nothing, once
from lochan.versioning.names import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.workspaces import WorkspaceState

_TAIL_BYTES = 4


async def _earlier_workspace(repository: OpenRepository, before: CarriedOut) -> WorkspaceState:
    return repository.folded().workspaces.get(before.result)


@once(_earlier_workspace)
async def open_workspace(repository: OpenRepository, branch: str, note: str = "", *, actor: Actor) -> WorkspaceState:
    """Opens a workspace on the current head of the branch. Raises NotFound."""
    tail = repository.ids.put_id()[:_TAIL_BYTES].hex()
    id: str = await repository.submit(actor, WorkspaceOpened(branch, tail, note))
    fp("workspace.opened")
    return repository.folded().workspaces.get(id)


async def find(repository: OpenRepository, id: str) -> WorkspaceState:
    """Returns an open workspace. Raises NotFound, and Refused for a closed one, with its outcome."""
    refs, _ = await repository.refs()
    return refs.workspaces.get(id)


async def open_workspaces(repository: OpenRepository, branch: str = "") -> list[WorkspaceState]:
    """Returns the open workspaces of one branch or of all, oldest first."""
    refs, _ = await repository.refs()
    return [each for each in refs.workspaces.all() if branch in ("", each.branch)]


@once(nothing)
async def drop(repository: OpenRepository, id: str, *, actor: Actor) -> None:
    """Drops a workspace. Its content will never be committed. Garbage collection removes its files."""
    await repository.submit(actor, WorkspaceDropped(id))


_NONE: Mapping[str, str] = {}
_STAGED_AT_ONCE = 500  # entries in one event; with paths of 1 KiB still far below the 4 MiB of a journal entry
_STAGED_MAX = 50_000  # they stay in the journal's state until the workspace is closed
_HIDDEN_MAX = 200_000  # and so do the stamps of hidden files, which are shorter
_WHOLE_BYTES_MAX = 8 << 20  # the largest body that one conditional put of every store accepts
_PIECE_BYTES_MIN, _PIECE_BYTES_MAX = 256 << 10, 2 << 20
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
    """Writes an object. Raises Invalid for a path that no file can have, Refused for a closed workspace, and Unknown if
    it is unclear whether the store took the file; then put it again."""
    refs, mint = await repository.refs()
    refs.guard.check_writable()  # fails before the bytes are sent
    found = refs.workspaces.get(workspace)
    body = IncomingBody(path, content_type, headers, metadata, expected_md5, {})
    cutter = Cutter(chunks)
    entry = None
    again = isinstance(actor, KeyedActor) and not actor.is_new  # then an event must enter its key
    if not (content_type or headers or metadata or again):
        entry = await _put_file(repository, found, body, cutter, mint)
        if entry is not None and _is_in_folder(repository, found, entry):
            fp("workspace.file_put")
            await _check_in_time(repository, found, entry, actor)
            return await _with_store_etag(repository, entry)
    if entry is None:
        entry = await repository.bodies.write(
            path,
            _pieces(cutter),
            mint=mint,
            content_type=content_type,
            headers=headers,
            metadata=metadata,
            expected_md5=expected_md5,
        )
    await stage(repository, workspace, [entry], actor=actor)
    return entry


async def workspace_id(repository: OpenRepository, ref: str) -> str:
    """Returns the id of the workspace that a ref names. It is empty for a branch, whether it exists or not."""
    if "+" not in ref:
        return ""
    found = (await repository.resolve(ref, workspaces=True)).workspace
    return "" if found is None else found.id


async def delete(repository: OpenRepository, workspace: str, paths: Sequence[str], *, actor: Actor) -> list[str]:
    """Deletes paths, and returns those that existed. A tombstone hides what lies below, and a file is hidden by its
    stamp."""
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
    files = await repository.shown_folder(found).stamps(paths)
    below = await repository.view_of(fork, found.layers)
    deletes = tuple([path for path in paths if await below.get(path) is not None])
    if files or deletes:
        check_hidden(found, len(files))
        await repository.submit(actor, WorkspaceStaged(workspace, deletes=deletes, hides=files))
        fp("workspace.deleted")
    there = {*files, *deletes}
    return [path for path in paths if path in there]


async def stage(
    repository: OpenRepository, workspace: str, entries: Sequence[Entry], *, actor: Actor, read_at: int = 0
) -> None:
    """Stages entries whose bytes are on the store already: uploads, and copies read from the state `read_at`. An entry
    hides a file at the same path."""
    found = await find(repository, workspace)
    if found.layers.count + len(entries) > _STAGED_MAX:
        raise Refused(
            f"a workspace holds at most {_STAGED_MAX:,} staged objects besides its files",
            hint="write files, or copy on a branch",
        )
    for start in range(0, len(entries), _STAGED_AT_ONCE):
        batch = tuple(entries[start : start + _STAGED_AT_ONCE])
        files = await repository.shown_folder(found).stamps([entry.path for entry in batch])
        check_hidden(found, len(files))
        by = actor if start + _STAGED_AT_ONCE >= len(entries) else without_key(actor)  # the last append decides
        await repository.submit(by, WorkspaceStaged(workspace, batch, read_at=read_at, hides=files))


def check_hidden(workspace: WorkspaceState, more: int) -> None:
    """Raises Refused if so many more hidden files would not fit into the journal's state."""
    if more and len(workspace.hidden) + more > _HIDDEN_MAX:
        raise Refused(
            f"at most {_HIDDEN_MAX:,} files of a workspace can be deleted, replaced or reverted",
            hint="drop the workspace, and open a new one",
        )


# --- a body, on its way to the store ---------------------------------------------------------------------------------
async def _put_file(
    repository: OpenRepository, workspace: WorkspaceState, body: IncomingBody, cutter: Cutter, mint: int
) -> Entry | None:
    """Returns the entry of a new file: in the workspace's folder, or elsewhere if the path was taken meanwhile. Returns
    None, with the cutter untouched, if the path is taken, or if the store cannot write a stream that way."""
    file = repository.folder(workspace.id).address(body.path)
    sha256 = hashlib.sha256()
    feed = Feed(_HASHING, [*body.hashers, sha256])
    if not await cutter.more(_WHOLE_BYTES_MAX):
        data = await cutter.take(_WHOLE_BYTES_MAX)
        cutter.put_back(data)
        if not await _put_small(repository, file, data, body, feed):
            return None
        address, size = file, len(data)
    else:
        streams = capability(repository.store, StreamIfAbsent)
        if streams is None:
            return None
        fresh = repository.bodies.address(body.path, mint)
        address, size = await streams.put_stream_if_absent(file, fresh, _verify_digest(_pieces(cutter), feed, body))
    return body.entry([Block(address, 0, size, sha256.digest())], repository.clock.wall())


async def _put_small(repository: OpenRepository, file: str, data: bytes, body: IncomingBody, feed: Feed) -> bool:
    """Writes a small file. Returns False if there is a file already, or if a folder is in the way. Raises BadDigest
    before anything is stored."""
    await feed.add(data)
    await feed.done()
    body.verify()
    try:
        await repository.store.put_if_absent(file, data)
    except (AlreadyExists, Invalid):
        return False
    except Transient as error:  # the file may still appear, so writing it elsewhere now could write it twice
        raise Unknown(
            f"whether {body.path!r} was written is not known: {error.message}", hint="write it again"
        ) from error
    return True


async def _verify_digest(chunks: AsyncIterable[bytes], feed: Feed, body: IncomingBody) -> AsyncIterator[bytes]:
    """Yields the chunks. Raises BadDigest before the last one, so that the store keeps nothing."""
    async for chunk in chunks:
        await feed.add(chunk)
        yield chunk
    await feed.done()
    body.verify()


async def _pieces(cutter: Cutter) -> AsyncIterator[bytes]:
    while piece := await cutter.take_some(_PIECE_BYTES_MIN, _PIECE_BYTES_MAX):
        yield piece


async def _with_store_etag(repository: OpenRepository, entry: Entry) -> Entry:
    """Returns the entry with the ETag that a view of the folder shows: the store's own."""
    try:
        stat = await repository.store.head(entry.blocks[0].address)
    except NotFound:  # it was deleted meanwhile
        return entry
    return replace(entry, etag=plain_etag(stat.etag))


def _is_in_folder(repository: OpenRepository, workspace: WorkspaceState, entry: Entry) -> bool:
    return entry.blocks[0].address.startswith(repository.folder(workspace.id).root)


async def _check_in_time(repository: OpenRepository, workspace: WorkspaceState, entry: Entry, actor: Actor) -> None:
    """Checks that a commit under way does not miss the file: if the workspace is sealed, makes the commit list the
    folder again. Raises Refused if the commit landed without the file."""
    try:
        if (await find(repository, workspace.id)).sealed:
            await repository.submit(actor, WorkspaceStaged(workspace.id))
    except Refused as error:
        if await _is_committed(repository, workspace, entry):
            return
        raise Refused(
            f"{entry.path!r} was written too late: {error.message} meanwhile",
            hint="it is not part of the commit; open a new workspace and write it again",
        ) from error


async def _is_committed(repository: OpenRepository, workspace: WorkspaceState, entry: Entry) -> bool:
    """Returns whether the commit that closed the workspace has this very file."""
    refs = repository.folded()
    commit = refs.workspaces.committed_as(workspace.id)
    if commit is None:
        return False
    try:
        tree = await repository.tree(refs.commit(commit))
    except LochanError:  # the commit has expired, so this is unknown
        return False
    there = await tree.get(entry.path)
    return there is not None and there.blocks == entry.blocks
