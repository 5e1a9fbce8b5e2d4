"""Columns with the place that a row comes from. A read has them if it names them and no row has a field of that name.

_commit    the commit that is read
_path      where the file of its data object lies on the store
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lochan.engines.spark.frames.origin import Origin
from lochan.query.dialects.spark_words import name_sql, quote_text
from lochan.store.open import StoreLocation

COMMIT, PATH = "_commit", "_path"
ORIGIN_COLUMNS = (COMMIT, PATH)


def origin_sql(name: str, place: StoreLocation, origin: Origin) -> str:
    """Returns the SQL for where a row comes from, when a file is scanned. Spark gives the file's name escaped, but an
    address has nothing to escape."""
    if name == COMMIT:
        return f"'{origin.commit}'"
    address = f"regexp_extract(input_file_name(), '{origin.repository}/data/.*$', 0)"
    return f"concat({quote_text(_root(place.of(origin.repository)))}, {address})"


def origin_list(names: Sequence[str], place: StoreLocation, origin: Origin) -> list[str]:
    return [f"{origin_sql(name, place, origin)} AS {name_sql(name)}" for name in names]


def with_origin(
    batch: pa.RecordBatch, names: Sequence[str], place: StoreLocation, commit: str, address: str
) -> pa.RecordBatch:
    """Adds the columns to rows of one object."""
    values = {COMMIT: commit, PATH: f"{_root(place.of(address))}{address}"}
    for name in names:
        batch = batch.append_column(name, pa.repeat(pa.scalar(values[name]), batch.num_rows))
    return batch


def _root(place: StoreLocation) -> str:
    return f"{place.url.removeprefix('file://').rstrip('/')}/"
