"""`:audit`: who, when, from where, what, and whether it was allowed.

    the usage log   requests to servers, also those that were denied; what commands, Python and Spark read
    the journals    what commands, Python, Spark and upkeep changed; and sign-ins. What a request to a server changed
                    has the row of the request

Only a user who may read all of a repository sees its rows, because rows name objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.record import address_of
from lochan.journal.feed import EventLine, lines
from lochan.journal.journal import Journal
from lochan.versioning.repositories import Repository

if TYPE_CHECKING:
    from lochan.query.sources.catalog import Catalog, Permits

ALLOWED, DENIED, FAILED = OUTCOMES = ("allowed", "denied", "failed")
AUDIT_FIELDS = (
    *("time", "user", "client", "source", "action", "repository", "ref", "path", "about"),
    *("outcome", "bytes", "status", "access_key"),
)
_BY_REQUEST = frozenset(("s3", "rest", "mcp", "api"))  # clients whose changes are requests to a server
_DENIED = (401, 403)
_FAILED = 400
_FIRST_RECORDS = 1_024
_SKEW_US = 3_600_000_000  # clocks of writers differ: a record may be older than the one before it


async def audit_table(catalog: Catalog, rows: pa.Table, since: int, permits: Permits) -> pa.Table:
    """Returns the audit rows, the oldest first. `rows` are those of the usage log."""
    repositories = await permits.audited(await catalog.repositories())
    found = _of_usage(rows)
    tables = [found]
    if await permits.audits_lake():
        tables.append(await _changes(await catalog.journal(), "", since))
    else:
        tables = [_of_repository(found, each) for each in repositories]
    tables += [await _changes(await catalog.journal(each.id), each.name, since) for each in repositories]
    merged = pa.concat_tables([audit_schema().empty_table(), *tables])
    return merged.filter(pc.greater_equal(merged["time"].cast(pa.int64()), since)).sort_by("time")


def _of_repository(rows: pa.Table, repository: Repository) -> pa.Table:
    """Returns the rows of the repository since it was created: another one may have had its name before, with other
    readers."""
    since = pc.greater_equal(rows["time"].cast(pa.int64()), repository.created)
    return rows.filter(pc.and_(pc.equal(rows["repository"], repository.name), since))


def audit_schema() -> pa.Schema:
    of_text = {name: pa.string() for name in AUDIT_FIELDS}
    types = {**of_text, "time": pa.timestamp("us", "UTC"), "bytes": pa.int64(), "status": pa.int64()}
    return pa.schema([pa.field(name, types[name]) for name in AUDIT_FIELDS])


def _of_usage(rows: pa.Table) -> pa.Table:
    denied = pc.is_in(rows["status"], value_set=pa.array(_DENIED, rows["status"].type))
    failed = pc.greater_equal(rows["status"], _FAILED)
    outcome = pc.if_else(denied, DENIED, pc.if_else(failed, FAILED, ALLOWED))
    found = rows.rename_columns([{"operation": "action"}.get(name, name) for name in rows.column_names])
    return found.append_column("outcome", outcome).select(AUDIT_FIELDS).cast(audit_schema())


async def _changes(journal: Journal, name: str, since: int) -> pa.Table:
    rows = []
    async for sealed in journal.records(await _begin(journal, since)):
        if all(entry.actor.client in _BY_REQUEST for entry in sealed.record.entries):
            continue
        rows += [_row(line, name) for line in lines(sealed) if line.client not in _BY_REQUEST]
    return pa.Table.from_pylist(rows, schema=audit_schema())


async def _begin(journal: Journal, since: int) -> int:
    """Returns the record to start after. It tries the last records, then four times as many, until the first of them is
    older."""
    number, count = (await journal.fresh()).number, _FIRST_RECORDS
    while since and count < number:
        first = await anext(journal.records(number - count), None)
        if first is None or first.record.time < since - _SKEW_US:
            return number - count
        count *= 4
    return 0


def _row(line: EventLine, repository: str) -> Mapping[str, Any]:
    return {
        "time": line.time,
        "user": line.user,
        "client": line.client.removeprefix("lochan-").partition("/")[0],
        "source": address_of(line.source),
        "action": line.type,
        "repository": repository,
        "ref": str(line.payload.get("branch") or ""),
        "path": str(line.payload.get("path") or ""),
        "about": line.text,
        "outcome": ALLOWED,
        "bytes": 0,
        "status": 200,
        "access_key": "",
    }
