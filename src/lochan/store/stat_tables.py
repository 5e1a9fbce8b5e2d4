"""A store's listing as Arrow tables, for listings of millions: a Python object for each would cost more than all the
work with it.

`stat_tables` works with every store. Those that can list tables themselves have the capability `TableLists`; wrappers
that repeat or count requests have it too, and pass on the tables of the store inside."""

from collections.abc import AsyncIterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lochan.store.capabilities import TableLists, capability
from lochan.store.protocol import Stat, Store, check_path

# The columns are those of `Stat`. `mtime` is in microseconds since 1970.
STAT_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime", pa.int64(), nullable=False),
        pa.field("etag", pa.string(), nullable=False),
    ]
)
_ROWS = 10_000  # the rows of one table: 1 MB


async def stat_tables(store: Store, prefix: str = "", after: str = "") -> AsyncIterator[pa.Table]:
    """Yields the objects of `store.list`, in the same order, as tables of STAT_SCHEMA; none is empty."""
    lists = capability(store, TableLists)
    if lists is not None:
        async for table in lists.list_tables(prefix, after):
            yield table
        return
    stats: list[Stat] = []
    async for stat in store.list(prefix, after):
        stats.append(stat)
        if len(stats) == _ROWS:
            yield table_of_stats(stats)
            stats = []
    if stats:
        yield table_of_stats(stats)


def table_of_stats(stats: Sequence[Stat]) -> pa.Table:
    """Returns the objects as a table. Raises Invalid for a path that is not valid Unicode."""
    try:
        paths = pa.array([stat.path for stat in stats], pa.string())
    except UnicodeEncodeError:
        for stat in stats:
            check_path(stat.path)
        raise
    return pa.table(
        [
            paths,
            pa.array([stat.size for stat in stats], pa.int64()),
            pa.array([int(stat.modified * 1e6) for stat in stats], pa.int64()),
            pa.array([stat.etag for stat in stats], pa.string()),
        ],
        schema=STAT_SCHEMA,
    )


def under(page: pa.Table, prefix: str, after: str) -> pa.Table:
    """Returns the rows that a listing of `prefix` after `after` shows."""
    paths = page["path"]
    shown = pc.and_(pc.starts_with(paths, prefix), pc.greater(paths, after))
    return page if pc.all(shown).as_py() else page.filter(shown)
