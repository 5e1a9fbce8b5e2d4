"""Moves every live byte of a repository behind aliases, and deletes the files where they were, without any grace: a
reader that does not follow aliases finds nothing."""

from lochan.formats.alias_table import AliasRow, table_of
from lochan.formats.entry import Block
from lochan.formats.record import Actor
from lochan.versioning.collection.alias_maker import add_aliases
from lochan.versioning.collection.live_blocks import live_blocks
from lochan.versioning.open_repository import OpenRepository

_ANN = Actor("ann", "test", "here")


async def move_everything(repository: OpenRepository) -> int:
    """Every block to a file of its own. Returns how many have moved."""
    live = await live_blocks(repository)
    prefix = f"{repository.repository.id}/data/"
    blocks = [Block(*row.values()) for row in live.placed().to_pylist() if row["address"].startswith(prefix)]
    rows = []
    for block in blocks:
        address = repository.bodies.address("", live.read_at)
        data = await repository.store.get_range(block.address, block.offset, block.offset + block.size)
        await repository.store.put(address, data)
        rows.append(AliasRow(block.address, block.offset, block.size, address, 0))
    await add_aliases(repository, table_of(rows), live.names, live.aliases, live.read_at, actor=_ANN)
    for address in {block.address for block in blocks}:
        await repository.store.delete(address)
    return len(blocks)
