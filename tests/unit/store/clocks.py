"""A clock that moves only when somebody sleeps, and ids that are the same each time."""

from hashlib import sha256
from itertools import count

from lochan.ids import Ids


class StillClock:
    def __init__(self, wall: int = 1_700_000_000_000_000) -> None:
        self.now = 0.0
        self.start = wall
        self.sleeps: list[float] = []

    def wall(self) -> int:
        return self.start + int(self.now * 1e6)

    def boot(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def counting_ids() -> Ids:
    numbers = count(1)

    def entropy(size: int) -> bytes:
        return sha256(b"%d" % next(numbers)).digest()[:size]

    return Ids(entropy)
