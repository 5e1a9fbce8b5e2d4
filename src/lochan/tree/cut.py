"""Where one range ends and the next begins. Everybody's trees are cut by it: never changes for a format version.

A range ends after a path whose hash divides by `modulus`, once it has `least` entries; at `most` entries it ends
whatever the hash; and it ends where the tree does. The paths alone decide, so equal trees have equal ranges, however
they came about; and as only the entries since the last cut count, an insert or a delete moves the cuts behind it no
further than to the next one that both sides make.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lochan.formats import bloom

_AT_ONCE = 16_384  # paths hashed together: much smaller ones would cost more calls, much larger ones hash in vain


@dataclass(frozen=True, slots=True)
class RangeCut:
    least: int
    modulus: int
    most: int

    def first(self, paths: pa.StringArray) -> int:
        """The first row whose path has a hash that divides; -1: none has."""
        for low in range(0, len(paths), _AT_ONCE):
            hashes = bloom.hash_all(_alone(paths[low : low + _AT_ONCE]))
            found = np.flatnonzero(hashes % np.uint64(self.modulus) == 0)
            if len(found):
                return low + int(found[0])
        return -1

    def first_of(self, paths: pa.StringArray, rows: npt.NDArray[np.int64]) -> int:
        """The same, where only these rows can have one."""
        found = self.first(paths.take(pa.array(rows)))
        return -1 if found < 0 else int(rows[found])

    def untested(self, row: int) -> int:
        """From that row of a range on: how many it was too short to end after, whatever their hash."""
        return max(0, self.least - 1 - row)

    def closes(self, path: str, count: int) -> bool:
        """Whether a range of `count` entries ends after `path` by itself, not only because the tree does."""
        return count == self.most or (count >= self.least and bloom.hash_one(path) % self.modulus == 0)


def _alone(paths: pa.StringArray) -> pa.StringArray:
    """The same, with no texts before the first: they may be a slice of very many."""
    if not len(paths):
        return paths
    _, offsets, data = paths.buffers()
    ends = np.frombuffer(offsets, np.int32)[paths.offset : paths.offset + len(paths) + 1]
    if data is None or not ends[0]:
        return paths
    return pa.StringArray.from_buffers(
        len(paths), pa.py_buffer(ends - ends[0]), data.slice(int(ends[0]), int(ends[-1] - ends[0]))
    )


# On the average 50,000: 25,000 and then one path in 25,000; one range in a hundred and fifty is cut at the most. A
# smaller `least` makes sizes vary more, so that the ranges that are hit are larger; a greater one makes cuts move
# further. See docs/formats/tree.md for the measurements.
STANDARD = RangeCut(25_000, 25_000, 150_000)
# Of pools: 1,000 on the average. An entry of theirs is a kilobyte or two, and each load is a commit that rewrites the
# last range, where new ids come. With 20,000 objects there, to load one more took 0.28 s of processor time; now 0.02 s.
POOLS = RangeCut(500, 500, 3_000)
