"""What a server tells of itself to Prometheus. Every process counts for itself, in files that one of them adds up."""

import os
from pathlib import Path
from typing import Final

FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"  # the library's own; set before it is imported


def use_folder(folder: Path) -> None:
    """For this process and those it starts."""
    os.environ[FOLDER_VARIABLE] = str(folder)


class Metrics:
    def __init__(self) -> None:
        from prometheus_client import Counter, Histogram

        self._requests = Counter("lochan_s3_requests", "S3 requests by operation and status.", ["operation", "status"])
        self._seconds = Histogram(
            "lochan_s3_seconds",
            "Seconds from the arrival of an S3 request to its answer.",
            ["operation"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
        )
        self._sent = Counter("lochan_s3_sent_bytes", "Bytes of bodies that went out.")
        self._usage_dropped = Counter("lochan_usage_dropped_rows", "Rows of the log of use that could not be written.")
        # Looking a label up costs more than counting.
        self._by_label: dict[tuple[str, int], Counter] = {}
        self._by_operation: dict[str, Histogram] = {}

    def usage_dropped(self, rows: int) -> None:
        self._usage_dropped.inc(rows)

    def answered(self, operation: str, status: int, seconds: float, sent_bytes: int) -> None:
        counter = self._by_label.get((operation, status))
        if counter is None:
            counter = self._by_label[operation, status] = self._requests.labels(operation, str(status))
        histogram = self._by_operation.get(operation)
        if histogram is None:
            histogram = self._by_operation[operation] = self._seconds.labels(operation)
        counter.inc()
        histogram.observe(seconds)
        if sent_bytes:
            self._sent.inc(sent_bytes)


def exposition() -> bytes:
    """Of all processes, in Prometheus' text form."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
