"""The files of a repository on the store that garbage collection knows, with their kinds and mint numbers.

A file with an unknown form of name is never a candidate. A listing may be stale, and then a file is collected later:
nothing depends on it (G2)."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import NamedTuple

import pyarrow as pa

from lochan.formats.plan_list import PLAN_SCHEMA
from lochan.store.protocol import Stat, Store
from lochan.versioning.workspaces.folder import LOCKS

BATCH = 20_000


class FileKind(NamedTuple):
    folder: str
    name: str
    mint: Callable[[str], str]  # the digits in the rest of the path; anything else is not one of our files


def _first(rest: str) -> str:
    """Returns the mint of `<mint>-<writer>/…`. A workspace's id begins with its mint too, and so does the note that it
    was committed."""
    return rest.removeprefix(f"{LOCKS}/").partition("/")[0].partition("-")[0]


def _second(rest: str) -> str:
    """Returns the mint of `<id>-<mint>.parquet` or `<id>-<mint>-<bytes>.parquet`."""
    return rest.removesuffix(".parquet").partition("-")[2].partition("-")[0]


KINDS = (  # in the order of their folders
    FileKind("aliases/", "aliases", _second),
    FileKind("data/", "data", _first),
    FileKind("metaranges/", "metarange", _second),
    FileKind("ranges/", "range", _second),
    FileKind("runs/", "run", _second),
    FileKind("workspaces/", "workspace", _first),
)


class ListingSpan(NamedTuple):
    """The paths below a repository that are greater than `after` and not greater than `upto`."""

    after: str = ""
    upto: str | None = None  # None if there is no end


EVERYTHING = ListingSpan()


async def list_files(store: Store, repository: str, span: ListingSpan = EVERYTHING) -> AsyncIterator[pa.Table]:
    """Yields tables of PLAN_SCHEMA that follow each other in path order. Only files that have a mint number are
    listed."""
    for kind in KINDS:
        stats: list[Stat] = []
        async with aclosing(_list(store, repository, kind.folder, span)) as found:
            async for stat in found:
                stats.append(stat)
                if len(stats) == BATCH:
                    yield _table(kind, repository, stats)
                    stats = []
        if stats:
            yield _table(kind, repository, stats)


async def list_all(store: Store, repository: str) -> pa.Table:
    """Returns the whole listing as one table."""
    return pa.concat_tables([PLAN_SCHEMA.empty_table(), *[table async for table in list_files(store, repository)]])


async def _list(store: Store, repository: str, folder: str, span: ListingSpan) -> AsyncGenerator[Stat, None]:
    if span.upto is not None and span.upto < folder:
        return
    after = f"{repository}/{span.after}" if span.after > folder else ""
    upto = None if span.upto is None else f"{repository}/{span.upto}"
    async for stat in store.list(f"{repository}/{folder}", after):
        if upto is not None and stat.path > upto:
            return
        yield stat


def _table(kind: FileKind, repository: str, stats: list[Stat]) -> pa.Table:
    skipped, start = len(repository) + 1, len(repository) + 1 + len(kind.folder)
    mints = [kind.mint(stat.path[start:]) for stat in stats]
    if not all(map(str.isdecimal, mints)):
        stats = [stat for stat, mint in zip(stats, mints, strict=True) if mint.isdecimal()]
        mints = [mint for mint in mints if mint.isdecimal()]
    columns = (
        [stat.path[skipped:] for stat in stats],
        [kind.name] * len(stats),
        [stat.size for stat in stats],
        [int(mint) for mint in mints],
        [round(stat.modified * 1e6) for stat in stats],
    )
    arrays = [pa.array(values, field.type) for values, field in zip(columns, PLAN_SCHEMA, strict=True)]
    return pa.table(arrays, PLAN_SCHEMA)
