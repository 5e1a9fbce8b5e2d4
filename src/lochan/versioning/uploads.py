"""Multipart uploads: parts that arrive in any order become the blocks of one entry, and no byte is moved.

Nothing is visible before the upload is completed, by one event. An upload is part of the journal's state, so it
outlives every process, and any process can continue it.
"""

import hashlib
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from lochan.errors import BadPart, BadPartOrder, Invalid, NotFound, PartTooSmall
from lochan.formats.entry import Block, Entry
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import PartPut, Staged, UploadAborted, UploadOpened
from lochan.formats.workspace_events import WorkspaceStaged
from lochan.versioning.idempotency import nothing, once, same
from lochan.versioning.names import check_key
from lochan.versioning.objects import Check, submit_if
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.uploads import OpenUpload, UploadPart
from lochan.versioning.workspaces.write import check_hidden

PARTS_MAX = 10_000
PART_BYTES_MIN = 5 << 20  # the minimum for every part but the last
OBJECT_BYTES_MAX = 5 << 40

_NONE: Mapping[str, str] = {}


class PartRequest(NamedTuple):
    """A part in the request that completes the upload."""

    number: int
    etag: str
    checksums: Mapping[str, str] = _NONE


@once(same)
async def open_upload(
    repository: OpenRepository,
    branch: str,
    path: str,
    *,
    actor: Actor,
    content_type: str = "",
    headers: Mapping[str, str] = _NONE,
    metadata: Mapping[str, str] = _NONE,
    checksum: str = "",
    checksum_type: str = "",
    workspace: str = "",
) -> str:
    check_key(path)
    id = repository.ids.ksuid(repository.clock.wall())
    event = UploadOpened(
        id, branch, path, content_type, dict(headers), dict(metadata), checksum, checksum_type, workspace
    )
    opened: str = await repository.submit(actor, event)
    return opened


async def put_part(
    repository: OpenRepository,
    upload: str,
    number: int,
    chunks: AsyncIterable[bytes],
    *,
    actor: Actor,
    expected_md5: str | None = None,
    checksums: Mapping[str, str | None] = _NONE,
    verify: Callable[[Mapping[str, str]], None] = lambda found: None,
    whole: Callable[[bytes], None] | None = None,
) -> UploadPart:
    """Puts a part. `verify` gets the computed checksums and `whole` the SHA-256, before the part is recorded. Both may
    raise."""
    _check_number(number)
    refs, mint = await repository.refs()
    path = refs.uploads.get(upload).opened.path
    entry = await repository.bodies.write(
        path, chunks, mint=mint, expected_md5=expected_md5, checksums=dict(checksums), whole=whole
    )
    verify(entry.checksums)
    return await _put(repository, PartPut(upload, number, entry.blocks, entry.size, entry.etag, entry.checksums), actor)


async def copy_part(
    repository: OpenRepository,
    upload: str,
    number: int,
    source: Entry,
    start: int,
    stop: int,
    etag: str,
    *,
    read_at: int,
    actor: Actor,
    checksums: Mapping[str, str] = _NONE,
) -> UploadPart:
    """Puts a span of an object of the same repository as a part, by reference. `etag` and `checksums` are those of the
    span; `read_at` is the number of the state in which the object was found (G4)."""
    _check_number(number)
    blocks = slice_blocks(source.blocks, start, stop)
    event = PartPut(upload, number, blocks, stop - start, etag, dict(checksums), read_at=read_at)
    return await _put(repository, event, actor)


async def complete(
    repository: OpenRepository,
    id: str,
    requested: Sequence[PartRequest],
    *,
    actor: Actor,
    check: Check | None = None,
    checksums: Mapping[str, str] = _NONE,
    content_type: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Entry:
    """Makes the object visible, with the type and the metadata that the upload was opened with, unless others are
    given. A repeated request gets the same answer, whatever happened to the object since. Raises NotFound, BadPart,
    BadPartOrder, PartTooSmall, and whatever `check` raises, which gets the object that is there."""
    refs, read_at = await repository.refs()
    upload = refs.uploads.find(id)
    if upload is None:
        return await _earlier_completion(repository, id, requested, actor)
    parts = _choose_parts(refs, id, requested)
    entry = _entry(upload, parts, repository.clock.wall())
    entry = msgspec.structs.replace(
        entry,
        checksums=dict(checksums),
        content_type=entry.content_type if content_type is None else content_type,
        metadata=entry.metadata if metadata is None else dict(metadata),
    )
    if upload.opened.workspace:
        return await _into_workspace(
            repository, upload, entry, read_at, requested, _refuse_changed_parts(id, parts), actor
        )
    event = Staged(upload.opened.branch, puts=(entry,), read_at=read_at, completes=id)
    await submit_if(
        repository,
        upload.opened.branch,
        entry.path,
        check or (lambda _: None),
        (event,),
        actor=actor,
        key=id,
        fingerprint=_fingerprint(requested),
        also=_refuse_changed_parts(id, parts),
    )
    repository.staged(upload.opened.branch)
    return entry


async def _into_workspace(
    repository: OpenRepository,
    upload: OpenUpload,
    entry: Entry,
    read_at: int,
    requested: Sequence[PartRequest],
    unchanged: Callable[[Refs], None],
    actor: Actor,
) -> Entry:
    """Completes the upload in its workspace. The entry hides a file at the same path."""
    workspace = upload.opened.workspace
    found = repository.folded().workspaces.get(workspace)
    files = await repository.shown_folder(found).stamps([entry.path])
    check_hidden(found, len(files))
    event = WorkspaceStaged(workspace, (entry,), read_at=read_at, completes=upload.id, hides=files)

    def decide(refs: Refs) -> Sequence[Event]:
        unchanged(refs)
        return [event]

    await repository.submit_decided(actor, decide, key=upload.id, fingerprint=_fingerprint(requested))
    return entry


@once(nothing)
async def abort(repository: OpenRepository, id: str, *, actor: Actor) -> None:
    await repository.submit(actor, UploadAborted(id))


async def uploads(repository: OpenRepository) -> list[OpenUpload]:
    refs, _ = await repository.refs()
    return refs.uploads.all()


def multipart_etag(etags: Sequence[str]) -> str:
    """Returns S3's ETag of an upload: the MD5 of the parts' MD5s, and their number."""
    digests = b"".join(bytes.fromhex(etag) for etag in etags)
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(etags)}"


async def _put(repository: OpenRepository, event: PartPut, actor: Actor) -> UploadPart:
    await repository.submit(actor, event)
    put = repository.folded().uploads.part(event.upload, event.number)
    if put is None:  # another request has completed or aborted it since
        raise NotFound(f"no upload {event.upload!r} is open", hint="it was completed or aborted meanwhile")
    return put


async def _earlier_completion(
    repository: OpenRepository, id: str, requested: Sequence[PartRequest], actor: Actor
) -> Entry:
    """Returns the entry of an earlier completion. The journal knows by the key whether this request was carried out.
    Raises NotFound if it was not."""

    def decide(refs: Refs) -> Sequence[Event]:
        refs.uploads.get(id)
        raise Invalid("the upload came to be while it was looked for")  # ids are never used twice

    await repository.submit_decided(actor, decide, key=id, fingerprint=_fingerprint(requested))
    return Entry("", (), 0, "", multipart_etag([part.etag for part in requested]), 0)


def _refuse_changed_parts(id: str, parts: Sequence[UploadPart]) -> Callable[[Refs], None]:
    """Checks that no part was replaced between reading the parts and the append."""

    def check(refs: Refs) -> None:
        refs.uploads.get(id)
        if any(refs.uploads.part(id, part.number) != part for part in parts):
            raise BadPart("a part was put once more while the upload was completed", hint="complete it again")

    return check


def _choose_parts(refs: Refs, id: str, requested: Sequence[PartRequest]) -> list[UploadPart]:
    if not requested:
        raise BadPart("no part was named")
    parts = []
    for before, one in zip((None, *requested), requested, strict=False):
        if before is not None and before.number >= one.number:
            raise BadPartOrder("the parts are not in ascending order")
        part = refs.uploads.part(id, one.number)
        if part is None or part.etag != one.etag:
            raise BadPart(f"part {one.number} was not put, or has another ETag")
        if any(part.checksums.get(name, value) != value for name, value in one.checksums.items()):
            raise BadPart(f"part {one.number} has another checksum")
        parts.append(part)
    for part in parts[:-1]:
        if part.size < PART_BYTES_MIN:
            raise PartTooSmall(f"part {part.number} has {part.size} bytes, and only the last may have under 5 MiB")
    return parts


def _entry(upload: OpenUpload, parts: Sequence[UploadPart], now: int) -> Entry:
    opened = upload.opened
    size = sum(part.size for part in parts)
    if size > OBJECT_BYTES_MAX:
        raise Invalid(f"an object of {size} bytes is larger than the 5 TiB that S3 allows")
    return Entry(
        path=opened.path,
        blocks=tuple(block for part in parts for block in part.blocks),
        size=size,
        checksum="",
        etag=multipart_etag([part.etag for part in parts]),
        mtime=now,
        content_type=opened.content_type,
        parts=tuple(part.size for part in parts),
        headers=opened.headers,
        metadata=opened.metadata,
    )


def _fingerprint(requested: Sequence[PartRequest]) -> bytes:
    text = ",".join(f"{part.number}:{part.etag}" for part in requested)
    return hashlib.sha256(text.encode()).digest()


def _check_number(number: int) -> None:
    if not 1 <= number <= PARTS_MAX:
        raise Invalid(f"part number {number} is not between 1 and {PARTS_MAX:,}")


def slice_blocks(blocks: Sequence[Block], start: int, stop: int) -> tuple[Block, ...]:
    """Returns the bytes from `start` to `stop`, exclusive, as new blocks by reference. A block that is cut loses its
    SHA-256, which was that of the whole block."""
    size = sum(block.size for block in blocks)
    if not 0 <= start <= stop <= size:
        raise Invalid(f"bytes {start} to {stop} are not in a body of {size} bytes")
    found = []
    at = 0
    for block in blocks:
        low, high = max(start, at), min(stop, at + block.size)
        if low < high:
            whole = high - low == block.size
            sha256 = block.sha256 if whole else b""
            found.append(Block(block.address, block.offset + low - at, high - low, sha256))
        at += block.size
    return tuple(found)
