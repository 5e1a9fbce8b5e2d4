"""The bytes of the last records that a process has folded or appended. A segment that is packed from them need not read
the store."""

from collections.abc import Sequence
from typing import Final

_BYTES_MAX: Final = 16 << 20  # about 1,000 records of 64 small puts each
_READER_BYTES_MAX: Final = 256 << 10  # for a process that has appended nothing yet, and so packs nothing


class RecentRecords:
    """The last records. Only records that the state has folded, link by link, may be added. If there are too many, the
    oldest are forgotten."""

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self._data: dict[int, bytes] = {}  # by number, in order
        self._bytes = 0
        self._bytes_max = min(bytes_max, _READER_BYTES_MAX)
        self._writer_bytes_max = bytes_max

    def begin(self) -> None:
        """Makes room for more records, because this process appends, and will pack what it appends."""
        self._bytes_max = self._writer_bytes_max

    def add(self, number: int, data: bytes) -> None:
        self._data[number] = data
        self._bytes += len(data)
        while self._bytes > self._bytes_max:
            self._forget(next(iter(self._data)))

    def span(self, first: int, last: int) -> Sequence[bytes] | None:
        """Returns the records `first` to `last`, or None unless all of them are here."""
        found = [self._data.get(number) for number in range(first, last + 1)]
        return None if None in found else [data for data in found if data is not None]

    def forget_below(self, number: int) -> None:
        for old in [each for each in self._data if each < number]:
            self._forget(old)

    def _forget(self, number: int) -> None:
        self._bytes -= len(self._data.pop(number))
