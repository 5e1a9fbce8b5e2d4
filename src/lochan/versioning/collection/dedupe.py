"""Keeps blocks with equal bytes once: the others become aliases of one of them, and are collected as garbage.

Blocks are equal if their SHA-256 and their size are. The one that is kept is read and compared with its SHA-256 before
another is aliased to it, so damage never spreads: if it is damaged, another block of the same bytes is kept. A pool's
data object is one block. Equal data objects stay separate objects, each with its rows; only their file is shared."""

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow.compute as pc

from lochan.concurrency import map_concurrently
from lochan.errors import ConcurrentCommit, Corrupt, Gone, Refused
from lochan.formats.entry import Block, Entry
from lochan.formats.record import Actor
from lochan.store.protocol import Store
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.collection.alias_maker import add_aliases
from lochan.versioning.collection.equal_blocks import (
    DuplicateBlocks,
    EqualBlocks,
    duplicate_blocks,
    equal_blocks,
    known_blocks,
)
from lochan.versioning.collection.live_blocks import live_blocks
from lochan.versioning.collection.progress import Listener, StageProgress
from lochan.versioning.open_repository import OpenRepository

CHECKED = "checks blocks"  # a stage
_ATTEMPTS = 5
_READS_AT_ONCE = 16


class DedupeEngine(Protocol):
    """Reads metadata and bodies. The same functions decide for every engine what to do about them."""

    async def find(self) -> EqualBlocks:
        """Returns the equal blocks of the newest state. Raises Corrupt or NotFound for a tree, a run or an alias table
        that cannot be read."""

    async def check(self, blocks: list[Block]) -> list[bool]:
        """Returns for each block whether its bytes exist and have its SHA-256. It reads all of them, even if they were
        read recently."""


class EmbeddedDedupe:
    def __init__(self, repository: OpenRepository, listener: Listener | None = None) -> None:
        self._repository = repository
        self._progress = StageProgress(listener)

    async def find(self) -> EqualBlocks:
        live = await live_blocks(self._repository, self._progress)
        blocks = known_blocks(live.placed(), live.files, self._repository.repository.id)
        size = pc.sum(blocks["size"]).as_py() or 0
        return EqualBlocks(live.read_at, live.names, live.aliases, len(blocks), size, equal_blocks(blocks))

    async def check(self, blocks: list[Block]) -> list[bool]:
        def seen(done: int) -> None:
            self._progress.tell(CHECKED, done, len(blocks))

        return await check_blocks(self._repository.store, blocks, seen)


async def dedupe_report(repository: OpenRepository, *, engine: DedupeEngine | None = None) -> DuplicateBlocks:
    """Returns what could be saved. It changes nothing, and reads no bodies."""
    return duplicate_blocks(await (engine or EmbeddedDedupe(repository)).find())


async def dedupe(repository: OpenRepository, *, actor: Actor, engine: DedupeEngine | None = None) -> DuplicateBlocks:
    """Aliases equal blocks to one that was read and is intact. Raises Refused if plans or other aliases interfere again
    and again."""
    checked: dict[Block, bool] = {}
    engine = engine or EmbeddedDedupe(repository)
    for _ in range(_ATTEMPTS):
        equal = await engine.find()
        found = await _choose_checked(engine, equal, checked)
        if not len(found.aliases):
            return found
        try:
            await add_aliases(repository, found.aliases, equal.names, equal.aliases, equal.read_at, actor=actor)
        except ConcurrentCommit:
            continue
        return found
    raise Refused("garbage was collected, or others made aliases, all the time", hint="try again later")


async def _choose_checked(engine: DedupeEngine, equal: EqualBlocks, checked: dict[Block, bool]) -> DuplicateBlocks:
    """Checks the blocks that would be kept, and chooses again until all of them are intact."""
    while True:
        found = duplicate_blocks(equal, tuple(block for block, right in checked.items() if not right))
        new = [each for each in equal.at(found.aliases) if each not in checked]
        if not new:
            return found
        checked |= dict(zip(new, await engine.check(new), strict=True))


async def check_blocks(
    store: Store, blocks: Sequence[Block], seen: Callable[[int], None] = lambda done: None
) -> list[bool]:
    """Returns for each block whether its bytes exist and have its SHA-256."""
    reader = BodyReader(store)
    done = 0

    async def is_right(block: Block) -> bool:
        nonlocal done
        entry = Entry(block.address, (block,), block.size, "", "", 0)
        try:
            async for _ in reader.read(entry):
                pass
        except (Corrupt, Gone):
            return False
        finally:
            done += 1
            seen(done)
        return True

    return await map_concurrently(is_right, blocks, _READS_AT_ONCE)
