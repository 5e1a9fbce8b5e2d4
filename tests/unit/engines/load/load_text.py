"""Loads texts without a lake and reads the objects back."""

import io
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lochan.engines.duckdb.limits import Limits
from lochan.engines.duckdb.load.load import LoaderOptions
from lochan.engines.duckdb.load.loader import Loader
from lochan.engines.duckdb.load.read_input import read_input
from lochan.engines.duckdb.session import DuckSession
from lochan.formats.pool_settings import PoolSettings
from lochan.ingest.lines import lines
from lochan.ingest.streams import Input
from lochan.pools import decode
from lochan.pools.facts import Facts, from_metadata, to_metadata
from lochan.pools.json_row import Faults
from lochan.pools.settings import parse

LIMITS = Limits(memory_bytes=256 << 20, threads=1)


class Made(NamedTuple):
    facts: Facts
    table: pa.Table

    def rows(self) -> list[dict[str, Any]]:
        return decode.rows(self.table, self.facts.dictionary(), self.facts.layout())

    def ndjson(self) -> bytes:
        return decode.ndjson(self.table, self.facts.dictionary(), self.facts.layout())


def settings(*keys: str, **more: Any) -> PoolSettings:
    return parse(keys, **more)


def load_texts(texts: Sequence[str], pool: PoolSettings, *, faults: Faults | None = None) -> list[Made]:
    return load_bytes("\n".join(texts).encode(), pool, faults=faults)


def load_bytes(data: bytes, pool: PoolSettings, *, faults: Faults | None = None) -> list[Made]:
    with DuckSession(LIMITS, ordered=False) as session:
        loader = Loader(session, pool, faults or Faults())
        for chunk in lines("x.ndjson", io.BytesIO(data)):
            loader.take(chunk)
        return _made(loader)


def load_file(name: str, data: bytes, pool: PoolSettings, how: LoaderOptions | None = None) -> list[Made]:
    """Loads a file of this name, by its format."""
    how = how or LoaderOptions()
    with DuckSession(LIMITS, ordered=False) as session:
        loader = Loader(session, pool, Faults(how.on_error))
        read_input(loader, Input(name, lambda: io.BytesIO(data)), how)
        return _made(loader)


def load_rows(rows: Any, pool: PoolSettings) -> list[Made]:
    with DuckSession(LIMITS, ordered=False) as session:
        loader = Loader(session, pool, Faults())
        loader.take_rows(rows)
        return _made(loader)


def load_batches(batches: Iterable[pa.RecordBatch], pool: PoolSettings) -> list[Made]:
    """Loads one after the other, in a session that keeps their order."""
    with DuckSession(LIMITS) as session:
        loader = Loader(session, pool, Faults())
        for each in batches:
            loader.take_batch(each)
        return _made(loader)


def _made(loader: Loader) -> list[Made]:
    return [
        Made(from_metadata(to_metadata(each.facts)), pq.read_table(each.file, partitioning=None))
        for each in loader.objects()
    ]
