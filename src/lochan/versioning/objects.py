"""Objects of a branch: put, look at, read, delete, list. The body goes to the store, then an event names it.

Where a branch is asked for, `branch+id` names a workspace of it, in which a body is a plain file. A `check` is asked
about the object that is there: on a branch at the very moment of the write, in a workspace, which is one writer's, when
it begins.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping, Sequence

from lochan.errors import NotFound, Refused
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.formats.repository_events import Staged
from lochan.journal.request_key import CarriedOut
from lochan.staging.listing import Page
from lochan.versioning.conditional_write import Check, submit_if
from lochan.versioning.idempotency import entry_first, nothing, once, staged_first
from lochan.versioning.names import check_key
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.workspaces import write

_NONE: Mapping[str, str] = {}


async def _deleted_first(repository: OpenRepository, before: CarriedOut) -> list[str]:
    return (await staged_first(repository, before)).deleted


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
    check: Check | None = None,
) -> Entry:
    """Durable and visible to everybody when it returns."""
    check_key(path)
    if check is not None:
        check(await _there(repository, branch, path))  # before the bytes are sent, and again when it is staged
    if workspace := await write.named(repository, branch):
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
    refs.branch(branch)  # before the bytes are sent
    entry = await repository.bodies.write(
        path,
        chunks,
        mint=mint,
        content_type=content_type,
        headers=headers,
        metadata=metadata,
        expected_md5=expected_md5,
    )
    await _stage(repository, actor, Staged(branch, puts=(entry,)), path, check)
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
    """An entry whose body is written. `read_at` is the state that a copy was read from (G4)."""
    if workspace := await write.named(repository, branch):
        if check is not None:
            check(await _there(repository, branch, entry.path))
        await write.stage(repository, workspace, [entry], actor=actor, read_at=read_at)
        return
    await _stage(repository, actor, Staged(branch, puts=(entry,), read_at=read_at), entry.path, check)


async def put_many(repository: OpenRepository, branch: str, entries: Sequence[Entry], *, actor: Actor) -> None:
    """Entries whose bodies are written, staged as one event."""
    if workspace := await write.named(repository, branch):
        await write.stage(repository, workspace, entries, actor=actor)
        return
    await _stage(repository, actor, Staged(branch, puts=tuple(entries)))


async def stat(repository: OpenRepository, ref: str, path: str) -> Entry:
    """Raises NotFound."""
    check_key(path)
    view = await repository.view(await repository.resolve(ref, workspaces=True))
    entry = await view.get(path)
    if entry is None:
        raise NotFound(f"no object {path!r} at {ref}").named(path)
    return entry


def read(
    repository: OpenRepository, entry: Entry, start: int = 0, stop: int | None = None
) -> AsyncGenerator[bytes, None]:
    return repository.reader.read(entry, start, stop)


async def list_objects(
    repository: OpenRepository, ref: str, prefix: str = "", after: str = "", delimiter: str = "", limit: int = 1_000
) -> Page:
    view = await repository.view(await repository.resolve(ref, workspaces=True))
    return await view.list(prefix, after, delimiter, limit)


@once(_deleted_first)
async def delete(repository: OpenRepository, branch: str, paths: Sequence[str], *, actor: Actor) -> list[str]:
    """Those of the paths that were there; what is not visible stages nothing (S5)."""
    for path in paths:
        check_key(path)
    if workspace := await write.named(repository, branch):
        return await write.delete(repository, workspace, paths, actor=actor)
    resolved = await repository.resolve(branch)
    if resolved.branch is None:
        raise Refused(f"{branch!r} is no branch, and only branches can be written to")
    view = await repository.view(resolved)
    visible = [path for path in dict.fromkeys(paths) if await view.get(path) is not None]
    if visible:
        await _stage(repository, actor, Staged(resolved.branch.name, deletes=tuple(visible)))
    return visible


@once(nothing)
async def delete_if(repository: OpenRepository, branch: str, path: str, check: Check, *, actor: Actor) -> None:
    """Only what is as `check` wants it; what is not there is no error, unless `check` says so."""
    check_key(path)
    if workspace := await write.named(repository, branch):
        check(await _there(repository, branch, path))
        await write.delete(repository, workspace, [path], actor=actor)
        return
    await _stage(repository, actor, Staged(branch, deletes=(path,)), path, check)


async def _there(repository: OpenRepository, branch: str, path: str) -> Entry | None:
    return await (await repository.view(await repository.resolve(branch, workspaces=True))).get(path)


async def _stage(
    repository: OpenRepository, actor: Actor, event: Staged, path: str = "", check: Check | None = None
) -> None:
    if check is None:
        await repository.submit(actor, event)
    else:
        await submit_if(repository, event.branch, path, check, (event,), actor=actor)
    repository.staged(event.branch)
