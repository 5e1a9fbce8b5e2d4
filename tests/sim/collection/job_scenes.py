"""Jobs beside garbage collection: loads and compactions that outlive plans, and a dead job whose process comes back."""

from hashlib import md5, sha256

from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import entries_of
from lochan.formats.record import Actor
from lochan.pools.commit_objects import Swap, add_objects, replace_objects
from lochan.pools.objects import entries
from lochan.versioning.job_hold import JobHold, hold_ids, open_job
from lochan.versioning.repositories import POOL
from tests.sim.collection.client import CollectionClient
from tests.sim.collection.oracle import TAKEN
from tests.sim.collection.play import Act, Scene, collects


@collects
async def collect(client: CollectionClient) -> None:
    await client.collect()


async def give_up_jobs(client: CollectionClient) -> None:
    """As upkeep abandons the dead, only sooner."""
    await client.give_up_jobs()


def load(path: str, *, at_once: bool = False) -> Act:
    """An object is written, and added to the pool. `at_once`: its job is opened before the first byte."""

    async def work(client: CollectionClient, actor: Actor) -> None:
        repository = client.repository
        _, mint = await repository.refs()
        if at_once:
            job = repository.ids.ksuid(repository.clock.wall())
            await open_job(repository, job, mint, actor=client.actor())
            entry, closes = await _write(client, path, mint), hold_ids(job)
        else:
            hold = JobHold(repository, "load", "main", mint, client.actor())
            await hold.look()
            entry = await _write(client, path, mint)
            closes = await hold.closes()
        await add_objects(repository, "main", [entry], actor=actor, closes=closes)

    return lambda client: client._any(TAKEN, lambda actor: work(client, actor))


def compact() -> Act:
    """All objects of the pool become one."""

    async def work(client: CollectionClient, actor: Actor) -> None:
        repository = client.repository
        refs, mint = await repository.refs()
        found = entries_of(await entries(await repository.tree(refs.commit(refs.branch("main").head))))
        hold = JobHold(repository, "compact", "main", mint, client.actor())
        made = await _write(client, f"merged-{mint}", mint)
        closes = await hold.closes()
        await replace_objects(repository, "main", Swap(found, [made]), actor=actor, closes=closes)

    return lambda client: client._any(TAKEN, lambda actor: work(client, actor))


async def _write(client: CollectionClient, path: str, mint: int) -> Entry:
    data = client._body()
    repository = client.repository
    name = repository.ids.ksuid(repository.clock.wall())
    address = f"{repository.repository.id}/data/{mint:020d}-{name}/part"
    await repository.store.put(address, data)
    checksum = md5(data, usedforsecurity=False).hexdigest()
    block = Block(address, 0, len(data), sha256(data).digest())
    return Entry(path, (block,), len(data), checksum, checksum, repository.clock.wall())


_THRICE = (collect, collect, collect)

JOBS: dict[str, Scene] = {
    "pool load": Scene((load("a"), collect), ((load("b"),), _THRICE), after=(give_up_jobs,), kind=POOL),
    "pool load that is held open": Scene(
        (load("a"), collect), ((load("b", at_once=True),), _THRICE), after=(give_up_jobs,), kind=POOL
    ),
    "pool compaction": Scene(
        (load("a"), load("b"), collect),
        ((compact(),), (lambda client: client.expire_all(), *_THRICE)),
        after=(give_up_jobs,),
        kind=POOL,
    ),
    "a dead job that comes back": Scene(
        (load("a"), collect),
        ((load("b", at_once=True),), (collect, give_up_jobs, collect, collect)),
        after=(give_up_jobs,),
        kind=POOL,
    ),
}
