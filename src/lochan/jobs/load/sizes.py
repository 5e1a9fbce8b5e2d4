"""Divides a load into work: splits of files, which one task reads, and parts of the key, which one task sorts.

docs/design/0008-spark-at-scale.md has the arithmetic."""

from __future__ import annotations

from typing import NamedTuple

from lochan.ingest.lines import CHUNK_BYTES

_OBJECTS = 4  # a part has this many bytes of text for each byte of an object, because objects are packed
_PART_BYTES_MAX = 1 << 30
_PART_BYTES_MIN = 8 << 20  # a smaller part is not worth a task: starting one costs PySpark 0.15 s
_PARTS_MAX = 8_192
_SPLIT_BYTES_MIN, _SPLIT_BYTES_MAX = 16 << 20, 128 << 20
_SPLITS = 20_000  # beyond this many, splits get larger: each has a block for every part in the shuffle
_SPOTS_MIN, _SPOTS = 64, 16  # spots for each part at which its keys are sampled
_RECORD_BYTES = 16 << 10  # bytes of the rows that go from one chunk to one part, if memory allows


class LoadSizes(NamedTuple):
    """The amount of work of one task. 0 means the best value."""

    part_bytes: int = 0  # bytes of rows, as text
    split_bytes: int = 0  # bytes of files

    def splits(self, files_bytes: int, parallel: int) -> int:
        """Returns the size of a split."""
        if self.split_bytes:
            return self.split_bytes
        most = max(_SPLIT_BYTES_MAX, files_bytes // _SPLITS)
        return max(_SPLIT_BYTES_MIN, min(files_bytes // parallel, most))

    def parts(self, rows_bytes: int, object_bytes: int, parallel: int) -> int:
        """Returns the number of parts."""
        size = self.part_bytes or max(_PART_BYTES_MIN, min(_OBJECTS * object_bytes, _PART_BYTES_MAX))
        least = min(size, _PART_BYTES_MIN)
        return min(max(1, -(-rows_bytes // size), min(parallel, rows_bytes // least)), _PARTS_MAX)


DEFAULT_SIZES = LoadSizes()


def spots_for(parts: int) -> int:
    return max(_SPOTS_MIN, _SPOTS * parts)


def gathered_bytes(parts: int, memory_bytes: int) -> int:
    """Returns how many bytes of rows are cut into records at a time."""
    return max(CHUNK_BYTES, min(parts * _RECORD_BYTES, memory_bytes // 4))
