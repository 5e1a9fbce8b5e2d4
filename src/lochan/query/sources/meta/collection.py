"""`p:plans`, `p:planned`, `p:unreferenced`: garbage collection, the files that its plans listed, and the files that
nothing names now."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import NotFound
from lochan.formats.plan_list import PLAN_SCHEMA, PlanHead
from lochan.journal.feed import lines
from lochan.pools.keys import Instant
from lochan.query.sources.meta import MetaRows
from lochan.versioning.collection.embedded import dead_table
from lochan.versioning.collection.engine import read_head, read_part
from lochan.versioning.collection.plan import CollectionLimits, preview_look
from lochan.versioning.collection.sweep import report_of
from lochan.versioning.open_repository import OpenRepository

PLAN_FIELDS = (
    *("plan", "time", "user", "cut", "files", "bytes", "all_files", "all_bytes"),
    *("state", "ended", "swept_files", "swept_bytes"),
)
_FILE_FIELDS = ("path", "kind", "size", "mint", "modified")
_STATES = {"reported": "swept"}  # the names in events, and the names that users see


async def plan_rows(repository: OpenRepository) -> list[dict[str, Any]]:
    """Returns the plans, the oldest first."""
    found: dict[int, dict[str, Any]] = {}
    for number, time, user, type, payload in await _events(repository):
        if type == "planned":
            head, files = await _read_list(repository, payload["list"])
            found[number] = {
                "plan": number,
                "time": Instant(time),
                "user": user,
                "cut": payload["cut"],
                "files": len(files),
                "bytes": pc.sum(files["size"]).as_py() or 0,
                "all_files": head.files,
                "all_bytes": head.bytes,
                "state": "open",
            }
        elif type == "plan-ended" and payload["plan"] in found:
            ended = found[payload["plan"]]
            ended |= {"state": _STATES.get(payload["how"], payload["how"]), "ended": Instant(time)}
            try:
                report = await report_of(repository, payload["plan"])
            except NotFound:
                continue
            ended |= {"swept_files": report.files, "swept_bytes": report.bytes}
    return list(found.values())


async def planned_rows(repository: OpenRepository) -> MetaRows:
    """Returns the files that each plan listed, with the number of the plan."""
    tables = []
    for number, _, _, type, payload in await _events(repository):
        if type == "planned":
            _, files = await _read_list(repository, payload["list"])
            tables.append(files.add_column(0, "plan", pa.repeat(pa.scalar(number, pa.int64()), len(files))))
    fields = ("plan", *_FILE_FIELDS)
    table = pa.concat_tables(tables) if tables else None
    return MetaRows(fields, table=table) if table is not None and len(table) else MetaRows(fields)


async def unreferenced_rows(repository: OpenRepository) -> MetaRows:
    """Returns the files that nothing names at this moment, the largest first. They include files that are being written
    and will be named later."""
    found = await dead_table(repository, await preview_look(repository, CollectionLimits(grace_s=0)))
    table = found.sort_by([("size", "descending"), ("path", "ascending")])
    return MetaRows(_FILE_FIELDS, table=table) if len(table) else MetaRows(_FILE_FIELDS)


async def _events(repository: OpenRepository) -> list[tuple[int, int, str, str, Any]]:
    return [
        (line.number, line.time, line.user, line.type, line.payload)
        async for sealed in repository.journal.records()
        for line in lines(sealed)
        if line.type in ("planned", "plan-ended")
    ]


async def _read_list(repository: OpenRepository, file: str) -> tuple[PlanHead, pa.Table]:
    head = await read_head(repository.store, repository.repository.id, file)
    parts = [await read_part(repository.store, repository.repository.id, part) for part in head.parts]
    return head, pa.concat_tables([PLAN_SCHEMA.empty_table(), *(part.select(PLAN_SCHEMA.names) for part in parts)])
