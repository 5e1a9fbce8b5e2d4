"""Small scenes of long jobs and their keys, for the exhaustive explorer: a pending key is not forgotten (J8).

A job opens with a key and closes with the same one, perhaps hours later. Meanwhile others use more keys than the table
keeps. Whoever asks again gets the first answer; and a job that is under way can always be closed, once.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256

from lochan.errors import LochanError, Transient, Unknown
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.journal.keys import _UserKeys
from tests.sim.chooser import Chooser
from tests.sim.clients import Client, Lake
from tests.sim.explore import Result, Run, deepen, ladder
from tests.sim.machine import Machine
from tests.sim.oracle import JournalOracle
from tests.sim.plants import NONE, Plant, ShortDay
from tests.sim.world import World

KEPT = 1  # keys; twice as many and one more, and the oldest go

Act = Callable[["JobClient"], Awaitable[object]]


class JobClient(Client):
    async def job(self, name: str, *, asks_again: bool = False) -> None:
        """Opened and closed under one key; each of the two makes a repository, so that it can be seen."""
        key = self.machine.ids.idempotency_key(self.machine.clock.wall())
        opened = await self._step(name, "opened", key, pending=True)
        if not opened:
            return
        if asks_again and await self._step(name, "opened", key, pending=True, under_way=True) not in ("", opened):
            self.lake.oracle.world.fail(f"DOUBLED: the job {name} was opened twice under one key")
        await self._step(name, "closed", key, pending=False, under_way=True)

    async def _step(self, name: str, what: str, key: str, *, pending: bool, under_way: bool = False) -> str:
        """The id of what was created, or empty if the outcome is unknown."""
        oracle, tag = self.lake.oracle, f"{self.name} {name} {what}"
        id = self.machine.ids.ksuid(self.machine.clock.wall())
        event = RepositoryCreated(id, f"{name}-{what}", "files", "main")
        print_of = sha256(name.encode()).digest()
        request = AppendRequest(Actor("user", self.name, tag), lambda state: [event], key, print_of, pending)
        try:
            made: str = await self.journal.submit(request)
        except Unknown as error:
            if under_way and "too old" in str(error):
                oracle.world.fail(f"FORGOTTEN: the job {name} is under way, and its key is not known: {error}")
            return ""
        except Transient:
            return ""
        except LochanError as error:
            oracle.world.fail(f"UNFOUNDED: {tag} was refused: {error}")
        oracle.acknowledged(tag, made)
        return made


@dataclass(frozen=True)
class Scene:
    actors: tuple[tuple[Act, ...], ...]
    faults: tuple[str, ...] = ("lost", "late")
    budgets: tuple[tuple[str, int], ...] = (("preempt", 2), ("fault", 1))


def scene(name: str, plant: Plant = NONE) -> Run:
    return lambda chooser: _play(SCENES[name], chooser, plant)


def explore_scene(name: str, plant: Plant = NONE, *, seconds: float) -> Result:
    return deepen(scene(name, plant), ladder(**dict(SCENES[name].budgets)), seconds=seconds)


def _play(scene: Scene, chooser: Chooser, plant: Plant) -> None:
    world = World(chooser, split=False)
    store = world.store(faults=scene.faults)
    oracle = JournalOracle(world, store, keys_kept=KEPT)
    lake = Lake(oracle, plant, False, 256, KEPT, checkpoint_every=1_000, patience_s=0.05)
    with plant.planted():
        store.faulty = lambda verb, path: verb == "put_if_absent" and "/journal/0" in path
        for number, acts in enumerate(scene.actors):
            machine = world.machine("ABCD"[number])
            machine.spawn(_perform(lake, machine, acts))
        world.run(max_steps=400, jumps=())
        oracle.judge()


async def _perform(lake: Lake, machine: Machine, acts: tuple[Act, ...]) -> None:
    client = JobClient(lake, machine, await lake.open(machine), machine.name)
    for act in acts:
        await act(client)
    await client.journal.close()


def job(name: str, *, asks_again: bool = False) -> Act:
    return lambda client: client.job(name, asks_again=asks_again)


def by_key(name: str) -> Act:
    return lambda client: client.create_surely(name, [client])


_MANY = tuple(by_key(name) for name in ("x", "y", "z"))

SCENES: dict[str, Scene] = {
    "a long job beside many keys": Scene(((job("j"),), _MANY)),
    "a long job that is asked for again": Scene(((job("j", asks_again=True),), _MANY)),
    "two long jobs": Scene(((job("j"), by_key("a")), (job("k"), by_key("b"), by_key("c")))),
}


def _evict_any(self: _UserKeys, count: int) -> None:
    for time, key in sorted((known.time, key) for key, known in self.known.items())[:count]:
        del self.known[key]
        self.floor = max(self.floor, time)


PLANTS: dict[str, Plant] = {
    "J8: a pending key is forgotten": Plant(ShortDay(), ((_UserKeys, "evict", _evict_any),)),
}
CATCHES: dict[str, str] = {"J8: a pending key is forgotten": "a long job beside many keys"}
