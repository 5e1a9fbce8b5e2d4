"""Tests whether a store's put-if-absent can be trusted: some stores accept the condition and ignore it.

Everything in the lake depends on this promise, so a store that breaks it is refused before the first write.
"""

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from lochan.clock import Clock
from lochan.errors import AlreadyExists, LochanError, NotFound, Refused, Retry, Transient
from lochan.ids import Ids
from lochan.store.protocol import Store
from lochan.store.retry import settle

CREATORS = 8
ROUNDS = 4
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class ProbeReport:
    url: str
    rounds: int  # races in which the store confirmed one creator
    skew_s: float  # the store's clock minus ours; 0 if no difference can be measured
    latency_s: float  # the median time of a create


class _Answer(Enum):
    WON = "won"
    LOST = "lost"
    DOUBT = "doubt"


async def probe(store: Store, ids: Ids, clock: Clock, *, creators: int = CREATORS, rounds: int = ROUNDS) -> ProbeReport:
    """Tests the store. Raises Refused, with what happened, for a store where a create overwrites or where two creators
    win."""
    race = _Race(store, clock, ids)
    try:
        skew = await race.create_twice()
        clear = sum([await race.run(number, creators) for number in range(rounds)])
    finally:
        await race.clean_up()
    if not clear:
        raise Transient(f"{store.url}: in {rounds} races no creator got a clear answer", hint="is it overloaded?")
    return ProbeReport(store.url, clear, skew, sorted(race.latencies)[len(race.latencies) // 2])


class _Race:
    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._folder = f"_probe/{ids.ksuid(clock.wall())}"
        self._paths: list[str] = []
        self.latencies: list[float] = []

    async def create_twice(self) -> float:
        """Creates a path twice. Returns the clock skew, as seen by the first create."""
        path = self._path("twice")
        before = self._clock.wall() / 1e6
        first = await settle(self._store, path, b"first", self._clock, self._ids, self._clock.boot() + _PATIENCE_S)
        after = self._clock.wall() / 1e6
        answer = await self._create(path, b"second")
        found = await self._read(path)
        if first != b"first" or answer is _Answer.WON or found != b"first":
            raise self._refused(f"{path} was created twice, and holds {found!r} after the first put {first!r}")
        modified = (await self._store.head(path)).modified
        return _outside(modified, before - 1, after + 1)  # S3 reports whole seconds

    async def run(self, number: int, creators: int) -> bool:
        """Runs one race. Returns whether there was a winner. Raises Refused if several creators won, or the bytes are
        not the winner's."""
        import asyncio

        path = self._path(f"race-{number}")
        entries = [f"creator {creator}".encode() for creator in range(creators)]
        answers = await asyncio.gather(*(self._create(path, entry) for entry in entries))
        winners = [entry for entry, answer in zip(entries, answers, strict=True) if answer is _Answer.WON]
        found = await self._read(path)
        if len(winners) > 1:
            raise self._refused(f"of {creators} creators of {path} {len(winners)} were told that they had made it")
        if winners and found != winners[0]:
            raise self._refused(f"{path} holds {found!r} although {winners[0]!r} was told that it had made it")
        return bool(winners)

    async def clean_up(self) -> None:
        for path in self._paths:
            with suppress(LochanError):
                await self._store.delete(path)

    async def _create(self, path: str, data: bytes) -> _Answer:
        start = self._clock.boot()
        try:
            await self._store.put_if_absent(path, data)
        except AlreadyExists:
            return _Answer.LOST
        except Retry:
            return _Answer.DOUBT
        self.latencies.append(self._clock.boot() - start)
        return _Answer.WON

    async def _read(self, path: str) -> bytes | None:
        try:
            return await self._store.get(path)
        except NotFound:
            return None

    def _path(self, name: str) -> str:
        self._paths.append(f"{self._folder}/{name}")
        return self._paths[-1]

    def _refused(self, seen: str) -> Refused:
        return Refused(
            f"{self._store.url} does not keep its promise that an object is created only once: {seen}",
            hint="a lake on it would lose writes; use a store that honours If-None-Match",
        )


def _outside(value: float, low: float, high: float) -> float:
    """Returns how far the value is outside, negative if it is below."""
    return min(value - low, 0.0) or max(value - high, 0.0)
