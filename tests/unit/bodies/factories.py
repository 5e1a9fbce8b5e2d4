"""Creates bodies, readers and entries for the tests of this folder."""

import hashlib
from collections.abc import AsyncIterator, Iterable

from lochan.formats.entry import Block, Entry
from lochan.store.protocol import Store
from lochan.versioning.bodies.address import Style
from lochan.versioning.bodies.write import BLOCK_BYTES, Bodies
from tests.unit.store.clocks import StillClock, counting_ids

NOW = 1_700_000_000_000_000
REPOSITORY = "2YbqGSxjZ1ZrbNTLhGzTPuOjz8X"


def bodies(
    store: Store, *, style: Style = "id", tag_paths: bool = False, block_bytes: int = BLOCK_BYTES, writer: str = "w"
) -> Bodies:
    return Bodies(
        store,
        prefix=REPOSITORY,
        clock=StillClock(NOW),
        ids=counting_ids(),
        writer=writer,
        address_style=style,
        tag_paths=tag_paths,
        block_bytes=block_bytes,
    )


async def sent(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def in_blocks(store: Store, blocks: Iterable[bytes], path: str = "a/b") -> Entry:
    """An entry whose blocks are in the middle of files, as in packs."""
    made = []
    for number, data in enumerate(blocks):
        await store.put(f"file{number}", b"before" + data + b"after")
        made.append(Block(f"file{number}", 6, len(data), hashlib.sha256(data).digest()))
    size = sum(block.size for block in made)
    return Entry(path=path, blocks=tuple(made), size=size, checksum="", etag="", mtime=0)
