"""The cost of one way to do something, over several rounds."""

from collections.abc import Callable
from time import perf_counter


class Cost:
    """`processor` tells the seconds used so far by all who take part."""

    def __init__(self, name: str, processor: Callable[[], float]) -> None:
        self.name = name
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self._processor = processor

    def measure(self, work: Callable[[], object]) -> None:
        before, begun = self._processor(), perf_counter()
        work()
        self.wall.append(perf_counter() - begun)
        self.cpu.append(self._processor() - before)
