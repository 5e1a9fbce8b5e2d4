"""Rows of a simulated pool. No object is ever written: an entry's checksum says what rows it would hold."""

from collections import Counter
from collections.abc import Iterable

from lochan.formats.entry import Entry


def entry(id: int, rows: Iterable[str]) -> Entry:
    text = " ".join(sorted(rows))
    return Entry(f"{id:027d}.parquet", (), len(text), text, text, id)


def rows_of(entries: Iterable[Entry]) -> list[str]:
    return sorted(row for each in entries for row in each.checksum.split())


def merged(base: Iterable[Entry], ours: Iterable[Entry], theirs: Iterable[Entry]) -> list[str]:
    """The rows as an engine computes them."""
    b, o, t = (Counter(rows_of(side)) for side in (base, ours, theirs))
    counts = {row: o[row] if o[row] == t[row] else max(0, o[row] + t[row] - b[row]) for row in sorted(o | t)}
    return [row for row, count in counts.items() for _ in range(count)]
