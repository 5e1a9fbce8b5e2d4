"""Metadata as sources: rows about a lake, a pool or a repository.

open         which of them a source names
lake         pools, repositories, branches, tags, users, jobs, joblog, plans, usage, lineage
history      branches, tags, branchlog, journal; log, rawlog, changes
sizes        sizes, growth
lineage      lineage
audit        audit
collection   plans, planned, unreferenced
contents     objects, partitions; entries, ranges, staged

docs/language/metadata.md says what the fields mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa


class MetaRows(NamedTuple):
    """Rows, or a table of very many, and the names of their fields."""

    fields: Sequence[str]
    rows: Sequence[Mapping[str, Any]] = ()
    table: pa.Table | None = None
