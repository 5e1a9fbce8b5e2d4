"""Why nothing names a file any more, and where it was: as far as its name and the trees of expired commits tell.

Only what is certain is said. A file that no commit had may have been overwritten before a commit, or its writer may
have died before it named it: a plan does not tell these apart.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.plan_list import LIST_SCHEMA, DeadTotal
from lochan.versioning.collection.mark_set import Hashes, hashes

EXPIRED = "expired"  # only commits that have expired name it
UNCOMMITTED = "uncommitted"  # no commit had it: it was overwritten or deleted while staged, or nothing ever named it
WORKSPACE = "workspace"  # a file of a workspace that is closed, and that no commit names
METADATA = "metadata"  # a run, range or metarange that others have replaced, or whose commit did not land
DELETED = "deleted"  # a file of a repository that was deleted
UNKNOWN = ""  # in old lists
MEANINGS = {
    EXPIRED: "only expired commits name it",
    UNCOMMITTED: "no commit had it: overwritten or deleted while staged, or never named",
    WORKSPACE: "left by a closed workspace",
    METADATA: "replaced metadata",
    DELETED: "of a deleted repository",
    UNKNOWN: "unknown",
}

DEPTH = 2  # folders of a logical path
OTHERS = "…"  # stands for all prefixes that are not told
TOTALS_MAX = 10_000
_FOLDER = rf"^((?:[^/]*/){{1,{DEPTH}}})"
_IN_ADDRESS = r"^(?:data/[^/]+/[^/]+|workspaces/[^/]+)/(.+)$"
_BY_KIND = {"data": UNCOMMITTED, "workspace": WORKSPACE}


def folders_of(paths: pa.Array | pa.ChunkedArray) -> pl.Series:
    """The first folders of logical paths; empty for those that are in none."""
    return pl.Series(paths).str.extract(_FOLDER).fill_null("")


class ExpiredNames:
    """Which paths of files the trees of expired commits name, and under which folder: twelve bytes for each."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._parts: list[tuple[Hashes, npt.NDArray[np.int32]]] = []
        self._codes: dict[str | None, int] = {}
        self._sorted: tuple[Hashes, npt.NDArray[np.int32]] | None = None

    def add(self, paths: pa.Array, folders: pl.Series | None = None) -> None:
        """`folders` are None for files of metadata, which have no logical path."""
        if not len(paths):
            return
        if folders is None:
            codes = np.full(len(paths), self._code(None), np.int32)
        else:
            unique = folders.unique(maintain_order=True)
            known = {folder: self._code(folder) for folder in unique.to_list()}
            codes = folders.replace_strict(known, return_dtype=pl.Int32).to_numpy()
        self._parts.append((hashes(paths, self._seed), codes))
        self._sorted = None

    def find(self, paths: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[np.bool_], pa.Array]:
        """For each path, whether it is named, and its folder."""
        known, codes = self._in_order()
        if not len(known) or not len(paths):
            return np.zeros(len(paths), np.bool_), pa.nulls(len(paths), pa.string())
        wanted = hashes(paths, self._seed)
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found = known[places] == wanted
        names = pa.array([*self._codes], pa.string())
        return found, names.take(pa.array(codes[places], mask=~found))

    def _code(self, folder: str | None) -> int:
        return self._codes.setdefault(folder, len(self._codes))

    def _in_order(self) -> tuple[Hashes, npt.NDArray[np.int32]]:
        if self._sorted is None:
            parts = self._parts or [(np.empty(0, np.uint64), np.empty(0, np.int32))]
            known = np.concatenate([each for each, _ in parts])
            unique, first = np.unique(known, return_index=True)
            codes = np.concatenate([each for _, each in parts])[first]
            self._parts = [(unique, codes)]
            self._sorted = unique, codes
        return self._sorted


def explained(dead: pa.Table, expired: ExpiredNames) -> pa.Table:
    """LIST_SCHEMA."""
    found, folders = expired.find(dead["path"])
    kinds = pl.Series(dead["kind"])
    why = kinds.replace_strict(_BY_KIND, default=METADATA, return_dtype=pl.String)
    why = pl.select(pl.when(pl.Series(found)).then(pl.lit(EXPIRED)).otherwise(why)).to_series()
    inside = pl.Series(dead["path"]).str.extract(_IN_ADDRESS)
    own = pl.select(
        pl.when(inside.is_not_null()).then(inside.str.extract(_FOLDER).fill_null("")).otherwise(None)
    ).to_series()
    prefix = pc.coalesce(folders, own.cast(pl.String).to_arrow().cast(pa.string()))
    columns = [*dead.columns, why.to_arrow().cast(pa.string()), prefix]
    return pa.table(columns, LIST_SCHEMA)


def totals_of(listed: pa.Table) -> pa.Table:
    """Files and bytes for each kind, reason and prefix."""
    grouped = listed.group_by(["kind", "why", "prefix"]).aggregate([("size", "count"), ("size", "sum")])
    return grouped.rename_columns(TOTALS_SCHEMA.names).cast(TOTALS_SCHEMA)


def added_totals(tables: Iterable[pa.Table], most: int = TOTALS_MAX) -> pa.Table:
    """One of all, the largest first. Prefixes beyond the most are summed up."""
    found = [each for each in tables if len(each)]
    if not found:
        return TOTALS_SCHEMA.empty_table()
    total = _summed(pa.concat_tables(found))
    if len(total) > most:
        kept, rest = total.slice(0, most), total.slice(most)
        others = rest.set_column(2, TOTALS_SCHEMA.field(2), pa.array([OTHERS] * len(rest), pa.string()))
        total = pa.concat_tables([kept, _summed(others)])
    return total


TOTALS_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string()),
        pa.field("why", pa.string()),
        pa.field("prefix", pa.string()),
        pa.field("files", pa.int64()),
        pa.field("bytes", pa.int64()),
    ]
)


def _summed(table: pa.Table) -> pa.Table:
    grouped = table.group_by(["kind", "why", "prefix"]).aggregate([("files", "sum"), ("bytes", "sum")])
    named = grouped.rename_columns(TOTALS_SCHEMA.names).cast(TOTALS_SCHEMA)
    return named.sort_by([("bytes", "descending"), ("files", "descending"), ("kind", "ascending")])


def as_totals(table: pa.Table) -> tuple[DeadTotal, ...]:
    return tuple(DeadTotal(**row) for row in table.to_pylist())
