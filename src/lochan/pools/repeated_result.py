"""What a commit of a pool added and removed: the result of a load, a delete or a compaction that is asked for again
with its idempotency key (rule J8)."""

from typing import NamedTuple

from lochan.formats.entry import Entry
from lochan.journal.keys import CarriedOut
from lochan.pools.facts import from_metadata
from lochan.tree.diff import diff, differences_of
from lochan.versioning.open_repository import OpenRepository


class Landed(NamedTuple):
    commit: str
    removed: list[Entry]
    added: list[Entry]

    @property
    def rows_removed(self) -> int:
        return _rows(self.removed)

    @property
    def rows_added(self) -> int:
        return _rows(self.added)


async def landed_first(repository: OpenRepository, before: CarriedOut) -> Landed:
    id: str = before.result
    refs = repository.folded()
    made = refs.recorded(id)
    trees = await repository.tree(refs.recorded(made.parents[0])), await repository.tree(made)
    found = [each async for table in diff(repository.trees, *trees) for each in differences_of(table)]
    return Landed(
        id,
        [each.left for each in found if each.left is not None],
        [each.right for each in found if each.right is not None],
    )


def _rows(entries: list[Entry]) -> int:
    return sum(from_metadata(entry.metadata, entry.path).rows for entry in entries)
