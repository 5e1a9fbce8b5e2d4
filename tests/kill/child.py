"""The process that is killed. It opens a lake twice, as two rival writers, and lets several clients work on each at
once. So batches, lost races, checkpoints and trims all happen, until a failpoint ends the process where the parent
chose.

A later life of the same lake first repeats every request that had a key, as clients do after a server has died.
"""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock

import msgspec

from lochan import failpoints
from lochan.errors import LochanError, Unknown
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.lake import Lake
from tests.kill import place, plants, report
from tests.kill.place import CLOCK, IDS
from tests.kill.report import DONE, REFUSED, UNKNOWN, Alarmed, Answered, Finished, SentRequest

_LAKES, _CLIENTS, _STEPS = 2, 4, 6
_TRIM_PAUSE_S = 0.01


class Order(msgspec.Struct, frozen=True):
    folder: str
    reports: str  # the file with the reports of earlier lives
    seed: int
    life: int
    at: str = ""  # the failpoint to end at; "": none
    passing: int = 1  # the how-manieth
    stop: bool = False  # only stop there, until somebody says go on
    plant: str = ""  # a bug to plant
    url: str = ""  # of the journals' database; "": they are on the store


class Trap:
    """Ends this process at one passing of one failpoint, and counts them all."""

    def __init__(self, order: Order) -> None:
        self.passed: Counter[str] = Counter()
        self._order = order
        self._lock = Lock()  # the local store works in threads

    def __call__(self, name: str) -> None:
        with self._lock:
            self.passed[name] += 1
            if name == self._order.at and self.passed[name] == self._order.passing:
                os.kill(os.getpid(), signal.SIGSTOP if self._order.stop else signal.SIGKILL)


class Client:
    """Sends a few requests to the lake, one after the other; the seed decides which."""

    def __init__(self, lake: Lake, order: Order, number: int) -> None:
        self._lake = lake
        self._who = f"{order.life}-{number}"
        self._random = random.Random(f"{order.seed}-{self._who}")
        self._sent = 0
        self._keyed: list[SentRequest] = []

    async def work(self) -> None:
        for step in range(_STEPS):
            own, shared = f"own-{self._who}-{step}", f"shared-{self._random.randrange(4)}"
            match self._random.randrange(8):
                case 0 | 1:
                    await self.send("create", own)
                case 2 | 3:
                    await self.send("create", shared, self._key())
                case 4:
                    await self.send("delete", shared, self._key())
                case 5:
                    await self.send("repository", own, self._key())
                case 6:
                    await self.send("repository", shared)
                case _:
                    await self._send_again()

    async def send(self, verb: str, name: str, key: str = "") -> None:
        asked = SentRequest(f"{self._who}-{self._sent}", verb, name, key)
        self._sent += 1
        if key:
            self._keyed.append(asked)
        report.write(asked)
        report.write(await self._answer(asked))

    async def _answer(self, asked: SentRequest) -> Answered:
        try:
            return Answered(asked.request, DONE, await _VERBS[asked.verb](self._lake, asked))
        except Unknown as error:
            return Answered(asked.request, UNKNOWN, str(error))
        except LochanError as error:
            return Answered(asked.request, REFUSED, f"{error.kind}: {error}")

    async def _send_again(self) -> None:
        if self._keyed:
            again = self._random.choice(self._keyed)
            await self.send(again.verb, again.name, again.key)

    def _key(self) -> str:
        return IDS.idempotency_key(CLOCK.wall()) if self._random.random() < 0.7 else ""


async def _create(lake: Lake, asked: SentRequest) -> str:
    """Through the journal itself: only the event, without a journal for the repository."""
    created = RepositoryCreated(IDS.ksuid(CLOCK.wall()), asked.name, "files", "main")
    fingerprint = sha256(f"create {asked.name}".encode()).digest()
    id = await (await lake.journal()).submit(
        AppendRequest(_actor(asked), lambda state: [created], asked.key, fingerprint)
    )
    return str(id)


async def _repository(lake: Lake, asked: SentRequest) -> str:
    return (await lake.create_repository(asked.name, actor=_actor(asked), key=asked.key)).id


async def _delete(lake: Lake, asked: SentRequest) -> str:
    await lake.delete_repository(asked.name, actor=_actor(asked), key=asked.key)
    return ""


def _actor(asked: SentRequest) -> Actor:
    return Actor("ada", "kill/1", asked.request)


_VERBS: dict[str, Callable[[Lake, SentRequest], Awaitable[str]]] = {
    "create": _create,
    "repository": _repository,
    "delete": _delete,
}


async def live(order: Order) -> None:
    store = place.lake_store(order.folder)
    await place.make_lake(store, order.url)
    lakes = [await place.open_lake(store, order.url, lambda text: report.write(Alarmed(text))) for _ in range(_LAKES)]
    await _send_all_again(lakes, order)
    trimming = asyncio.create_task(_trim_always(lakes[0]))
    clients = [Client(lakes[number % _LAKES], order, number) for number in range(_LAKES * _CLIENTS)]
    await asyncio.gather(*(client.work() for client in clients))
    trimming.cancel()
    with suppress(asyncio.CancelledError):
        await trimming
    await _upkeep(lakes[1])
    for lake in lakes:
        await lake.close()


async def _send_all_again(lakes: list[Lake], order: Order) -> None:
    """Through both writers at once: a client that is impatient asks the next server too."""
    keyed = {line.key: line for line in report.read(Path(order.reports)) if isinstance(line, SentRequest) and line.key}
    clients = [Client(lake, order, number) for number, lake in enumerate(lakes, 100)]
    await asyncio.gather(*(client.send(one.verb, one.name, one.key) for client in clients for one in keyed.values()))


async def _trim_always(lake: Lake) -> None:
    while True:
        await (await lake.journal()).trim()
        await CLOCK.sleep(_TRIM_PAUSE_S)


async def _upkeep(lake: Lake) -> None:
    journal = await lake.journal()
    await journal.fresh()
    await journal.checkpoint()
    await journal.trim()


def main() -> None:
    order = msgspec.json.decode(sys.argv[1], type=Order)
    trap = Trap(order)
    failpoints.arm(trap)
    plants.plant(order.plant)
    asyncio.run(live(order))
    report.write(Finished(dict(trap.passed)))


if __name__ == "__main__":
    main()
