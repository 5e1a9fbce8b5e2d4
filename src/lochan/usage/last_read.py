"""Finds what was read since a moment, and up to when reads may have gone unnoticed.

An object is "unread since T" only if every read since T would be in the log. There are two ways to know that:

    server   all reads go through servers: a span counts only while some server covers it. A stopped server, like rows
             that were dropped, counts as a read of everything
    noted    it was declared that every reader notes its reads: everything since the declaration counts, except for the
             gaps that readers have left

docs/design/0011-last-read.md explains why.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats import usage
from lochan.formats.usage import COPIED_FOLDER, QUERY, READ_FOLDER, SCAN, Cover
from lochan.usage.read import UsageData

BY_SERVER, BY_NOTES = "server", "noted"
READERS = (BY_SERVER, BY_NOTES)

# Operations that read no object's bytes. All others count as reads.
NOT_READS = (
    "AbortMultipartUpload",
    "CompleteMultipartUpload",
    "CopyObject",  # its source has a row of its own
    "CreateBucket",
    "CreateMultipartUpload",
    "DeleteBucket",
    "DeleteObject",
    "DeleteObjects",
    "GetBucketLocation",
    "GetBucketVersioning",
    "HeadBucket",
    "HeadObject",
    "ListBuckets",
    "ListMultipartUploads",
    "ListObjects",
    "ListObjectsV2",
    "ListParts",
    "PostObject",
    "PutObject",
    "UploadPart",
    "UploadPartCopy",
)
_FOLDERS = (READ_FOLDER, COPIED_FOLDER, SCAN)
_WILD = r"[*?\[].*$"
_FAILED = 400
_LAG_US = 15 * 60 * 1_000_000  # how far the newest cover of a running server may lag behind


class UnknownReads(NamedTuple):
    """Up to this moment reads may have gone unnoticed."""

    until: int  # microseconds since 1970
    why: str


class ReadPaths(NamedTuple):
    """What was read, at any ref of a repository."""

    paths: pa.Array  # single objects, in order
    prefixes: tuple[str, ...]  # everything that begins like one of these; in order, none begins like another

    def read(self, paths: pa.StringArray) -> npt.NDArray[np.bool_]:
        """Returns which of these paths were read. REQUIRES: they ascend."""
        found = among(paths, self.paths)
        for prefix in self._between(paths[0].as_py(), paths[-1].as_py()) if len(paths) else ():
            found = found | pc.starts_with(paths, prefix).to_numpy(zero_copy_only=False)
        return found

    def _between(self, first: str, last: str) -> tuple[str, ...]:
        """Returns the prefixes that a path of this span may have. There may be many prefixes, and each belongs to few
        spans."""
        start = bisect_right(self.prefixes, first)
        return self.prefixes[max(0, start - 1) : bisect_right(self.prefixes, last)]


def among(paths: pa.StringArray, others: pa.StringArray) -> npt.NDArray[np.bool_]:
    """Returns which of these paths are among the others. REQUIRES: both ascend. Only the part of the others between the
    first and the last path is searched: there may be millions of them, and the paths come in batches."""
    if not len(paths) or not len(others):
        return np.zeros(len(paths), np.bool_)
    column = _Column(others)
    low, high = bisect_left(column, paths[0].as_py()), bisect_right(column, paths[-1].as_py())
    found: npt.NDArray[np.bool_] = pc.is_in(paths, others[low:high]).to_numpy(zero_copy_only=False)
    return found


class _Column:
    """An Arrow column as a sequence, for bisection. Python compares texts by code points, which gives the same order as
    their UTF-8."""

    def __init__(self, column: pa.StringArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, at: int) -> str:
        found: str = self._column[at].as_py()
        return found


def unknown_until(found: UsageData, since: int, now: int, *, readers: str, declared: int) -> UnknownReads | None:
    """Returns the last moment since then at which a read may have gone unnoticed, or None if all of them were noted.
    `declared` is the time when it was declared that every reader notes its reads."""
    reasons = [UnknownReads(min(gap.until, now), gap.why) for gap in found.gaps if gap.until >= since]
    if found.first_day and usage.day_start(found.first_day) > since:
        reasons.append(
            UnknownReads(usage.day_start(found.first_day), "the usage log was deleted before that by its age")
        )
    if readers == BY_SERVER:
        reasons += _holes(found.covers, since, now)
    elif declared > since:
        reasons.append(UnknownReads(declared, "only since then is every reader declared to note its reads"))
    return max(reasons, default=None)


def read_since(rows: pa.Table, repositories: Collection[str], since: int) -> ReadPaths:
    """Returns what was read since then. `repositories` are the names that one repository had since then."""
    moment = pa.scalar(since, pa.int64())
    wanted = pc.and_kleene(
        pc.is_in(rows["repository"], pa.array(sorted(repositories), pa.string())),
        pc.greater_equal(rows["time"].cast(pa.int64()), moment),
    )
    wanted = pc.and_kleene(wanted, pc.less(rows["status"], _FAILED))
    wanted = pc.and_kleene(wanted, pc.invert(pc.is_in(rows["operation"], pa.array(NOT_READS))))
    rows = rows.filter(wanted).select(["operation", "path"])
    rows = rows.group_by(["operation", "path"]).aggregate([])
    is_query = pc.equal(rows["operation"], QUERY)
    is_folder = pc.is_in(rows["operation"], pa.array(_FOLDERS))
    fronts = pc.replace_substring_regex(rows["path"], _WILD, "")
    is_glob = pc.and_(is_query, pc.or_(pc.not_equal(fronts, rows["path"]), pc.equal(rows["path"], "")))
    prefixes = [*fronts.filter(is_glob).to_pylist(), *rows["path"].filter(is_folder).to_pylist()]
    single = rows["path"].filter(pc.invert(pc.or_(is_glob, is_folder)))
    return ReadPaths(single.unique().sort() if len(single) else pa.array([], pa.string()), _shortest(prefixes))


def _shortest(prefixes: Iterable[str]) -> tuple[str, ...]:
    """Returns the prefixes without those that another one covers."""
    kept: list[str] = []
    for each in sorted(set(prefixes)):
        if not kept or not each.startswith(kept[-1]):
            kept.append(each)
    return tuple(kept)


def _holes(covers: Iterable[Cover], since: int, now: int) -> Iterator[UnknownReads]:
    at = since
    for each in sorted((each for each in covers if each.kind == usage.SERVER), key=lambda each: each.since):
        if each.since > at:
            yield UnknownReads(min(each.since, now), "no server was running, or it noted nothing")
        at = max(at, each.until)
    if at == since or at < now - _LAG_US:
        yield UnknownReads(now, "no server is running, or it notes nothing")
