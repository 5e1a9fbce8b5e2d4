"""What a scrub finds is an event of the lake, and a job that `:joblog` shows."""

import asyncio
from typing import Any

from lochan.api.lake import Lake
from lochan.api.session import Session
from lochan.formats.record import Actor
from lochan.journal.feed import EventLine
from lochan.lake import Lake as EngineLake
from lochan.store.memory import MemoryStore
from lochan.versioning.state.damage import Damage
from tests.run import run

ANN = Actor("ann", "test", "here")


async def made() -> tuple[Lake, EngineLake]:
    engine = await EngineLake.create(MemoryStore())
    lake = Lake(Session(engine, ANN))
    await lake.create_repository("demo")
    main = lake.repository("demo").branch("main")
    for name in ("a", "b", "c"):
        await main.put(name, name.encode() * 70_000)
    await main.commit("all")
    return lake, engine


async def some_file(engine: EngineLake) -> str:
    """Of data."""
    id = (await engine.repository("demo")).id
    found = [stat.path async for stat in engine.store.list(f"{id}/data/")]
    return found[0]


async def told(lake: Lake) -> list[EventLine]:
    return [each async for each in lake.events("_lake") if each.type == "damage-found"]


async def known(engine: EngineLake) -> int:
    id = (await engine.repository("demo")).id
    return (await (await engine.journal()).fresh()).of(Damage).files(id)


def test_damage_is_an_event_and_so_is_its_end() -> None:
    async def play() -> None:
        lake, engine = await made()
        await lake.scrub(["demo"])
        assert await told(lake) == []
        address = await some_file(engine)
        whole = await engine.store.get(address)
        await engine.store.put(address, b"x" + whole[1:])
        [result] = await lake.scrub(["demo"])
        assert len(result.damaged) == 1
        [event] = await told(lake)
        assert "found 1 damaged file" in event.text
        assert address in event.text
        assert await known(engine) == 1
        await engine.store.put(address, whole)
        await lake.scrub(["demo"])
        assert "no damage any more" in (await told(lake))[-1].text
        assert await known(engine) == 0
        await lake.scrub(["demo"])
        assert len(await told(lake)) == 2, "nothing is told twice"

    run(play())


def test_it_is_a_job_that_fails_where_there_is_damage() -> None:
    async def play() -> None:
        lake, engine = await made()
        await lake.scrub(["demo"])
        await engine.store.delete(await some_file(engine))
        await lake.scrub(["demo"])
        worse, fine = await lake.jobs()
        assert (fine.kind, fine.about, fine.state) == ("scrub", "demo", "done")
        assert (worse.state, worse.error) == ("failed", "damaged files: 1")

    run(play())


def test_a_query_sees_it_and_a_checkpoint_keeps_it() -> None:
    async def play() -> None:
        lake, engine = await made()
        await engine.store.delete(await some_file(engine))
        await lake.scrub(["demo"])
        result = await lake.query("from :joblog | where kind == 'scrub' | cut error")
        rows: list[Any] = await asyncio.to_thread(lambda: list(result.rows()))
        assert rows == [{"error": "damaged files: 1"}]
        await (await engine.journal()).checkpoint()
        assert await known(await EngineLake.open(engine.store)) == 1

    run(play())
