"""What is done to a pool beside garbage collection. Its data objects hold words, each a row."""

from collections.abc import Sequence

from lochan.formats.entry import Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.record import Actor
from lochan.pools.commit_objects import ObjectWriter, Swap, add_objects, change_objects, replace_objects
from lochan.pools.facts import Facts
from lochan.pools.objects import entries
from lochan.tree.tree import Tree
from lochan.versioning.heads.joins import MoveBase
from tests.sim.collection.client import CollectionClient
from tests.sim.collection.oracle import TAKEN
from tests.sim.files.client import pieces
from tests.sim.versioning.request import ClientRequest


async def load(client: CollectionClient, *rows: str) -> None:
    async def work(actor: Actor) -> None:
        _, mint = await client.repository.refs()
        made = await _write(ObjectWriter.of(client.repository, mint), rows)
        await add_objects(client.repository, "main", [made], actor=actor)

    done = await client.ask(ClientRequest(TAKEN, "main"), work)
    if done:
        client.place.judge.rows.update(rows)


async def compact(client: CollectionClient) -> None:
    """All objects of the head into one."""

    async def work(actor: Actor) -> None:
        refs, mint = await client.repository.refs()
        found = entries_of(await entries(await client.repository.tree(refs.commit(refs.branch("main").head))))
        rows = [row for each in found for row in await rows_of(client, each)]
        made = await _write(ObjectWriter.of(client.repository, mint), rows)
        await replace_objects(client.repository, "main", Swap(found, [made]), actor=actor)

    await client.ask(ClientRequest(TAKEN, "main"), work)


async def delete_rows(client: CollectionClient, row: str) -> None:
    """Computed again on every head: each object without the row replaces the one with it."""

    async def decide(on: MoveBase, tree: Tree) -> Swap:
        hit = [each for each in entries_of(await entries(tree)) if row in await rows_of(client, each)]
        rows = [other for each in hit for other in await rows_of(client, each) if other != row]
        writer = ObjectWriter.of(client.repository, on.mint)
        return Swap(hit, [await _write(writer, rows)] if rows else [])

    async def work(actor: Actor) -> None:
        await change_objects(client.repository, "main", "delete", decide, actor=actor)

    client.place.judge.rows.pop(row, None)
    await client.ask(ClientRequest(TAKEN, "main"), work)


async def drop_by_rule(client: CollectionClient) -> None:
    """All objects of the head."""
    client.place.judge.dropped = True
    await client.drop_by_rule("")


async def rows_of(client: CollectionClient, entry: Entry) -> list[str]:
    return (await client.repository.reader.read_all(entry)).decode().split()


async def _write(writer: ObjectWriter, rows: Sequence[str]) -> Entry:
    return await writer.write(pieces(" ".join(rows).encode()), Facts(len(rows), 0, b"a", b"z", ()))
