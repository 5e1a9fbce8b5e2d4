"""A set of paths that takes eight bytes for each: their hashes.

A path that is not in the set may have the hash of one that is, once in 10^12 lookups in a set of ten million. Then a
dead file is kept, until a plan hashes with another seed. No live file is ever taken for a dead one."""

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
_LOOSE_MAX = 1 << 20  # hashes that are not in order yet


def hashes(paths: pa.Array | pa.ChunkedArray, seed: int) -> Hashes:
    found: Hashes = pl.Series(paths).hash(seed).to_numpy()
    return found


class MarkSet:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._sorted: Hashes = np.empty(0, np.uint64)
        self._loose: list[Hashes] = []
        self._count = 0

    def add(self, paths: pa.Array | pa.ChunkedArray) -> None:
        if len(paths):
            self._loose.append(hashes(paths, self.seed))
            self._count += len(paths)
            if self._count > max(_LOOSE_MAX, len(self._sorted)):
                self._sort()

    def has(self, paths: pa.Array | pa.ChunkedArray) -> Mask:
        """Returns for each path whether it is in the set."""
        self._sort()
        if not len(self._sorted) or not len(paths):
            return np.zeros(len(paths), np.bool_)
        wanted = hashes(paths, self.seed)
        places = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        found: Mask = self._sorted[places] == wanted
        return found

    def _sort(self) -> None:
        if self._loose:
            self._sorted = np.unique(np.concatenate([self._sorted, *self._loose]))
            self._loose, self._count = [], 0
