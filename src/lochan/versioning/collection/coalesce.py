"""Coalesces objects of many blocks into one file each, for engines that read whole files.

A commit cannot do this: where bytes are is no part of a tree's content, so an object whose content is the same keeps
its blocks. Aliases can. Each block is mapped to its place in the new file, in every commit that names it, and the alias
has the SHA-256 of the whole file."""

from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from lochan.errors import ConcurrentCommit, Refused
from lochan.formats.alias_table import AliasRow, table_of
from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.versioning.bodies.address import is_outside, is_workspace_file
from lochan.versioning.bodies.aliases import Aliases
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.collection.alias_maker import add_aliases
from lochan.versioning.open_repository import OpenRepository

_ATTEMPTS = 5
_PAGE = 1_000


class CoalesceCounts(NamedTuple):
    objects: int  # objects that are one file now
    bytes: int
    left: tuple[tuple[str, str], ...]  # paths that stay as they are, and why


async def coalesce(repository: OpenRepository, ref: str, prefix: str, *, actor: Actor) -> CoalesceCounts:
    """Coalesces one object, or all objects below a prefix that is empty or ends with a slash. Each is mapped by an
    event of its own. Raises the errors of reading a body: damaged bytes are not copied."""
    ref = ref or repository.repository.default_branch
    paths = [path async for path in _of_many_blocks(repository, ref, prefix)]
    done, size, left = 0, 0, []
    for path in paths:
        reason = None
        for _ in range(_ATTEMPTS):
            try:
                reason = await _coalesce_one(repository, ref, path, actor)
                break
            except ConcurrentCommit:
                continue
        else:
            raise Refused("garbage was collected, or others made aliases, all the time", hint="try again later")
        if isinstance(reason, str):
            left.append((path, reason))
        elif reason:
            done, size = done + 1, size + reason
    return CoalesceCounts(done, size, tuple(left))


async def _of_many_blocks(repository: OpenRepository, ref: str, prefix: str) -> AsyncIterator[str]:
    view = await repository.view(await repository.resolve(ref))
    after: str | None = ""
    while after is not None:
        page = await view.list(prefix, after, limit=_PAGE)
        for entry in page.entries:
            if len(entry.blocks) > 1 and (entry.path == prefix or prefix[-1:] in ("", "/")):
                yield entry.path
        after = page.next


async def _coalesce_one(repository: OpenRepository, ref: str, path: str, actor: Actor) -> str | int:
    """Coalesces one object. Returns its size, or 0 if it is gone or one file already, or the reason why it stays as it
    is."""
    refs, read_at = await repository.refs()
    names = refs.collection.alias_names
    entry = await (await repository.view(await repository.resolve(ref))).get(path)
    if entry is None or len(entry.blocks) < 2:
        return 0
    aliases = await repository.places.load(names)
    if len(aliases.place_file(entry).blocks) == 1:
        return 0
    placed = aliases.place_entry(entry)
    reason = _obstacle(entry, placed, aliases)
    if reason:
        return reason
    rows = await _write(repository, placed, read_at)
    await add_aliases(repository, table_of(rows), names, aliases, read_at, actor=actor)
    return entry.size


def _obstacle(entry: Entry, placed: Entry, aliases: Aliases) -> str:
    blocks = placed.blocks
    if len({(each.address, each.offset) for each in blocks}) < len(blocks):
        return "it names a block twice, and a block has one place"
    if any(is_outside(each.address) or is_workspace_file(each.address) for each in blocks):
        return "its bytes are in files that others write"
    if not all(each.sha256 for each in blocks):
        return "a block of it has no SHA-256"
    if any(found is not None and found.target_size for found in map(aliases.find, entry.blocks)):
        return "it shares a block with an object that is one file"
    return ""


async def _write(repository: OpenRepository, placed: Entry, read_at: int) -> Sequence[AliasRow]:
    """Writes the blocks to one file, and returns its aliases. Each block is compared with its SHA-256 as it is copied,
    even if it was checked recently."""
    address = repository.bodies.address(placed.path, read_at, exact=True)
    digest = sha256()
    size = await repository.store.put_stream(address, _hash_pieces(BodyReader(repository.store), placed, digest.update))
    rows, at = [], 0
    for block in placed.blocks:
        rows.append(AliasRow(block.address, block.offset, block.size, address, at, size, digest.digest()))
        at += block.size
    return rows


async def _hash_pieces(reader: BodyReader, entry: Entry, update: Callable[[bytes], None]) -> AsyncIterator[bytes]:
    async for piece in reader.read(entry):
        update(piece)
        yield piece
