"""Lives in which one server falls behind at the moment when that is most dangerous.

It has seen the tail. Then its network becomes slow while the others fill groups and the janitor trims them. The time
limits of rule J6 decide what it may still believe when it hears again. The schedule is as random as in any life.
"""

from collections.abc import Callable

from tests.sim.chooser import Chooser
from tests.sim.clients import Client
from tests.sim.explore import Result, Run, walk
from tests.sim.journal_walk import BUDGETS, RATES, Life
from tests.sim.machine import Machine
from tests.sim.plants import NONE, Plant
from tests.sim.world import DAY, HOUR, MINUTE

_SOON_S = 2.5


class Sleeper(Life):
    def __init__(self, chooser: Chooser, plant: Plant) -> None:
        super().__init__(chooser, plant, bucket=chooser.seed % 4 > 0)
        self.store.faults = frozenset({"before", "lost", "late"})

    def _present(self) -> None:
        self.store.faulty = lambda verb, path: verb == "put_if_absent"
        behind = self.world.machine("s0")
        behind.spawn(self._fall_asleep(behind) if self.random.random() < 0.4 else self._fall_behind(behind))
        busy = self.world.machine("s1")
        busy.spawn(self._be_busy(busy))
        janitor = self.world.machine("jan", skew_us=self.random.choice((0, 0, 3 * DAY * 1_000_000)))
        janitor.spawn(self._keep_tidy(janitor))
        self.world.run(stalls=(2 * MINUTE, 50 * MINUTE), jumps=(2 * MINUTE,))

    async def _fall_behind(self, machine: Machine) -> None:
        journal = await self.lake.open(machine, self._slow_later(machine))
        writer, reader = (Client(self.lake, machine, journal, f"s0.{i}") for i in range(2))
        await writer.create(self._new_name())
        await reader.read()
        await machine.clock.sleep(_SOON_S)
        tasks = [machine.spawn(writer.create(self._new_name())), machine.spawn(self._read_again(reader))]
        for task in tasks:
            await task
        await journal.close()

    async def _fall_asleep(self, machine: Machine) -> None:
        """The server has asked for the tail and stalls before the answer. When it wakes, it goes on from there."""
        client = Client(self.lake, machine, await self.lake.open(machine), "s0.0")
        task = machine.spawn(self._read_and_write(client))
        await machine.clock.sleep(self.random.uniform(0.001, 0.008))
        machine.stall((3 * HOUR) if self.lake.bucket else 20)
        await task
        await client.journal.close()

    async def _read_and_write(self, client: Client) -> None:
        await client.read()
        await client.create(self._new_name())
        await client.read()

    def _slow_later(self, machine: Machine) -> Callable[[str], float]:
        """From then on, either every read takes long, or every append takes hours to arrive, on a disk a little
        less."""
        verb_slow, delay_s = self.random.choice((("get", 25.0 * MINUTE), ("put_if_absent", 3.0 * HOUR)))
        if not self.lake.bucket:
            verb_slow, delay_s = "put_if_absent", 20.0
        begins = machine.clock.boot() + _SOON_S
        return lambda verb: delay_s if verb == verb_slow and machine.clock.boot() >= begins else 0.0

    async def _read_again(self, reader: Client) -> None:
        await reader.read()
        await reader.machine.clock.sleep(3 * HOUR - 20)
        await reader.read()

    async def _be_busy(self, machine: Machine) -> None:
        client = Client(self.lake, machine, await self.lake.open(machine), "s1.0")
        await machine.clock.sleep(1)
        for _ in range(self.random.randrange(5, 10)):
            await client.create(self._new_name())
        await client.journal.close()

    async def _keep_tidy(self, machine: Machine) -> None:
        client = Client(self.lake, machine, await self.lake.open(machine), "jan")
        await machine.clock.sleep(1.5)
        for _ in range(3):
            await client.tidy()
            await machine.clock.sleep(62 * MINUTE)


def life(plant: Plant = NONE) -> Run:
    """One seed, one life: two in three are any life, the third is one that falls behind."""

    def run(chooser: Chooser) -> None:
        kind = Sleeper if chooser.seed % 3 == 2 else Life
        kind(chooser, plant).run()

    return run


def live(seeds: range, plant: Plant = NONE) -> Result:
    return walk(life(plant), seeds, budgets=BUDGETS, rates=RATES)
