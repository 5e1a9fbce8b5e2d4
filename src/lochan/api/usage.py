"""The usage log for its keeper: the time that it covers, and its compaction."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from lochan.api.results import Result, moment

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.formats.collection_events import RetentionSet
    from lochan.formats.usage import Gap

_DAY_US = 86_400_000_000
_RULE_MARGIN_DAYS = 2.0  # a row may be filed under the next day
_SHOWN = 100


class UsageGap(Result, frozen=True, kw_only=True):
    """A span of which rows are missing."""

    since: datetime
    until: datetime
    why: str


class UsageStatus(Result, frozen=True, kw_only=True):
    rows: int
    since: datetime
    servers_until: datetime | None  # up to then reads through servers may have gone unnoticed; None if none may have
    servers_why: str
    noted_until: datetime | None  # the same where every reader notes its reads
    noted_why: str
    gaps: tuple[UsageGap, ...]  # the last gaps


class UsageCompactResult(Result, frozen=True, kw_only=True):
    days: int  # how many days became one file each
    files: int  # how many files were merged
    rows: int
    deleted_days: int
    kept_days: float | None  # how many days are kept; None if nothing is deleted
    gaps: tuple[UsageGap, ...]  # files that cannot be read, and stay


async def usage_status(session: Session, days: float) -> UsageStatus:
    from lochan.usage.last_read import BY_NOTES, BY_SERVER, unknown_until
    from lochan.usage.read import read_usage

    now = await store_now(session)
    since = now - round(days * _DAY_US)
    found = await read_usage(session.lake.store, since, now)
    servers = unknown_until(found, since, now, readers=BY_SERVER, declared=0)
    noted = unknown_until(found, since, now, readers=BY_NOTES, declared=0)
    newest = sorted((gap for gap in found.gaps if gap.until >= since), key=lambda gap: gap.until)[-_SHOWN:]
    return UsageStatus(
        rows=len(found.rows),
        since=moment(since),
        servers_until=None if servers is None else moment(servers.until),
        servers_why="" if servers is None else servers.why,
        noted_until=None if noted is None else moment(noted.until),
        noted_why="" if noted is None else noted.why,
        gaps=tuple(map(_gap, newest)),
    )


async def compact_usage(session: Session, keep_days: float | None) -> UsageCompactResult:
    from lochan.usage.compaction import compact_usage

    kept = None if keep_days is None else max(keep_days, await needed_days(session))
    done = await compact_usage(session.lake.store, await store_now(session), kept)
    return UsageCompactResult(
        days=done.days,
        files=done.files,
        rows=done.rows,
        deleted_days=done.deleted_days,
        kept_days=kept,
        gaps=tuple(map(_gap, done.gaps)),
    )


async def store_now(session: Session) -> int:
    """Returns the store's time, in microseconds since 1970."""
    from lochan.versioning.collection.store_clock import store_time

    return round(await store_time(session.lake.store, "_lake") * 1e6)


async def needed_days(session: Session) -> float:
    """Returns how many days of the log the rules of all repositories need."""
    from lochan.api.default_rules import default_rules

    default = await default_rules(session)
    longest = 0.0 if default is None else _unread_days(default.rules)
    for each in await session.lake.repositories():
        async with session.opened(each.name) as repository:
            refs, _ = await repository.refs()
            longest = max(longest, _unread_days(refs.collection.retention))
    return longest


def _unread_days(rules: RetentionSet) -> float:
    longest = max((rule.unread_days for rule in rules.drops), default=0.0)
    return longest + _RULE_MARGIN_DAYS if longest else 0.0


def _gap(gap: Gap) -> UsageGap:
    return UsageGap(since=moment(gap.since), until=moment(gap.until), why=gap.why)
