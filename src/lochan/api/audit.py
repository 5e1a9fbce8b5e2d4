"""The audit as pages: who, when, from where, what, and whether it was allowed; the newest first."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import TYPE_CHECKING

from lochan.api.results import Result, moment
from lochan.errors import Invalid

if TYPE_CHECKING:
    import pyarrow as pa

    from lochan.api.session import Session

_DAY_US = 86_400_000_000
_LIMIT_MAX = 10_000
_CURSOR = re.compile(r"([0-9]{1,17})-([0-9]{1,9})")


class AuditEntry(Result, frozen=True, kw_only=True):
    time: datetime
    user: str  # empty for a caller who was not let in
    client: str  # s3, rest, mcp, cli, python, spark …
    source: str  # an address, or the machine of a command
    action: str  # an operation of S3, a verb, or a kind of event
    repository: str
    ref: str
    path: str
    about: str
    outcome: str  # allowed, denied, failed
    bytes: int
    status: int  # as HTTP has it
    access_key: str  # the id of the key that a request came by; empty if there was none


class AuditPage(Result, frozen=True, kw_only=True):
    entries: tuple[AuditEntry, ...]  # the newest first
    next: str  # `after` of the next page; empty on the last page


async def audit_page(
    session: Session, days: float, user: str, repository: str, outcome: str, limit: int, after: str
) -> AuditPage:
    from lochan.api.usage import store_now
    from lochan.query.sources.catalog import EVERYTHING
    from lochan.query.sources.meta.audit import OUTCOMES, audit_table
    from lochan.usage.read import read_usage

    if outcome and outcome not in OUTCOMES:
        raise Invalid(f"{outcome!r} is no outcome", hint=f"it is one of {', '.join(OUTCOMES)}")
    if not 0 < limit <= _LIMIT_MAX:
        raise Invalid(f"a page has 1 to {_LIMIT_MAX:,} entries, not {limit}")
    if not 0 < days < math.inf:
        raise Invalid(f"the audit of {days:g} days is nothing that can be meant", hint="give a number above 0")
    cursor = _CURSOR.fullmatch(after) if after else None
    if after and cursor is None:
        raise Invalid(f"{after[:40]!r} is not the end of a page", hint="give the `next` of one")
    now = await store_now(session)
    since = max(0, now - round(days * _DAY_US))
    usage = await read_usage(session.lake.store, since, now)
    table = await audit_table(session.lake, usage.rows, since, EVERYTHING)
    wanted = {"user": user, "repository": repository, "outcome": outcome}
    return _page(_filter_rows(table, wanted), limit, cursor)


def _filter_rows(table: pa.Table, wanted: dict[str, str]) -> pa.Table:
    import pyarrow.compute as pc

    for name, value in wanted.items():
        if value:
            table = table.filter(pc.equal(table[name], value))
    return table.sort_by([("time", "descending"), ("action", "ascending"), ("path", "ascending")])


def _page(table: pa.Table, limit: int, cursor: re.Match[str] | None) -> AuditPage:
    """Returns a page. Its cursor is a time and the number of entries of that time that were shown, because new entries
    come before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times = table["time"].cast(pa.int64())
    begin = 0
    if cursor is not None:
        last, shown = map(int, cursor.groups())
        begin = pc.sum(pc.greater(times, last)).as_py() or 0
        begin += min(shown, pc.sum(pc.equal(times, last)).as_py() or 0)
    rows = table.slice(begin, limit)
    if not len(rows) or begin + limit >= len(table):
        end = ""
    else:
        last = times[begin + limit - 1].as_py()
        before = pc.sum(pc.greater(times, last)).as_py() or 0
        end = f"{last}-{begin + limit - before}"
    rows = rows.set_column(0, "time", rows["time"].cast(pa.int64()))
    entries = (AuditEntry(**{**row, "time": moment(row["time"])}) for row in rows.to_pylist())
    return AuditPage(entries=tuple(entries), next=end)
