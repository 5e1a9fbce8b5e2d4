"""Small scenes of access control for the exhaustive explorer: nobody gets in with a key whose revocation was answered
(A1).

One server revokes a key, others let people in, each with its own copy of the lake's journal. Time passes between any
two things that happen, and answers come late.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf

from lochan.access import open_access as freshness
from lochan.access.state import AccessState
from lochan.errors import LochanError, Transient
from lochan.formats.lake_events import AdminCreated, KeyCreated, KeyRevoked, UserCreated
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal, Settings
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema
from lochan.store.retry import RetryStore
from tests.sim.chooser import Chooser
from tests.sim.explore import Result, Run, deepen, ladder
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.world import World

KEY = "KEY"
_ACTOR = Actor("root", "sim", "")
_JUMPS = (0.5, 1.05)  # within the second that a probe is trusted for, and beyond it


@dataclass(slots=True)
class Gate:
    """The state that all machines of one run share, and the fate of the key."""

    world: World
    plant: Plant
    bucket: bool
    moment: int = 0  # counts what people can tell apart
    revoked: float = inf  # the moment when a client got the answer that the key is revoked
    opened: list[Journal] = field(default_factory=list)

    async def open(self, machine: Machine) -> Journal:
        store = RetryStore(machine.store, machine.clock, machine.ids)
        rules = self.plant.rules
        slots = ObjectSlots(store, "_lake", aged=self.bucket)
        settings = Settings(machine.name, patience_s=5.0)
        schema = Schema(AccessState, rules=rules, alarm=self._alarm)
        return await Journal.open("_lake", schema, slots, store, machine.clock, machine.ids, settings, rules=rules)

    def now(self) -> int:
        self.moment += 1
        return self.moment

    def _alarm(self, text: str) -> None:
        if "no checkpoint" not in text:
            self.world.fail(f"ALARM: {text}")


class Server:
    def __init__(self, gate: Gate, machine: Machine, journal: Journal) -> None:
        self.gate = gate
        self.machine = machine
        self.journal = journal
        self.freshness = freshness.Freshness.of(journal, machine.clock)

    async def revoke(self) -> None:
        try:
            await self.journal.submit(AppendRequest(_ACTOR, lambda state: [KeyRevoked(KEY)]))
        except LochanError:
            return
        await self.freshness.before_answer()
        self.gate.revoked = min(self.gate.revoked, self.gate.now())

    async def let_in(self) -> None:
        """A client arrives with the key."""
        came, arrived = self.gate.now(), self.machine.clock.boot()
        try:
            state = await self.freshness.authorised_state(arrived)
        except Transient:
            return
        if state.key(KEY) is not None and came > self.gate.revoked:
            self.gate.world.fail(f"LET IN: {self.machine.name} took a key whose revocation had been answered")


Act = Callable[[Server], Awaitable[object]]


@dataclass(frozen=True)
class Scene:
    actors: tuple[tuple[Act, ...], ...]
    bucket: bool = True
    budgets: tuple[tuple[str, int], ...] = (("preempt", 2), ("jump", 2))


def scene(name: str, plant: Plant = NONE) -> Run:
    return lambda chooser: _play(SCENES[name], chooser, plant)


def explore_scene(name: str, plant: Plant = NONE, *, seconds: float) -> Result:
    return deepen(scene(name, plant), ladder(**dict(SCENES[name].budgets)), seconds=seconds)


def _play(scene: Scene, chooser: Chooser, plant: Plant) -> None:
    world = World(chooser)
    world.store(faults=())
    gate = Gate(world, plant, scene.bucket)
    with plant.planted():
        old = world.machine("old")
        old.spawn(_begin(gate, old))
        world.run(jumps=())
        servers: list[Server] = []
        for number in range(len(scene.actors)):
            machine = world.machine("ABCD"[number])
            machine.spawn(_enter(gate, machine, servers))
            world.run(jumps=())
        for server, acts in zip(servers, scene.actors, strict=True):
            server.machine.spawn(_perform(server, acts))
        world.run(max_steps=400, jumps=_JUMPS)


async def _begin(gate: Gate, machine: Machine) -> None:
    journal = await gate.open(machine)
    events = [AdminCreated("root", "Admin", "ROOT", b"-"), UserCreated("ann"), KeyCreated("ann", KEY, b"-")]
    await journal.submit(AppendRequest(_ACTOR, lambda state: events))
    await journal.close()


async def _enter(gate: Gate, machine: Machine, servers: list[Server]) -> None:
    journal = await gate.open(machine)
    await journal.fresh()
    servers.append(Server(gate, machine, journal))


async def _perform(server: Server, acts: tuple[Act, ...]) -> None:
    for act in acts:
        await act(server)
    await server.journal.close()


def revoke(server: Server) -> Awaitable[object]:
    return server.revoke()


def let_in(server: Server) -> Awaitable[object]:
    return server.let_in()


def wait(seconds: float) -> Act:
    return lambda server: server.machine.clock.sleep(seconds)


_SOON, _LATER = wait(0.02), wait(1.2)  # before a probe is too old to be trusted, and after a revocation was answered

SCENES: dict[str, Scene] = {
    "a key revoked beside a server that lets people in": Scene(((revoke,), (_SOON, let_in, _LATER, let_in))),
    "a key revoked beside a slow probe": Scene(
        ((wait(1.21), revoke), (_LATER, let_in, let_in)), budgets=(("preempt", 1), ("jump", 2))
    ),
    "a key revoked on a disk": Scene(((revoke,), (_SOON, let_in, _SOON, let_in)), bucket=False),
}

# By the planted bug, the scene that it breaks.
CATCHES: dict[str, str] = {
    "A1: a revocation is answered at once": "a key revoked beside a server that lets people in",
    "A1: a probe is trusted for a minute": "a key revoked beside a server that lets people in",
    "A1: a probe counts from its answer": "a key revoked beside a slow probe",
    "A1: on a disk a probe is trusted too": "a key revoked on a disk",
}
