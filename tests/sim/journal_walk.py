"""Random lives of a journal: a few servers with their clients, a janitor, and everything that may go wrong.

One seed is one life. What the seed decides beside the schedule: disk or bucket, how many servers, what the clients do,
how long they think between two requests (nothing, minutes, days), and which of the store's clocks are wrong.
"""

import random
from collections.abc import Callable

from tests.sim.chooser import WALK_BUDGETS, WALK_RATES, Chooser
from tests.sim.clients import Client, Lake
from tests.sim.machine import Machine
from tests.sim.oracle import JournalOracle
from tests.sim.plants import Plant
from tests.sim.world import DAY, HOUR, MINUTE, World

BUDGETS = {**WALK_BUDGETS, "fault": 8, "jump": 4, "stall": 3, "crash": 2, "stale": 2, "corrupt": 1, "full": 1}
RATES = {**WALK_RATES, "stall": (0.0, 0.01, 0.04), "crash": (0.0, 0.003, 0.01), "skew": (0.0, 0.01, 0.03)}
DATED = ("journal", "seg", "checkpoints")  # the three stamps that trimming goes by; at most two of them are wrong
THINK_S = (0, 0, 0, 0, 0.05, 90, 3 * HOUR - 30, 3 * HOUR, 40 * HOUR)
DELAYS_S = (90, 50 * MINUTE, 3 * HOUR)
MAX_STEPS = 6_000


class Life:
    def __init__(self, chooser: Chooser, plant: Plant, *, bucket: bool | None = None) -> None:
        self.random = random.Random(chooser.seed * 7 + 1)
        draw = self.random
        self.world = World(chooser)
        bucket = draw.random() < 0.6 if bucket is None else bucket
        self.store = self.world.store(misdated=draw.sample(DATED, 2) if bucket else ())
        keys_kept = draw.choice((1, 1, 8))
        oracle = JournalOracle(self.world, self.store, keys_kept)
        self.lake = Lake(oracle, plant, bucket, draw.choice((2, 2, 3)), keys_kept, draw.choice((2, 5)))
        self.names = [f"name-{i}" for i in range(2)]
        self.unique = 0
        self.clients: list[Client] = []

    def run(self) -> None:
        with self.lake.plant.planted():
            self._past()
            self._present()
            self._future()
        self.lake.oracle.judge()

    def _past(self) -> None:
        """A quiet beginning with some records, so that there is something to trim from the start."""
        machine = self.world.machine("old")
        machine.spawn(self._live_quietly(machine, self.random.randrange(5)))
        self.world.run(jumps=())

    async def _live_quietly(self, machine: Machine, count: int) -> None:
        client = Client(self.lake, machine, await self.lake.open(machine), "old")
        for _ in range(count):
            await client.create(self._new_name())
        await client.journal.close()

    def _present(self) -> None:
        self.store.faulty = lambda verb, path: True
        for number in range(self.random.choice((2, 2, 3))):
            self._start(f"s{number}")
        janitor = self.world.machine("jan", skew_us=self.random.choice((0, 0, 3 * DAY * 1_000_000)))
        janitor.spawn(self._keep_tidy(janitor))
        self.world.run(
            max_steps=MAX_STEPS,
            jumps=(2 * MINUTE, 2 * HOUR, 2 * DAY),
            crashes=True,
            stalls=(2 * MINUTE, 2 * HOUR, 5 * DAY),
            skews=(-4 * DAY, 4 * DAY),
        )

    def _start(self, name: str) -> None:
        machine = self.world.machine(name)
        machine.on_crash = lambda: self._start(name + "'") if len(name) < 4 else None
        machine.spawn(self._serve(machine))

    async def _serve(self, machine: Machine) -> None:
        journal = await self.lake.open(machine, self._network())
        clients = [Client(self.lake, machine, journal, f"{machine.name}.{i}") for i in range(2)]
        self.clients += clients
        tasks = [machine.spawn(self._use(client)) for client in clients]
        for task in tasks:
            await task
        await journal.close()

    def _network(self) -> Callable[[str], float]:
        """Most are quick. Some hold a request back now and then, and some give every answer when it is nearly too late
        to be trusted."""
        draw = self.random
        match draw.randrange(6):
            case 0:
                return lambda verb: draw.choice(DELAYS_S) if draw.random() < 0.1 else 0.0
            case 1:
                return lambda verb: 3.0 * HOUR if verb == "put_if_absent" and draw.random() < 0.5 else 0.0
            case 2:
                return lambda verb: 25.0 * MINUTE if verb == "get" else 0.0
        return lambda verb: 0.0

    async def _use(self, client: Client) -> None:
        draw = self.random
        for _ in range(draw.randrange(2, 5)):
            await client.machine.clock.sleep(draw.choice(THINK_S))
            match draw.randrange(8):
                case 0 | 1:
                    await client.create(self._new_name())
                case 2:
                    await client.create(draw.choice(self.names))
                case 3:
                    await client.delete(draw.choice(self.names))
                case 4 | 5:
                    await client.create_surely(self._new_name(), self._others(client))
                case _:
                    await client.read()

    def _others(self, client: Client) -> list[Client]:
        return [self.random.choice([c for c in self.clients if c.machine.alive]), client]

    async def _keep_tidy(self, machine: Machine) -> None:
        client = Client(self.lake, machine, await self.lake.open(machine), "jan")
        pauses = (0, 2 * MINUTE, 62 * MINUTE, 62 * MINUTE, 3 * HOUR) if self.lake.bucket else (0, 0, 0.1, 3)
        for _ in range(6):
            await client.tidy()
            await machine.clock.sleep(self.random.choice(pauses))

    def _future(self) -> None:
        """A new client without any state reads everything."""
        self.store.faulty = None
        machine = self.world.machine("new")
        machine.spawn(self._read_cold(machine))
        self.world.run(jumps=())

    async def _read_cold(self, machine: Machine) -> None:
        journal = await self.lake.open(machine)
        oracle = self.lake.oracle
        oracle.saw(await journal.fresh(), len(oracle.records), "new")

    def _new_name(self) -> str:
        self.unique += 1
        return f"only-{self.unique}"
