"""Several simulated processes on one store, in this process. Each lake folds by itself and has its own connection to
the store, which may fail while those of the others work. The clock never waits, so deadlines pass at once.
"""

import asyncio
import random
from collections.abc import Callable
from typing import NamedTuple

from lochan.access.state import AccessState
from lochan.formats import lake_file
from lochan.ids import Ids
from lochan.journal.journal import Settings
from lochan.journal.open import Journals
from lochan.lake import LAKE_JOURNAL, Lake, LakeOptions
from lochan.store.memory import MemoryStore
from lochan.store.open import stack
from lochan.store.protocol import Store
from lochan.store.threads import Threads
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import Repositories
from lochan.versioning.upkeep import StagingUpkeep
from tests.model.versioned.requests import FOLDERS, Request
from tests.model.versioned.verbs import ANN, TINY, play
from tests.store_faults import FITTING, FaultStore, LatencyStore, StoreFault

LAKES = 3
_DAY_S = 86_400.0
_GROUP = 8  # records of a segment: so few that a short workload passes all that a journal does in a year
_SETTINGS = Settings(writer="model", patience_s=3.0, checkpoint_every=5)
_RETRY_S = 3.0
_TURNS = 8  # for so many turns of the event loop, at most, a sleeper or a call of the store leaves others alone


async def at_once(threads: Threads, work: Callable[..., object], *arguments: object) -> object:
    """Replaces a thread, which would run at any time: then no workload could be replayed."""
    await asyncio.sleep(0)
    return work(*arguments)


class Clock:
    """A clock that stands still, except for sleepers and for those who set it. Chance decides who wakes up first."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._now = 0.0
        self._ticks = 0

    def wall(self) -> int:
        self._ticks += 1
        return 1_790_000_000_000_000 + int(self._now * 1e6) + self._ticks

    def boot(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += seconds
        for _ in range(self._random.randrange(_TURNS)):
            await asyncio.sleep(0)

    def pass_days(self, days: float) -> None:
        self._now += days * _DAY_S


class Storm(NamedTuple):
    wait: int  # calls that are still answered
    appends: bool  # only those count that create something: the storm begins when a record is on its way
    length: int
    fault: StoreFault


_OF_READS = (StoreFault.SHORT, StoreFault.CORRUPT, StoreFault.HIDDEN)
CALM = Storm(0, False, 0, StoreFault.UNAVAILABLE)


class Weather:
    """The faults on one lake's connection to the store."""

    def __init__(self) -> None:
        self.storm = CALM

    def choose(self, verb: str, path: str) -> StoreFault | None:
        wait, appends, left, fault = self.storm
        counts = not appends or verb == "put_if_absent"
        if not left or not counts:
            return None
        if wait:
            self.storm = self.storm._replace(wait=wait - 1)
            return None
        self.storm = self.storm._replace(appends=False, length=left - 1)
        if fault is StoreFault.HIDDEN and verb != "list":
            return None  # a store must promise at least that a file is found by its name
        if fault is StoreFault.CORRUPT and ("/data/" in path or "/workspaces/" in path):
            return None  # of bytes that others wrote there is nothing yet to compare them with
        if fault in FITTING[verb]:
            return fault
        return None if fault in _OF_READS else StoreFault.UNAVAILABLE


class Place:
    def __init__(self, seed: int, alarm: Callable[[str], None]) -> None:
        self.clock = Clock(seed)
        self.weather = [Weather() for _ in range(LAKES)]
        self.repositories: list[OpenRepository] = []
        self._ids = Ids(random.Random(seed).randbytes)
        self._store = MemoryStore(clock=self.clock)
        self._outside = MemoryStore(clock=self.clock)
        self._alarm = alarm
        self._lakes: list[Lake] = []

    async def make(self) -> None:
        for url, files in FOLDERS.items():
            for path, data in files.items():
                await self._outside.put(url.removeprefix("s3://out/") + path, data.encode())
        lake = await Lake.create(self._store, clock=self.clock, ids=self._ids)
        await lake.create_repository("demo-repo", actor=ANN)
        await _begin(await lake.open_repository("demo-repo"))
        await lake.close()
        for number in range(LAKES):
            self._lakes.append(await self._opened(number))
            self.repositories.append(await self._lakes[number].open_repository("demo-repo"))

    async def restart(self, number: int, *, gently: bool, upkeep: bool) -> None:
        """Another process in its place. What the old one had in memory is gone, unless it could end in peace."""
        self.weather[number].storm = CALM
        if gently:
            await self.repositories[number].close()
            await self._lakes[number].close()
        self._lakes[number] = await self._opened(number)
        opened = await self._lakes[number].open_repository("demo-repo")
        if upkeep:  # which compacts behind every write
            behind = StagingUpkeep(opened, TINY)
            opened.staged, opened.closing = behind.touched, behind.close
        self.repositories[number] = opened

    async def keep_up(self, number: int, days: float) -> None:
        """Nightly upkeep of a lake: a checkpoint, segments, and deletion of slots that are old enough."""
        self.clock.pass_days(days)
        journal = self.repositories[number].journal
        await journal.fresh()
        await journal.checkpoint()
        await journal.trim()

    async def close(self) -> None:
        for number in range(LAKES):
            self.weather[number].storm = CALM
            await self.repositories[number].close()
            await self._lakes[number].close()

    async def _opened(self, number: int) -> Lake:
        slow = LatencyStore(self._store, self.clock, lambda verb: 0.0001)
        faulty = FaultStore(slow, self.clock, self.weather[number].choose)
        store: Store = stack(faulty, clock=self.clock, ids=self._ids, retry_s=_RETRY_S)
        file = lake_file.decode(await store.get(lake_file.PATH), store.url)
        journals = Journals(store, file, "", self.clock, self._ids, _SETTINGS, self._alarm, group=_GROUP)
        own = await journals.open(LAKE_JOURNAL, (Repositories, AccessState))
        return Lake(store, file, journals, own, self.clock, self._ids, LakeOptions(lambda url: self._outside))


async def _begin(repository: OpenRepository) -> None:
    """A little history, so that a workload need not begin with its making."""
    for number, words in enumerate(_BEGINNING):
        answer = await play(repository, Request(*words), f"begin {number}")
        assert not answer.kind, (words, answer)
    await repository.close()


_BEGINNING: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("put_many", ("main", {"a": "0", "a/b": "0", "z": "0"})),
    ("commit", ("main", (), False)),
    ("create_branch", ("dev", "main")),
    ("create_branch", ("other", "main")),
    ("put_many", ("dev", {"a": "1", "b": "1"})),
    ("commit", ("dev", (), False)),
)
