"""Takes a random sample of rows whose number is not known before the last one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Numbers = npt.NDArray[np.int64]
_Hashes = npt.NDArray[np.uint64]


class Reservoir(Generic[T]):
    """Each row has a hash of its position, and the rows with the least hashes are kept: `size` to twice as many. So
    every row is equally likely to be kept, and a task that is tried again finds the same sample."""

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size = max(1, size)
        self._seed = seed
        self._rows = 0
        self._limit = np.uint64((1 << 64) - 1)
        self._hashes: _Hashes = np.empty(0, dtype=np.uint64)
        self._items: list[T] = []
        self._next: _Hashes = self._hashes

    def choose(self, count: int) -> Numbers:
        """Chooses among the next `count` rows. Returns the numbers of the chosen ones, from 0."""
        self._next = mix_numbers(np.arange(self._rows, self._rows + count, dtype=np.uint64), self._seed)
        self._rows += count
        wanted = np.concatenate([self._hashes, self._next[self._next < self._limit]])
        if len(wanted) > 2 * self._size:
            self._limit = np.partition(wanted, self._size)[self._size]
            kept = np.flatnonzero(self._hashes < self._limit)
            self._hashes, self._items = self._hashes[kept], [self._items[number] for number in kept.tolist()]
        return np.flatnonzero(self._next < self._limit)

    def add(self, numbers: Numbers, items: Iterable[T]) -> None:
        """Adds what to keep of rows that were chosen just now. Some of them may be left out."""
        self._hashes = np.concatenate([self._hashes, self._next[numbers]])
        self._items += items

    def items(self) -> list[T]:
        return self._items


def mix_numbers(values: _Hashes, seed: int = 0) -> _Hashes:
    """Returns a hash of each number, by SplitMix64."""
    with np.errstate(over="ignore"):
        found = (values + np.uint64(seed + 1)) * np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        last: _Hashes = found ^ (found >> np.uint64(31))
    return last
