"""The files of a repository on the store that garbage collection knows, with their kinds and mint numbers.

A file whose name it does not understand is never a candidate. A listing may be stale, and then a file is collected
later: nothing depends on it (G2).
"""

from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from lochan.formats.plan_list import PLAN_SCHEMA
from lochan.store.protocol import Store
from lochan.versioning.workspaces.folder import LOCKS


class FileKind(NamedTuple):
    folder: str
    name: str
    mint: Callable[[str], str]  # the digits in the rest of the path; anything else: it is not one of ours


def _first(rest: str) -> str:
    """`<mint>-<writer>/…`; a workspace's id begins with its mint too, and so does the note that it was committed."""
    return rest.removeprefix(f"{LOCKS}/").partition("/")[0].partition("-")[0]


def _second(rest: str) -> str:
    """`<id>-<mint>.parquet` or `<id>-<mint>-<bytes>.parquet`"""
    return rest.removesuffix(".parquet").partition("-")[2].partition("-")[0]


KINDS = (
    FileKind("aliases/", "aliases", _second),
    FileKind("data/", "data", _first),
    FileKind("metaranges/", "metarange", _second),
    FileKind("ranges/", "range", _second),
    FileKind("runs/", "run", _second),
    FileKind("workspaces/", "workspace", _first),
)


async def list_files(store: Store, repository: str) -> pa.Table:
    """PLAN_SCHEMA, sorted by path; only files that have a mint number."""
    rows: list[tuple[str, str, int, int, int]] = []
    for kind in KINDS:
        prefix = f"{repository}/{kind.folder}"
        async for stat in store.list(prefix):
            mint = kind.mint(stat.path[len(prefix) :])
            if mint.isdecimal():
                path = stat.path[len(repository) + 1 :]
                rows.append((path, kind.name, stat.size, int(mint), round(stat.modified * 1e6)))
    columns = zip(*rows, strict=True) if rows else ([] for _ in PLAN_SCHEMA)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, PLAN_SCHEMA, strict=True)], PLAN_SCHEMA
    )
