"""The data files that the journal's newest records have named. This distinguishes a file that was overwritten or
deleted before a commit from one that nothing ever named.

Records are searched as bytes for texts that look like an address, so no event is decoded. A name that is found is
certain. That a name is not found proves something only if every record since the file was minted was read, and no tree
or run that was not read can have named it."""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import NotFound
from lochan.formats.metarange import TreeRef
from lochan.formats.repository_events import RunsStaged
from lochan.versioning.collection.mark_set import Hashes, Mask, hashes
from lochan.versioning.open_repository import OpenRepository

RECORDS = 10_000  # the number of the newest records that are read
_BYTES_MAX = 256 << 20  # and their size at most
_HEADS_AT_ONCE = 16
_UNKNOWN = 1 << 62
_KEY = r"data/[0-9]{20}-[^/]{1,64}/[0-9A-Za-z]{27}"  # an address: what follows is the logical path, if there is one
_RUNS = RunsStaged.type.encode()


class JournalNames(NamedTuple):
    """The names that the records hold, as hashes. It can be pickled."""

    seed: int = 0
    named: Hashes = np.empty(0, np.uint64)  # hashes of the beginnings of paths, in order
    since: int = _UNKNOWN  # for files that were minted from this number on, all names that ever were are here

    def look_up(self, files: pa.Table) -> tuple[Mask, Mask]:
        """Returns for each file (PLAN_SCHEMA) whether an event named it, and whether it is certain that none did."""
        nowhere = np.zeros(len(files), np.bool_)
        if not len(self.named) and self.since == _UNKNOWN:
            return nowhere, nowhere
        keys = pc.struct_field(pc.extract_regex(files["path"], f"^(?P<key>{_KEY})").combine_chunks(), "key")
        has_key = keys.is_valid().to_numpy(zero_copy_only=False)
        named = has_key & np.isin(hashes(keys.fill_null(""), self.seed), self.named)
        return named, has_key & ~named & (files["mint"].to_numpy() >= self.since)


NOT_READ = JournalNames()


async def journal_names(
    repository: OpenRepository, seed: int, expired: tuple[TreeRef, ...], unread: int, records: int = RECORDS
) -> JournalNames:
    """Reads the newest records. `expired` are the trees of expired commits, and `unread` is the greatest mint of those
    that are not among them."""
    if not records:
        return NOT_READ
    _, last = await repository.refs()
    since = max(0, last - records)
    address = re.compile(rf"{repository.repository.id}/({_KEY})".encode())
    found: set[bytes] = set()
    size = 0
    async for sealed in repository.journal.records(since):
        found.update(address.findall(sealed.data))
        size += len(sealed.data)
        if _RUNS in sealed.data:  # no record has the names in its runs
            since = sealed.record.number
        if size > _BYTES_MAX:
            since = _UNKNOWN
            break
    gone = await _greatest_gone(repository, [tree for tree in expired if mint_of_tree(tree) >= since])
    names = pa.array([each.decode() for each in found], pa.string())
    return JournalNames(seed, np.sort(hashes(names, seed)), max(since, unread + 1, gone + 1))


async def _greatest_gone(repository: OpenRepository, trees: list[TreeRef]) -> int:
    """Returns the greatest mint of the trees that are gone, or -1. A tree that was collected may have named any file
    minted before it."""

    async def gone(tree: TreeRef) -> int:
        try:
            await repository.store.head(f"{repository.repository.id}/{tree.file}")
        except NotFound:
            return mint_of_tree(tree)
        return -1

    return max(await map_concurrently(gone, trees, _HEADS_AT_ONCE), default=-1)


def mint_of_tree(tree: TreeRef) -> int:
    return int(tree.file.rpartition("/")[2].removesuffix(".parquet").split("-")[1])
