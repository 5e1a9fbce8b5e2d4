"""The times of a server's S3 requests, by operation: as the server reports them (`/_top`), between two moments, and as
a page for people. The server makes the report, and `lochan top` requests it again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

PHASES: Final = ("signature", "journal", "bodies", "lists", "other")


class OperationTime(msgspec.Struct, frozen=True):
    requests: float
    phases: Mapping[str, float]  # seconds in all
    buckets: Sequence[float] = ()  # how many requests took at most each bound, and longer than the bound before

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())

    def since(self, earlier: OperationTime | None) -> OperationTime:
        if earlier is None:
            return self
        spent = {phase: seconds - earlier.phases.get(phase, 0.0) for phase, seconds in self.phases.items()}
        before = earlier.buckets or [0.0] * len(self.buckets)
        counts = [now - then for now, then in zip(self.buckets, before, strict=True)]
        return OperationTime(self.requests - earlier.requests, spent, counts)

    def quantile(self, share: float, bounds: Sequence[float]) -> float | None:
        """Returns the time that this share of the requests did not exceed, as precisely as the bounds allow. Returns
        None if there were no requests, or if the time is beyond the last bound."""
        wanted = share * sum(self.buckets)
        below, passed = 0.0, 0.0
        for bound, count in zip(bounds, self.buckets, strict=False):
            if count and passed + count >= wanted:
                return below + (bound - below) * (wanted - passed) / count
            below, passed = bound, passed + count
        return None


class ServerTimes(msgspec.Struct, frozen=True):
    span_s: float  # how long the server has counted
    bounds_s: Sequence[float]  # of the buckets, and one more bucket holds the requests that took longer
    operations: Mapping[str, OperationTime]

    def since(self, earlier: ServerTimes) -> ServerTimes:
        """Returns the times between two moments. If the server was restarted in between, only those of the later
        one."""
        if self.span_s < earlier.span_s or tuple(self.bounds_s) != tuple(earlier.bounds_s):
            return self
        found = {name: time.since(earlier.operations.get(name)) for name, time in self.operations.items()}
        return ServerTimes(self.span_s - earlier.span_s, self.bounds_s, found)

    def busiest(self) -> list[tuple[str, OperationTime]]:
        """Returns operations with requests, the one that took most of the time first."""
        operations = (each for each in self.operations.items() if each[1].requests > 0)
        return sorted(operations, key=lambda each: -each[1].seconds)


def page(times: ServerTimes, span: str) -> str:
    """Returns a page for people: each phase is a share of its operation's time."""
    rows: list[tuple[str, ...]] = [("operation", "requests", "a second", "p50 ms", "p99 ms", "ms each", *PHASES)]
    for operation, time in times.busiest():
        seconds = time.seconds
        rows.append(
            (
                operation,
                f"{time.requests:,.0f}",
                _number(time.requests / times.span_s if times.span_s else 0.0),
                _quantile(time, 0.5, times.bounds_s),
                _quantile(time, 0.99, times.bounds_s),
                f"{seconds / time.requests * 1e3:,.2f}",
                *(f"{time.phases.get(phase, 0.0) / (seconds or 1.0):.0%}" for phase in PHASES),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    return "\n".join([f"S3 requests {span}", *lines, ""])


def record(times: ServerTimes) -> dict[str, Any]:
    """Returns the same figures for programs."""
    return {
        "seconds": round(times.span_s, 3),
        "operations": [
            {
                "operation": operation,
                "requests": round(time.requests),
                "requests_per_second": round(time.requests / times.span_s, 3) if times.span_s else None,
                "p50_ms": _ms(time.quantile(0.5, times.bounds_s)),
                "p99_ms": _ms(time.quantile(0.99, times.bounds_s)),
                "mean_ms": _ms(time.seconds / time.requests),
                "phases_seconds": {phase: round(time.phases.get(phase, 0.0), 6) for phase in PHASES},
            }
            for operation, time in times.busiest()
        ],
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 3)


def _quantile(time: OperationTime, share: float, bounds: Sequence[float]) -> str:
    found = time.quantile(share, bounds)
    if found is not None:
        return f"{found * 1e3:,.2f}"
    return f">{bounds[-1] * 1e3:,.0f}" if sum(time.buckets) else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
