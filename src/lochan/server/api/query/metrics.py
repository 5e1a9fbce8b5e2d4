"""What is counted of queries."""


class QueryMetrics:
    """Only one process of a server runs queries, so the last word is the right one; also behind one that was killed."""

    def __init__(self) -> None:
        from prometheus_client import Counter, Gauge

        self._ended = Counter("lochan_queries", "Queries over HTTP that have ended.", ["engine", "state"])
        self._now = Gauge("lochan_queries_now", "Queries over HTTP that run or wait.", multiprocess_mode="mostrecent")
        self._warm = Gauge(
            "lochan_spark_warm", "1 while the server has a Spark session.", multiprocess_mode="mostrecent"
        )
        # The gateways count theirs by the same name.
        self._dropped = Counter("lochan_usage_dropped_rows", "Rows of the log of use that could not be written.")
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
