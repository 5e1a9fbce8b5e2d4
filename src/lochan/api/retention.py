"""Retention rules for their owner: in options, in a YAML file, in Python, and their current effect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lochan.api.results import Result
from lochan.errors import Invalid, NotFound, NothingToDo, Protected, ReadOnly

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.formats.collection_events import DropRule as StoredDrop
    from lochan.formats.collection_events import RetentionSet
    from lochan.usage.last_read import ReadPaths, UnknownReads
    from lochan.versioning.collection.drops import DropRequest, Reads, RuleDrops
    from lochan.versioning.collection.retention import Expirable
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.state.refs import Refs

_DAY_US = 86_400_000_000
_UNITS = {"d": 1.0, "h": 1 / 24, "m": 1 / 1_440, "s": 1 / 86_400}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([dhms])")
_COMMITS = re.compile(r"\d+")
OWN_RULES, LAKE_RULES = "repository", "lake"  # where rules come from
_UNSEEN = {
    "server": "a rule about the last read does not see reads that go past the servers, by somebody who may only read"
    " the bucket: these leave neither a note nor a gap",
    "noted": "a rule about the last read believes that every reader notes its reads: somebody who may only read the"
    " bucket leaves neither a note nor a gap",
}
_DROP = "such as 'main:tmp/=unwritten 30d', 'main:raw/=unread 90d', 'main[..2020-12-31]=older 30d', 'main:keep/=never'"


class KeepRule(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule for branches whose names match the pattern: it keeps their heads of the last days, and their newest
    commits."""

    pattern: str
    days: float = 0
    commits: int = 0
    forever: bool = False


class LiveRule(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule that removes live objects of branches that match the pattern by a commit, on one condition. The first rule
    that matches an object decides."""

    pattern: str
    name: str = ""  # empty: the text of the rule is its name
    prefix: str = ""  # the beginning of paths, such as tmp/
    low: str = ""  # an end of a span of a pool's key; both ends are inside
    high: str = ""
    unwritten_days: float = 0
    unread_days: float = 0
    older_days: float = 0  # for a pool whose key is a time
    never: bool = False

    @property
    def text(self) -> str:
        where = f"[{self.low}..{self.high}]" if self.low or self.high else f":{self.prefix}" if self.prefix else ""
        ages = ("unwritten", self.unwritten_days), ("unread", self.unread_days), ("older", self.older_days)
        condition = "never" if self.never else " ".join(f"{name} {days_text(days)}" for name, days in ages if days)
        return f"{self.pattern}{where}={condition}"


class RetentionInfo(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rules: tuple[KeepRule, ...] = ()  # the first that matches counts; a branch that none matches keeps its history
    undo_days: float = 30  # how long a deleted branch, or a commit that a reset has left, can be brought back
    drops: tuple[LiveRule, ...] = ()  # the first that matches counts; what no rule matches stays
    holds: tuple[str, ...] = ()  # patterns of branches: a path on one of them is dropped nowhere
    uploads_days: float = 0  # 0 means never
    workspaces_days: float = 0
    stashes_days: float = 0
    blocks_days: float = 0
    readers: str = "server"  # server or noted: how all reads become known
    source: str = ""  # where they come from: repository, lake; empty if none are set; ignored in rules that are given


class ExpireResult(Result, frozen=True, kw_only=True):
    commits: tuple[str, ...]
    branches: tuple[str, ...]  # deleted ones, which can no longer be restored
    tokens: int  # address tokens that can no longer be used
    uploads: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()
    stashes: tuple[str, ...] = ()


class RuleDrop(Result, frozen=True, kw_only=True):
    """The effect of one rule on one branch."""

    branch: str
    rule: str
    objects: int
    bytes: int
    rows: int  # rows of a pool
    held: int  # objects that stay because a held branch has their paths
    staged: int  # objects that stay because they have staged changes
    examples: tuple[str, ...]  # paths of some objects that are dropped
    waits: str  # why the rule drops nothing now
    commit: str  # the commit that dropped it; empty if there is none


class RetentionCheck(ExpireResult, frozen=True, kw_only=True):
    drops: tuple[RuleDrop, ...] = ()
    source: str = ""  # where the rules come from: repository, lake; empty if they were given, or none are set
    warnings: tuple[str, ...] = ()  # what the rules cannot see


# --- rules as text ---------------------------------------------------------------------------------------------------
def parse_keep(text: str) -> KeepRule:
    """Parses rules such as `main=forever`, `tmp-*=7d`, `*=90d,100`. Raises Invalid."""
    pattern, _, limits = text.rpartition("=")
    values: dict[str, Any] = {}
    for limit in limits.split(","):
        if limit == "forever":
            values["forever"] = True
        elif _AGE.fullmatch(limit):
            values["days"] = parse_days(limit)
        elif _COMMITS.fullmatch(limit):
            values["commits"] = int(limit)
        else:
            raise Invalid(f"{text!r} is not a rule", hint="such as main=forever, 'tmp-*=7d', '*=90d,100'")
    return KeepRule(pattern=pattern, **values)


def parse_drop(text: str) -> LiveRule:
    """Parses rules such as `main:tmp/=unwritten 30d`. Raises Invalid."""
    where, _, condition = text.rpartition("=")
    rule, words = _drop_target(where), condition.split()
    if rule is None or not words:
        raise Invalid(f"{text!r} is no drop rule", hint=_DROP)
    if words == ["never"]:
        return msgspec.structs.replace(rule, never=True)
    if len(words) != 2 or words[0] not in ("unwritten", "unread", "older"):
        raise Invalid(f"{text!r} is no drop rule: {condition!r} is no condition", hint=_DROP)
    days = parse_days(words[1])
    if not days:
        raise Invalid(f"{text!r} is no drop rule: {words[1]} is no time at all", hint=_DROP)
    return msgspec.structs.replace(rule, **{f"{words[0]}_days": days})


def _drop_target(where: str) -> LiveRule | None:
    """Parses `BRANCH`, `BRANCH:PREFIX` or `BRANCH[LOW..HIGH]`. Returns None if the text is none of these."""
    at = min((where.index(mark) for mark in ":[" if mark in where), default=len(where))
    branch, mark, rest = where[:at], where[at : at + 1], where[at + 1 :]
    if not branch:
        return None
    if mark != "[":
        return LiveRule(pattern=branch, prefix=rest)
    low, dots, high = rest.removesuffix("]").partition("..")
    if not rest.endswith("]") or not dots or "]" in low + high:
        return None
    return LiveRule(pattern=branch, low=low, high=high)


def parse_days(text: str) -> float:
    """Parses ages such as 30d, 12h, 15m or 10s. Raises Invalid."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise Invalid(f"{text!r} is no age", hint="such as 30d, 12h, 15m or 10s")
    return float(found[1]) * _UNITS[found[2]]


def days_text(days: float) -> str:
    """Returns an age in the largest unit of which it is at least one."""
    unit = next((unit for unit, part in _UNITS.items() if days >= part * 0.999), "s")
    return f"{days / _UNITS[unit]:g}{unit}"


# --- rules as they are stored ----------------------------------------------------------------------------------------
def stored_rules(info: RetentionInfo) -> RetentionSet:
    from lochan.formats.collection_events import DropRule, RetentionRule, RetentionSet

    return RetentionSet(
        tuple(RetentionRule(each.pattern, each.days, each.commits, each.forever) for each in info.rules),
        info.undo_days,
        tuple(
            DropRule(
                each.name or each.text,
                each.pattern,
                each.prefix,
                each.low,
                each.high,
                each.unwritten_days,
                each.unread_days,
                each.older_days,
                each.never,
            )
            for each in info.drops
        ),
        info.holds,
        info.uploads_days,
        info.workspaces_days,
        info.stashes_days,
        info.blocks_days,
        info.readers,
    )


def shown_rules(event: RetentionSet) -> RetentionInfo:
    keeps = (
        KeepRule(pattern=each.pattern, days=each.days, commits=each.commits, forever=each.forever)
        for each in event.rules
    )
    return RetentionInfo(
        rules=tuple(keeps),
        undo_days=event.undo_days,
        drops=tuple(map(_shown_drop, event.drops)),
        holds=event.holds,
        uploads_days=event.upload_days,
        workspaces_days=event.workspace_days,
        stashes_days=event.stash_days,
        blocks_days=event.block_days,
        readers=event.readers,
        source=LAKE_RULES if event.default else OWN_RULES,
    )


def warnings_of(event: RetentionSet) -> tuple[str, ...]:
    """Returns warnings about uses that the rules cannot see, for the user that sets them."""
    return (_UNSEEN[event.readers],) if any(rule.unread_days for rule in event.drops) else ()


def _shown_drop(rule: StoredDrop) -> LiveRule:
    return LiveRule(
        name=rule.name,
        pattern=rule.pattern,
        prefix=rule.prefix,
        low=rule.low,
        high=rule.high,
        unwritten_days=rule.unwritten_days,
        unread_days=rule.unread_days,
        older_days=rule.older_days,
        never=rule.never,
    )


def shown_expired(found: Expirable) -> ExpireResult:
    return ExpireResult(
        commits=found.commits,
        branches=tuple(name for name, _ in found.branches),
        tokens=len(found.tokens),
        uploads=found.uploads,
        workspaces=found.workspaces,
        stashes=found.stashes,
    )


# --- what they do ----------------------------------------------------------------------------------------------------
async def checked_rules(repository: OpenRepository, info: RetentionInfo) -> RetentionSet:
    """Returns the rules as they would be stored now. Raises Invalid and NotFound for rules that do not fit the
    repository."""
    from lochan.pools.retention import check_spans
    from lochan.pools.settings import settings_of
    from lochan.versioning.collection.rule_checks import check_for
    from lochan.versioning.collection.store_clock import store_time
    from lochan.versioning.repositories import POOL

    event = stored_rules(info)
    refs, _ = await repository.refs()
    check_for(refs, event)
    if repository.repository.kind == POOL:
        check_spans(event, settings_of(repository.repository))
    if event.readers != "noted":
        return event
    before = refs.collection.retention
    since = before.readers_since or round(await store_time(repository.store, repository.repository.id) * 1e6)
    return msgspec.structs.replace(event, readers_since=since)


async def find_drops(session: Session, repository: OpenRepository, retention: RetentionSet) -> tuple[RuleDrop, ...]:
    """Returns what the rules would drop now. Changes nothing."""
    from lochan.versioning.collection.drops import find_drops

    found: list[RuleDrop] = []
    if not retention.drops:
        return ()
    request = await _request(session, repository, retention)
    refs, _ = await repository.refs()
    for branch in refs.branch_names():
        found += map(_rule_drop, (await find_drops(repository, branch, retention, request)).parts)
        found += await _drop_older(session, repository, refs, branch, retention, request, dry=True)
    return tuple(found)


async def drop(session: Session, repository: OpenRepository) -> tuple[RuleDrop, ...]:
    """Drops what the rules demand. A protected branch is not changed, and the result shows that its rules wait."""
    from lochan.api.default_rules import take_rules
    from lochan.versioning.collection.drops import RuleDrops, drop, rules_of

    retention = await take_rules(session, repository)
    refs, _ = await repository.refs()
    found: list[RuleDrop] = []
    if not retention.drops:
        return ()
    request = await _request(session, repository, retention)
    for branch in refs.branch_names():
        try:
            parts = await drop(repository, branch, retention, request, actor=session.actor)
            found += map(_rule_drop, parts)
            found += await _drop_older(session, repository, refs, branch, retention, request, dry=False)
        except (Protected, ReadOnly) as error:
            waiting = (rule for rule in rules_of(retention, branch) if not rule.never)
            found += [_rule_drop(RuleDrops(branch, rule.name, waits=str(error))) for rule in waiting]
        except NotFound:  # the branch was deleted meanwhile
            continue
    return tuple(found)


def _rule_drop(part: RuleDrops) -> RuleDrop:
    return RuleDrop(**part._asdict())


async def _request(session: Session, repository: OpenRepository, retention: RetentionSet) -> DropRequest:
    import numpy as np

    from lochan.pools.retention import within_span
    from lochan.pools.settings import settings_of
    from lochan.versioning.collection.drops import DropRequest
    from lochan.versioning.collection.store_clock import store_time
    from lochan.versioning.repositories import POOL

    now = round(await store_time(repository.store, repository.repository.id) * 1e6)
    is_pool = repository.repository.kind == POOL
    within = (
        within_span(settings_of(repository.repository)) if is_pool else lambda rule, batch: np.ones(len(batch), bool)
    )
    return DropRequest(now, await _reads_by_time(session, repository, retention, now), within)


async def _reads_by_time(session: Session, repository: OpenRepository, retention: RetentionSet, now: int) -> Reads:
    """Returns how to look up reads. The usage log is read once, as far back as any rule requires."""
    from lochan.usage.last_read import read_since, unknown_until
    from lochan.usage.read import read_usage

    await session.flush_notes()
    longest = max((rule.unread_days for rule in retention.drops), default=0.0)
    log = await read_usage(session.lake.store, now - round(longest * _DAY_US), now) if longest else None
    names = await _names(session, repository) if longest else ()

    async def reads(since: int) -> ReadPaths | UnknownReads:
        assert log is not None, "a rule asks for reads"
        unknown = unknown_until(log, since, now, readers=retention.readers, declared=retention.readers_since)
        return unknown or read_since(log.rows, names, since)

    return reads


async def _names(session: Session, repository: OpenRepository) -> tuple[str, ...]:
    """Returns all names that the repository has ever had, because the usage log has the name of each day."""
    from lochan.formats.events import Vocabulary
    from lochan.formats.lake_events import RepositoryCreated, RepositoryRenamed

    events, id = Vocabulary((RepositoryCreated, RepositoryRenamed)), repository.repository.id
    found = {repository.repository.name}
    journal = await session.lake.journal()
    async for sealed in journal.records():
        for entry in sealed.record.entries:
            for change in entry.changes:
                if change.type in (RepositoryCreated.type, RepositoryRenamed.type):
                    event = events.decode(change, sealed.record.journal, sealed.record.number)
                    if event.id == id:
                        found.add(event.name if isinstance(event, RepositoryCreated) else event.to)
    return tuple(found)


async def _drop_older(
    session: Session,
    repository: OpenRepository,
    refs: Refs,
    branch: str,
    retention: RetentionSet,
    request: DropRequest,
    *,
    dry: bool,
) -> list[RuleDrop]:
    """Drops or counts rows of a pool whose key is a time that is long past."""
    from fnmatch import fnmatchcase

    from lochan.pools.retention import older_rows
    from lochan.pools.settings import settings_of

    found: list[RuleDrop] = []
    rules = [rule for rule in retention.drops if fnmatchcase(branch, rule.pattern)]
    for at, rule in enumerate(rules):
        if not rule.older_days:
            continue
        where = older_rows(rule, rules[:at], settings_of(repository.repository), request.now)
        delete = _count_rows if dry else _delete_rows
        found.append(_rule_drop(await delete(session, repository, branch, rule.name, where)))
    return found


async def _count_rows(session: Session, repository: OpenRepository, branch: str, rule: str, where: str) -> RuleDrops:
    import asyncio

    from lochan.engines.run_query import RunOptions, run_query
    from lochan.query.syntax.unparse import name_text
    from lochan.versioning.collection.drops import RuleDrops

    name = repository.repository.name
    text = f"from {name_text(name)}@{branch} | where {where} | count()"
    result = await run_query(session.lake.queries(), text, RunOptions())
    rows = await asyncio.to_thread(lambda: list(result.rows()))
    return RuleDrops(branch, rule, rows=int(rows[0]["count"]) if rows else 0)


async def _delete_rows(session: Session, repository: OpenRepository, branch: str, rule: str, where: str) -> RuleDrops:
    from lochan.engines.duckdb.delete import delete_where
    from lochan.versioning.collection.drops import RULES, RuleDrops
    from lochan.versioning.heads.moves import CommitMessage

    message = CommitMessage(f"Drop old rows by the retention rule {rule}", {RULES: rule})
    try:
        done = await delete_where(repository, branch, where, session.lake.queries().files, message, actor=session.actor)
    except NothingToDo:
        return RuleDrops(branch, rule)
    return RuleDrops(branch, rule, objects=done.objects, rows=done.rows, commit=done.head)


def as_rules(rules: RetentionInfo | Sequence[KeepRule], undo_days: float) -> RetentionInfo:
    """Returns the rules with all their fields. Raises Invalid for a number that cannot be stored."""
    from lochan.versioning.collection.rule_checks import check_numbers

    info = rules if isinstance(rules, RetentionInfo) else RetentionInfo(rules=tuple(rules), undo_days=undo_days)
    check_numbers(stored_rules(info))
    return info
