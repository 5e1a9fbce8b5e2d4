"""A bloom filter over paths: it answers "certainly not here" without reading a file. Stored on disk: never changes.

The hash is our own, because a library's may change with its version. It reads a path's UTF-8 in words of eight bytes,
so NumPy hashes a million paths in a tenth of a second. Bit number i of a path is `(low + i * high) mod bits`.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

BITS_PER_KEY = 10
_PROBES = 4  # one false alarm in eighty; seven would be the optimum, with one in 120, but twice the work
_WORD = 8
_FACTOR = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio
_ALL = (1 << 64) - 1


def build(hashes: Hashes) -> bytes:
    bits = np.zeros(max(64, -(-len(hashes) * BITS_PER_KEY // 64) * 64), dtype=np.bool_)
    low, high = hashes & np.uint64(0xFFFF_FFFF), hashes >> np.uint64(32)
    for probe in range(_PROBES):
        bits[(low + np.uint64(probe) * high) % np.uint64(len(bits))] = True
    return np.packbits(bits, bitorder="little").tobytes()


def may_hold(bloom: bytes, hashed: int) -> bool:
    """Returns False if no path with this hash was among those that the filter was built from."""
    bits = len(bloom) * 8
    position, step = hashed & 0xFFFF_FFFF, hashed >> 32
    for _ in range(_PROBES):
        at = position % bits
        if not bloom[at >> 3] >> (at & 7) & 1:
            return False
        position += step
    return True


def hash_one(path: str) -> int:
    data = path.encode()
    hashed = len(data)
    for at in range(0, len(data), _WORD):
        hashed = _mix(hashed ^ int.from_bytes(data[at : at + _WORD], "little"))
    return _mix(hashed)


def hash_all(paths: pa.StringArray) -> Hashes:
    """Returns the `hash_one` of each path."""
    offsets = np.frombuffer(paths.buffers()[1], dtype=np.int32)[paths.offset : paths.offset + len(paths) + 1]
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    lengths = np.diff(offsets)
    shortest, longest = int(lengths.min(initial=last - first)), int(lengths.max(initial=0))
    words = _words(paths.buffers()[2], first, last)
    hashed = lengths.astype(np.uint64)
    if 0 < shortest == longest:
        # Paths of one length, as programs often write them, lie side by side: no offset is needed.
        for at in range(0, longest, _WORD):
            hashed = _mixed_all(hashed ^ _cut(words[at::longest][: len(hashed)], longest - at))
        return _mixed_all(hashed)
    starts = offsets[:-1].astype(np.int64) - first
    for at in range(0, shortest - _WORD + 1, _WORD):  # up to there, every path has whole words
        hashed = _mixed_all(hashed ^ words[starts + at])
    rows = np.arange(len(hashed))
    for at in range(max(0, shortest // _WORD * _WORD), longest, _WORD):
        rows = rows[lengths[rows] > at]
        hashed[rows] = _mixed_all(hashed[rows] ^ _cut(words[starts[rows] + at], lengths[rows] - at))
    return _mixed_all(hashed)


def _cut(words: Hashes, left: npt.NDArray[np.int32] | int) -> Hashes:
    """Clears the bytes behind the path's end. `left` is how many bytes of the path are left in each word."""
    missing = np.maximum(0, _WORD - np.asarray(left)).astype(np.uint64) * np.uint64(8)
    return words << missing >> missing if missing.any() else words


def _words(data: pa.Buffer | None, first: int, last: int) -> Hashes:
    """Returns the eight bytes that start at each byte of the data. The bytes behind the last path do not matter, but
    they must exist. The array may be a slice of a longer one, so bytes before `first` are left out."""
    if data is not None and last + _WORD <= data.size:
        return np.ndarray((last - first + 1,), dtype="<u8", buffer=data, offset=first, strides=(1,))
    texts = b"" if data is None else memoryview(data)[first:last]
    return np.ndarray((last - first + 1,), dtype="<u8", buffer=b"".join((texts, bytes(_WORD))), strides=(1,))


def _mix(value: int) -> int:
    value = value * _FACTOR & _ALL
    return value ^ value >> 29


def _mixed_all(values: Hashes) -> Hashes:
    """Changes the values in place, and returns them."""
    values *= np.uint64(_FACTOR)
    values ^= values >> np.uint64(29)
    return values
