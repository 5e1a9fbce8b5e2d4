"""Reports the metrics of a server to Prometheus. Every process counts for itself, in files that one of them adds up.

An answer is counted in plain numbers, which go to the files together, several times a second, because a count in a file
takes longer than finding the object.
"""

import asyncio
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Final

from lochan.api.server_times import OperationTime
from lochan.server.phases import MEASURED, OTHER

FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"  # the library's own; it must be set before the import
FLUSH_S: Final = 0.1

BOUNDS_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)


def use_folder(folder: Path) -> None:
    """Sets the folder of the metrics for this process and those it starts."""
    os.environ[FOLDER_VARIABLE] = str(folder)


class _Tally:
    """Answers of one operation and status that are not in the files yet."""

    __slots__ = ("buckets", "seconds", "sent")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_S) + 1)  # how many requests took so long
        self.seconds = 0.0
        self.sent = 0


class Metrics:
    """The metrics of S3 requests. They are used on the event loop."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Histogram

        self._requests = Counter("lochan_s3_requests", "S3 requests by operation and status.", ["operation", "status"])
        self._seconds = Histogram(
            "lochan_s3_seconds",
            "Seconds from the arrival of an S3 request to its answer.",
            ["operation"],
            buckets=BOUNDS_S,
        )
        self._sent = Counter("lochan_s3_sent_bytes", "Bytes of bodies that went out.")
        self._phases = Counter(
            "lochan_s3_phase_seconds",
            "Seconds that S3 requests spent, by operation and phase: signature, journal, bodies, lists, other.",
            ["operation", "phase"],
        )
        self._usage_dropped = _usage_dropped_rows()
        self._tallies: dict[tuple[str, int], _Tally] = {}
        self._flushing: asyncio.TimerHandle | None = None

    def usage_dropped(self, rows: int) -> None:
        self._usage_dropped.inc(rows)

    def answered(self, operation: str, status: int, seconds: float, sent_bytes: int) -> None:
        tally = self._tallies.get((operation, status))
        if tally is None:
            tally = self._tallies[operation, status] = _Tally()
        tally.buckets[bisect_left(BOUNDS_S, seconds)] += 1
        tally.seconds += seconds
        tally.sent += sent_bytes
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def spent(self, seconds: Mapping[str, float], phases: Mapping[str, Sequence[float]]) -> None:
        """Counts, by operation, the seconds of answered requests, and the part of them that each phase took. REQUIRES:
        both are of the same requests."""
        for operation, total in seconds.items():
            measured = phases.get(operation, ())
            other = max(0.0, total - sum(measured))
            for phase, spent in zip(MEASURED, measured, strict=False):
                if spent > 0:
                    self._phases.labels(operation, phase).inc(spent)
            self._phases.labels(operation, OTHER).inc(other)

    def flush(self) -> None:
        """Adds the tallies to the files. It is also called at the end."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        tallies, self._tallies = self._tallies, {}
        for (operation, status), tally in tallies.items():
            self._requests.labels(operation, str(status)).inc(sum(tally.buckets))
            self._sent.inc(tally.sent)
            _add_tally(self._seconds.labels(operation), tally)


def exposition() -> bytes:
    """Returns the metrics of all processes, in Prometheus' text form."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def operation_times() -> dict[str, OperationTime]:
    """Returns the times of all processes since the server was started."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    requests: dict[str, float] = defaultdict(float)
    phases: dict[str, dict[str, float]] = defaultdict(dict)
    at_most: dict[str, dict[float, float]] = defaultdict(dict)  # how many requests took no longer than each bound
    for family in registry.collect():
        for sample in family.samples:
            if sample.name == "lochan_s3_requests_total":
                requests[sample.labels["operation"]] += sample.value
            elif sample.name == "lochan_s3_phase_seconds_total":
                phases[sample.labels["operation"]][sample.labels["phase"]] = sample.value
            elif sample.name == "lochan_s3_seconds_bucket":
                at_most[sample.labels["operation"]][float(sample.labels["le"])] = sample.value
    return {
        operation: OperationTime(count, phases[operation], _buckets(at_most[operation]))
        for operation, count in requests.items()
    }


def _buckets(at_most: Mapping[float, float]) -> list[float]:
    """Returns how many requests are in each bucket alone. Prometheus adds each bucket to those above it."""
    counts = [at_most.get(bound, 0.0) for bound in (*BOUNDS_S, inf)]
    return [count - below for count, below in zip(counts, [0.0, *counts], strict=False)]


def _add_tally(histogram: Any, tally: _Tally) -> None:
    """Adds a tally as so many calls of `observe` would; the library has no function for several at once."""
    histogram._sum.inc(tally.seconds)
    for bucket, count in zip(histogram._buckets, tally.buckets, strict=True):
        if count:
            bucket.inc(count)


@cache
def _usage_dropped_rows() -> Any:
    """Returns one counter for the whole process, because the gateway and the API count together."""
    from prometheus_client import Counter

    return Counter("lochan_usage_dropped_rows", "Rows of the log of use that could not be written.")


class UpkeepMetrics:
    """The metrics of the process that does the upkeep of the lake."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Gauge

        self._runs = Counter("lochan_upkeep_runs", "Runs of tasks of upkeep.", ["task", "state"])
        self._seconds = Counter("lochan_upkeep_seconds", "Seconds that tasks of upkeep took.", ["task"])
        self._damaged = Gauge(
            "lochan_damaged_files",
            "Files that scrubs have found damaged.",
            ["repository"],
            multiprocess_mode="mostrecent",
        )

    def ran(self, task: str, failures: int, seconds: float) -> None:
        self._runs.labels(task, "failed" if failures else "done").inc()
        self._seconds.labels(task).inc(seconds)

    def damaged(self, repository: str, files: int) -> None:
        self._damaged.labels(repository).set(files)


class QueryMetrics:
    """The metrics of queries. Only one process of a server runs queries, so the most recent value is right, even after
    a process was killed."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Gauge

        self._ended = Counter("lochan_queries", "Queries over HTTP that have ended.", ["engine", "state"])
        self._now = Gauge("lochan_queries_now", "Queries over HTTP that run or wait.", multiprocess_mode="mostrecent")
        self._warm = Gauge(
            "lochan_spark_warm", "1 while the server has a Spark session.", multiprocess_mode="mostrecent"
        )
        self._dropped = _usage_dropped_rows()
        self._count = 0
        self._now.set(0)
        self._warm.set(0)

    def begun(self) -> None:
        self._count += 1
        self._now.set(self._count)

    def ended(self, engine: str, state: str) -> None:
        self._count -= 1
        self._now.set(self._count)
        self._ended.labels(engine, state).inc()

    def usage_dropped(self, rows: int) -> None:
        self._dropped.inc(rows)

    def warm(self, is_warm: bool) -> None:
        self._warm.set(int(is_warm))
