"""Small tables and medians."""

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    texts = [list(head), *([_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(head))]
    print(f"\n{title}")
    for row in texts:
        cells = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        print("  " + "  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip())


def seconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


def middle(values: Sequence[float]) -> float:
    return median(values)


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
