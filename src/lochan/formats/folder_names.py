"""Common prefixes of rows that follow each other: found once, and read off from then on.

    rows    0            5           9     12
            a/1 … a/5    b/1 … b/4   c/…   ▏ the next would be here
    names   a/           b/          c/

To find one takes a search; a page of folders is a thousand of them, and folders are listed again and again.
"""

from bisect import bisect_right

NAMES_MAX = 2_048  # of one stretch: 0.3 MB. Pages that follow each other then drop the older half


class FolderNames:
    """A stretch of rows without a gap. A walk that begins inside a folder begins the stretch there."""

    __slots__ = ("_names", "_rows")

    def __init__(self, row: int) -> None:
        self._names: list[str] = []
        self._rows = [row]  # where each begins; the last is behind all of them

    @property
    def end(self) -> int:
        return self._rows[-1]

    def covers(self, row: int) -> bool:
        """Whether the stretch tells of this row, or can be made longer from there on."""
        return self._rows[0] <= row <= self._rows[-1]

    def add(self, name: str, end: int) -> None:
        """The next one, which reaches to this row."""
        if len(self._names) >= NAMES_MAX:
            older = NAMES_MAX // 2
            del self._names[:older], self._rows[:older]
        self._names.append(name)
        self._rows.append(end)

    def read(self, row: int, stop: int, least: int, most: int) -> tuple[list[str], int]:
        """Those from the row on, up to so many that end by `stop`, and the first row behind them. None if the first has
        fewer rows than `least` left. REQUIRES: it covers the row."""
        rows = self._rows
        first = bisect_right(rows, row) - 1
        last = min(bisect_right(rows, stop) - 1, first + most)
        if last <= first or rows[first + 1] - row < least:
            return [], row
        return self._names[first:last], rows[last]
