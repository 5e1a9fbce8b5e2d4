"""Reasons why nothing names a file any more, and where it was, as far as its name, the trees of expired commits, the
aliases and the newest records of the journal show. A reason is given only if it is certain."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.plan_list import LIST_SCHEMA, DeadTotal
from lochan.versioning.collection.journal_names import NOT_READ, JournalNames
from lochan.versioning.collection.mark_set import Hashes, hashes

EXPIRED = "expired"  # only commits that have expired name it
MOVED = "moved"  # aliases lead from its bytes to another file: it was deduped, rewritten or coalesced
STAGED = "staged"  # an event named it and no commit had it: it was overwritten or deleted while staged, or aborted
UNNAMED = "unnamed"  # no event ever named it: its writer has died, or was refused
UNCOMMITTED = "uncommitted"  # no commit had it, and the records that may have named it were not read
WORKSPACE = "workspace"  # a file of a workspace that is closed, and that no commit names
METADATA = "metadata"  # a run, range or metarange that was replaced, or whose commit did not land
DELETED = "deleted"  # a file of a repository that was deleted
UNKNOWN = ""  # in old lists
MEANINGS = {
    EXPIRED: "only expired commits name it",
    MOVED: "kept elsewhere: deduped, rewritten or coalesced",
    STAGED: "overwritten, deleted or aborted before a commit",
    UNNAMED: "never named: its writer has died, or was refused",
    UNCOMMITTED: "no commit had it: overwritten or deleted while staged, or never named",
    WORKSPACE: "left by a closed workspace",
    METADATA: "replaced metadata",
    DELETED: "of a deleted repository",
    UNKNOWN: "unknown",
}

_NOTHING = pa.array([], pa.string())
DEPTH = 2  # folders of a logical path
OTHERS = "…"  # all prefixes that are not listed
TOTALS_MAX = 10_000
_ALONE = 10_000  # rows, up to which starting threads takes longer than the work
_FOLDER = rf"^((?:[^/]*/){{1,{DEPTH}}})"
_FIRST = rf"^(?P<folder>(?:[^/]*/){{1,{DEPTH}}})"
_IN_ADDRESS = r"^(?:data/[^/]+/[^/]+|workspaces/[^/]+)/(?P<path>(?s:.+))$"


def folders_of(paths: pa.Array | pa.ChunkedArray) -> pl.Series:
    """Returns the first folders of logical paths, or an empty text for a path that is in none."""
    return pl.Series(paths).str.extract(_FOLDER).fill_null("")


class ExpiredNames:
    """The paths of files that the trees of expired commits name, with the folder of each. It takes twelve bytes for
    each path."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._parts: list[tuple[Hashes, npt.NDArray[np.int32]]] = []
        self._codes: dict[str | None, int] = {}
        self._sorted: tuple[Hashes, npt.NDArray[np.int32]] | None = None

    def add(self, paths: pa.Array, folders: pl.Series | None = None) -> None:
        """Adds paths. `folders` is None for files of metadata, which have no logical path."""
        if not len(paths):
            return
        if folders is None:
            codes = np.full(len(paths), self._code(None), np.int32)
        else:
            unique = folders.unique(maintain_order=True)
            code_of = {folder: self._code(folder) for folder in unique.to_list()}
            codes = folders.replace_strict(code_of, return_dtype=pl.Int32).to_numpy()
        self._parts.append((hashes(paths, self._seed), codes))
        self._sorted = None

    def find(self, paths: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[np.bool_], pa.Array]:
        """Returns for each path whether it is named, and its folder."""
        sorted_hashes, codes = self._in_order()
        if not len(sorted_hashes) or not len(paths):
            return np.zeros(len(paths), np.bool_), pa.nulls(len(paths), pa.string())
        wanted = hashes(paths, self._seed)
        places = np.minimum(np.searchsorted(sorted_hashes, wanted), len(sorted_hashes) - 1)
        found = sorted_hashes[places] == wanted
        names = pa.array([*self._codes], pa.string())
        return found, names.take(pa.array(codes[places], mask=~found))

    def _code(self, folder: str | None) -> int:
        return self._codes.setdefault(folder, len(self._codes))

    def _in_order(self) -> tuple[Hashes, npt.NDArray[np.int32]]:
        if self._sorted is None:
            parts = self._parts or [(np.empty(0, np.uint64), np.empty(0, np.int32))]
            all_hashes = np.concatenate([each for each, _ in parts])
            unique, first = np.unique(all_hashes, return_index=True)
            codes = np.concatenate([each for _, each in parts])[first]
            self._parts = [(unique, codes)]
            self._sorted = unique, codes
        return self._sorted


class Evidence(NamedTuple):
    expired: ExpiredNames
    moved: pa.Array = _NOTHING  # files that aliases lead from, below the repository
    journal: JournalNames = NOT_READ


def explain_reasons(dead: pa.Table, evidence: Evidence) -> pa.Table:
    """Returns the dead files with reasons, as a table of LIST_SCHEMA. It uses only Arrow: Polars starts its threads for
    each column, which took half the time of a whole collection where there are few files."""
    if not len(dead):
        return LIST_SCHEMA.empty_table()
    paths, kinds = dead["path"].combine_chunks(), dead["kind"].combine_chunks()
    found, folders = evidence.expired.find(paths)
    by_kind = pc.if_else(pc.equal(kinds, "workspace"), WORKSPACE, METADATA)
    by_kind = pc.if_else(pc.equal(kinds, "data"), _uncommitted_reasons(dead, evidence.journal), by_kind)
    why = pc.if_else(pa.array(found), EXPIRED, by_kind)
    # This reason has precedence: an alias is kept only while something needs it.
    why = pc.if_else(pc.is_in(paths, value_set=evidence.moved), MOVED, why)
    return pa.table([*dead.columns, why, pc.coalesce(folders, _own_folders(paths))], LIST_SCHEMA)


def _uncommitted_reasons(dead: pa.Table, journal: JournalNames) -> pa.Array:
    named, never = journal.look_up(dead)
    return pc.if_else(pa.array(named), STAGED, pc.if_else(pa.array(never), UNNAMED, UNCOMMITTED))


def _own_folders(paths: pa.Array) -> pa.Array:
    """Returns the first folders of the logical paths that addresses contain, or null for an address without one."""
    inside = pc.struct_field(pc.extract_regex(paths, _IN_ADDRESS), "path")
    if inside.null_count == len(inside):
        return pa.nulls(len(inside), pa.string())
    first = pc.fill_null(pc.struct_field(pc.extract_regex(inside, _FIRST), "folder"), "")
    return pc.if_else(pc.is_valid(inside), first, pa.scalar(None, pa.string()))


def totals_of(listed: pa.Table) -> pa.Table:
    """Returns files and bytes for each kind, reason and prefix."""
    if not len(listed):
        return TOTALS_SCHEMA.empty_table()
    grouped = listed.group_by(["kind", "why", "prefix"], use_threads=len(listed) > _ALONE).aggregate(
        [("size", "count"), ("size", "sum")]
    )
    return grouped.rename_columns(TOTALS_SCHEMA.names).cast(TOTALS_SCHEMA)


def added_totals(tables: Iterable[pa.Table], most: int = TOTALS_MAX) -> pa.Table:
    """Returns the sum of the totals, the largest first. Prefixes beyond `most` are summed up."""
    found = [each for each in tables if len(each)]
    if not found:
        return TOTALS_SCHEMA.empty_table()
    total = _sum(pa.concat_tables(found))
    if len(total) > most:
        kept, rest = total.slice(0, most), total.slice(most)
        others = rest.set_column(2, TOTALS_SCHEMA.field(2), pa.array([OTHERS] * len(rest), pa.string()))
        total = pa.concat_tables([kept, _sum(others)])
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


def _sum(table: pa.Table) -> pa.Table:
    grouped = table.group_by(["kind", "why", "prefix"], use_threads=len(table) > _ALONE).aggregate(
        [("files", "sum"), ("bytes", "sum")]
    )
    named = grouped.rename_columns(TOTALS_SCHEMA.names).cast(TOTALS_SCHEMA)
    return named.sort_by([("bytes", "descending"), ("files", "descending"), ("kind", "ascending")])


def as_totals(table: pa.Table) -> tuple[DeadTotal, ...]:
    return tuple(DeadTotal(**row) for row in table.to_pylist())
