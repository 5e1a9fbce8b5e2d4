"""Objects of a branch: put, stat, read, delete, list. The body goes to the store, then an event names it.

Wherever a branch can be given, `branch+id` names one of its workspaces, in which a body is a plain file. A `check` gets
the object that is there now: on a branch at the very moment of the write; in a workspace, which has one writer, at the
beginning. Looking the object up may read from the store, so it is done before the append. At the append only changes in
memory are compared again; if more than that has changed, the look-up is repeated."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from lochan.errors import ConcurrentCommit, NotFound, RaceLost, Refused
from lochan.formats.entry import Change, Entry, Tombstone
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import Staged
from lochan.journal.keys import CarriedOut
from lochan.staging.inline import Inline
from lochan.staging.layers import Layers
from lochan.staging.listing import ViewPage
from lochan.versioning.bodies.body import PACKED_BYTES_MAX, ready
from lochan.versioning.idempotency import earlier_staging, entry_first, nothing, once
from lochan.versioning.names import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import BranchState
from lochan.versioning.state.refs import Refs
from lochan.versioning.workspaces import write

_NONE: Mapping[str, str] = {}


class SizedBody(Protocol):
    """An incoming body of a known length, with the values that were declared for it."""

    @property
    def length(self) -> int:
        """The length of the body, or its upper limit."""

    @property
    def expected_md5(self) -> str | None: ...

    @property
    def checksums(self) -> Mapping[str, str | None]:
        """The checksums to compute as the body passes. A value that is given is compared."""

    async def whole(self) -> bytes: ...

    def pieces(self) -> AsyncIterator[bytes]: ...

    def hand_over(self) -> Callable[[bytes], None] | None:
        """Returns a function that gets the SHA-256 before anybody can see the body, if there is one. It raises an error
        if that hash is not what was signed."""

    def check_trailer(self, found: Mapping[str, str]) -> None:
        """Raises BadDigest if checksums that came after the body differ from those that were found."""


Check = Callable[[Entry | None], None]  # raises PreconditionFailed, or another error that the verb shall raise
_TRIES_MAX = 100


async def _earlier_deletion(repository: OpenRepository, before: CarriedOut) -> list[str]:
    return (await earlier_staging(repository, before)).deleted


@once(entry_first)
async def put(
    repository: OpenRepository,
    branch: str,
    path: str,
    chunks: AsyncIterable[bytes],
    *,
    actor: Actor,
    content_type: str = "",
    headers: Mapping[str, str] = _NONE,
    metadata: Mapping[str, str] = _NONE,
    expected_md5: str | None = None,
    checksums: Mapping[str, str | None] = _NONE,
    check: Check | None = None,
) -> Entry:
    """Puts an object, which is durable and visible to everybody when it returns. What is known of the body besides its
    bytes is kept in an entry; in a workspace a body without such declarations is a plain file."""
    check_key(path)
    if check is not None:
        check(await find(repository, branch, path))  # once before the bytes are sent, and again when it is staged
    workspace = await write.workspace_id(repository, branch)
    if workspace and not checksums:
        return await write.put(
            repository,
            workspace,
            path,
            chunks,
            actor=actor,
            content_type=content_type,
            headers=headers,
            metadata=metadata,
            expected_md5=expected_md5,
        )
    refs, mint = await repository.refs()
    if not workspace:
        refs.branch(branch)  # fails before the bytes are sent if there is no such branch
    entry = await repository.bodies.write(
        path,
        chunks,
        mint=mint,
        content_type=content_type,
        headers=headers,
        metadata=metadata,
        expected_md5=expected_md5,
        checksums=checksums,
    )
    await append_one(repository, branch, entry, actor=actor, check=check)
    return entry


async def put_sized(
    repository: OpenRepository,
    branch: str,
    path: str,
    body: SizedBody,
    *,
    actor: Callable[[Entry], Actor],
    content_type: str = "",
    headers: Mapping[str, str] = _NONE,
    metadata: Mapping[str, str] = _NONE,
    check: Check | None = None,
) -> Entry:
    """Puts a body whose sender waits: the store is asked nothing before its bytes are written, and the append decides.
    A small body shares a file and a sync with others that come at the same time. In a workspace it is staged instead of
    being a plain file, because its declared properties are kept. `actor` is called with the entry, so that an
    idempotency key may depend on the bytes: if they are sent again, the request was carried out, and whatever came to
    the path since stays. Raises BadDigest and similar errors with nothing staged."""
    if body.length <= PACKED_BYTES_MAX:
        small = ready(
            path,
            await body.whole(),
            content_type=content_type,
            headers=headers,
            metadata=metadata,
            expected_md5=body.expected_md5,
            checksums=body.checksums,
        )
        body.check_trailer(small.entry.checksums)
        entry = await repository.packing.write(small)
    else:
        entry = await repository.bodies.write(
            path,
            body.pieces(),
            mint=repository.journal.tail.state.number,  # G1: the number that was folded before the first byte
            content_type=content_type,
            headers=headers,
            metadata=metadata,
            expected_md5=body.expected_md5,
            checksums=body.checksums,
            whole=body.hand_over(),
            size=body.length,
        )
        body.check_trailer(entry.checksums)
    await stage(repository, branch, entry, actor=actor(entry), check=check)
    return entry


@once(nothing)
async def stage(
    repository: OpenRepository,
    branch: str,
    entry: Entry,
    *,
    actor: Actor,
    check: Check | None = None,
    read_at: int = 0,
) -> None:
    """Stages an entry whose body is written. `read_at` is the state that a copy was read from (G4)."""
    await append_one(repository, branch, entry, actor=actor, check=check, read_at=read_at)


async def append_one(
    repository: OpenRepository, branch: str, entry: Entry, *, actor: Actor, check: Check | None = None, read_at: int = 0
) -> None:
    """Stages an entry like `stage`, for verbs that handle the idempotency key themselves."""
    if workspace := await write.workspace_id(repository, branch):
        if check is not None:
            check(await find(repository, branch, entry.path))
        await write.stage(repository, workspace, [entry], actor=actor, read_at=read_at)
        return
    await append_staged(repository, actor, Staged(branch, puts=(entry,), read_at=read_at), entry.path, check)


async def put_many(repository: OpenRepository, branch: str, entries: Sequence[Entry], *, actor: Actor) -> None:
    """Stages entries whose bodies are written, as one event."""
    if workspace := await write.workspace_id(repository, branch):
        await write.stage(repository, workspace, entries, actor=actor)
        return
    await append_staged(repository, actor, Staged(branch, puts=tuple(entries)))


async def stat(repository: OpenRepository, ref: str, path: str) -> Entry:
    """Returns the entry of an object. Raises NotFound."""
    check_key(path)
    entry = await find(repository, ref, path)
    if entry is None:
        raise NotFound(f"no object {path!r} at {ref}").named(path)
    return entry


async def find(repository: OpenRepository, ref: str, path: str) -> Entry | None:
    return await (await repository.view(await repository.resolve(ref, workspaces=True))).get(path)


def read(
    repository: OpenRepository, entry: Entry, start: int = 0, stop: int | None = None
) -> AsyncGenerator[bytes, None]:
    return repository.reader.read(entry, start, stop)


async def list_objects(
    repository: OpenRepository, ref: str, prefix: str = "", after: str = "", delimiter: str = "", limit: int = 1_000
) -> ViewPage:
    view = await repository.view(await repository.resolve(ref, workspaces=True))
    return await view.list(prefix, after, delimiter, limit)


@once(_earlier_deletion)
async def delete(repository: OpenRepository, branch: str, paths: Sequence[str], *, actor: Actor) -> list[str]:
    """Returns the paths that existed. A path that is not visible stages nothing (S5)."""
    for path in paths:
        check_key(path)
    if workspace := await write.workspace_id(repository, branch):
        return await write.delete(repository, workspace, paths, actor=actor)
    resolved = await repository.resolve(branch)
    if resolved.branch is None:
        raise Refused(f"{branch!r} is not a branch, and only branches can be written to")
    view = await repository.view(resolved)
    visible = [path for path in dict.fromkeys(paths) if await view.get(path) is not None]
    if visible:
        await append_staged(repository, actor, Staged(resolved.branch.name, deletes=tuple(visible)))
    return visible


@once(nothing)
async def delete_if(repository: OpenRepository, branch: str, path: str, check: Check, *, actor: Actor) -> None:
    """Deletes the object if `check` allows it. A missing object is no error, unless `check` raises one."""
    check_key(path)
    if workspace := await write.workspace_id(repository, branch):
        check(await find(repository, branch, path))
        await write.delete(repository, workspace, [path], actor=actor)
        return
    await append_staged(repository, actor, Staged(branch, deletes=(path,)), path, check)


async def append_staged(
    repository: OpenRepository, actor: Actor, event: Staged, path: str = "", check: Check | None = None
) -> None:
    """Appends the event on a branch if `check`, if given, accepts the object at that path."""
    if check is None:
        await repository.submit(actor, event)
    else:
        await submit_if(repository, event.branch, path, check, (event,), actor=actor)
    repository.staged(event.branch)


class _LookAgain(ConcurrentCommit):
    pass


async def submit_if(
    repository: OpenRepository,
    branch: str,
    path: str,
    check: Check,
    events: Sequence[Event],
    *,
    actor: Actor,
    key: str = "",
    fingerprint: bytes = b"",
    also: Callable[[Refs], None] = lambda refs: None,
) -> Any:
    """Appends the events if `check` allows it, which gets the object at that path at that very moment, and `also`
    allows it, which gets the refs."""
    for _ in range(_TRIES_MAX):
        refs, _ = await repository.refs()
        branch_seen = refs.branch(branch)
        view = await repository.view_of(refs.commit(branch_seen.head), branch_seen.layers)
        seen = _Seen(branch_seen, path, await view.get(path), check)
        check(seen.entry)
        try:
            return await repository.submit_decided(
                actor, partial(_decide, seen, events, also), key=key, fingerprint=fingerprint
            )
        except _LookAgain:
            continue
    raise RaceLost(f"branch {branch!r} changes too quickly for a condition to be tested", hint="try again")


class _Seen(NamedTuple):
    branch: BranchState
    path: str
    entry: Entry | None
    check: Check


def _decide(seen: _Seen, events: Sequence[Event], also: Callable[[Refs], None], refs: Refs) -> Sequence[Event]:
    also(refs)
    now = refs.branch(seen.branch.name)
    inline = _newest_inline(now.layers, seen.path)
    if inline is not None:
        seen.check(None if isinstance(inline, Tombstone) else inline)
    elif _dependencies(now) != _dependencies(seen.branch) or _newest_inline(seen.branch.layers, seen.path) is not None:
        raise _LookAgain("the branch has changed meanwhile")
    else:
        seen.check(seen.entry)
    return events


def _dependencies(branch: BranchState) -> tuple[object, ...]:
    """Returns a key for everything that an object depends on, apart from the newest inline changes."""
    return branch.incarnation, branch.head, branch.layers.runs


def _newest_inline(layers: Layers, path: str) -> Change | None:
    """Returns the newest inline change of the path that is above every run, or None. A change below a run may be
    hidden, and does not count."""
    for layer in reversed(layers.layers):
        if not isinstance(layer, Inline):
            return None
        found = layer.get(path)
        if found is not None:
            return found
    return None
