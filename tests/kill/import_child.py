"""The process that is killed while it imports, copies and links objects, one step after the other."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from lochan import failpoints
from lochan.errors import AlreadyExists, NotFound, NothingToDo, Refused
from lochan.formats.record import Actor
from lochan.lake import Lake, LakeOptions
from lochan.store.open import open_store
from lochan.versioning import bulk, copy, links
from lochan.versioning.heads.imports import ImportFolder, bring_in, for_import, for_ingest
from lochan.versioning.open_repository import OpenRepository
from tests.kill.child import Order, Trap

ANN = Actor("ann", "kill", "here")
COUNT = 9  # files of the source: more than ride inline


async def work(order: Order) -> None:
    """Each step can be done again, and then changes nothing more."""
    bulk.INLINE_MAX = 4
    lake = await opened(order.folder)
    with suppress(AlreadyExists):
        await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    source = f"file://{Path(order.folder).parent}/source"
    with suppress(NothingToDo):
        await bring_in(repository, "main", await for_import(repository, [ImportFolder(source, "in/")]), actor=ANN)
    with suppress(NothingToDo):
        await bring_in(repository, "main", await for_ingest(repository, ImportFolder(source, "follow/")), actor=ANN)
    await copy.copy_folder(repository, "main", "in/", "main", "copy/", actor=ANN)
    with suppress(NotFound):  # moved by a life before this one
        await copy.move_folder(repository, "main", "copy/", "moved/", actor=ANN)
    await copy.copy(repository, "main", "in/0", "main", "one", actor=ANN)
    await link(repository)
    await lake.close()


async def link(repository: OpenRepository) -> None:
    given = await links.physical_address(repository, "main", "linked", actor=ANN)
    await repository.store.put(given.address, b"linked")
    await links.link(repository, "main", "linked", given.token, actor=ANN)
    try:
        await links.link(repository, "main", "linked", given.token, actor=ANN)
    except Refused:
        return
    raise AssertionError("a token was good twice")


async def opened(folder: str) -> Lake:
    store, world = open_store(folder, create=True), LakeOptions(open_store)
    with suppress(AlreadyExists):
        return await Lake.create(store, world=world)
    return await Lake.open(store, world=world)


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=Order)
    trap = Trap(given)
    failpoints.arm(trap)
    asyncio.run(work(given))
    print(msgspec.json.encode(dict(trap.passed)).decode())
