"""Decides which commits and deleted branches a repository no longer keeps, by its retention rules (G6).

A commit is kept if

- it is the head of a branch, or a tag, or a stash or a workspace stands on it;
- the rule of some branch that leads to it keeps it: everything the branch showed in the last days, its newest commits,
  or, for a branch without a rule, all of its history;
- a branch led to it, nothing else does, and the branch was deleted or moved elsewhere so few days ago that this can be
  undone;
- two of the former would be merged on it: without the base, they could not."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import NamedTuple

from lochan.errors import NotFound, Refused
from lochan.formats.collection_events import Abandoned, Expired, RetentionRule, RetentionSet
from lochan.formats.record import Actor
from lochan.formats.repository_events import StashDropped, UploadAborted
from lochan.formats.workspace_events import WorkspaceDropped
from lochan.journal.keys import CarriedOut
from lochan.versioning.collection.rule_checks import DAYS_MAX
from lochan.versioning.collection.store_clock import store_time
from lochan.versioning.idempotency import once
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import BranchState, record_of
from lochan.versioning.state.refs_state import RefsState
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces.folder import FOLDER as WORKSPACES

_DAY_US = 86_400_000_000
_FOREVER = RetentionRule("*", forever=True)
_EVENT_COMMITS_MAX = 10_000


class Expirable(NamedTuple):
    commits: tuple[str, ...] = ()
    branches: tuple[tuple[str, int], ...] = ()  # deleted branches: name and incarnation
    tokens: tuple[str, ...] = ()  # tokens for addresses that a client may no longer write to
    uploads: tuple[str, ...] = ()  # multipart uploads that were not continued
    workspaces: tuple[str, ...] = ()  # workspaces that nobody has used for as long as the rule says
    stashes: tuple[str, ...] = ()


async def _rules_now(repository: OpenRepository, before: CarriedOut) -> RetentionSet:
    return repository.folded().collection.retention


@once(_rules_now)
async def set_retention(repository: OpenRepository, event: RetentionSet, *, actor: Actor) -> RetentionSet:
    """Replaces all rules, and returns them. Raises Invalid for rules that contradict each other."""
    await repository.submit(actor, event)
    return event


async def expire(repository: OpenRepository, *, actor: Actor) -> Expirable:
    """Expires what the rules no longer keep, by the store's clock. If a ref has come to one of the commits meanwhile,
    the event is refused, and the next round takes account of it. Raises Refused."""
    found = await find_expirable(repository)
    for upload in found.uploads:
        with suppress(NotFound):  # it is gone already
            await repository.submit(actor, UploadAborted(upload))
    for workspace in found.workspaces:
        with suppress(NotFound, Refused):
            await repository.submit(actor, WorkspaceDropped(workspace))
    for stash in found.stashes:
        with suppress(NotFound):
            await repository.submit(actor, StashDropped(stash))
    if found.tokens:
        await repository.submit(actor, Abandoned(found.tokens))
    if found.branches:
        await repository.submit(actor, Expired((), found.branches))
    for start in range(0, len(found.commits), _EVENT_COMMITS_MAX):
        await repository.submit(actor, Expired(found.commits[start : start + _EVENT_COMMITS_MAX]))
    return found


async def expire_tokens(repository: OpenRepository, *, actor: Actor) -> int:
    """Abandons only the address tokens that have expired, and returns how many. They held their files until now."""
    refs, _ = await repository.refs()
    if not any(held.expires for _, held in refs.collection.all_held()):
        return 0
    now = round(await store_time(repository.store, repository.repository.id) * 1e6)
    tokens = _expired_tokens(refs, now)
    if tokens:
        with suppress(Refused):  # one of them was used meanwhile: the next round looks again
            await repository.submit(actor, Abandoned(tokens))
    return len(tokens)


def _expired_tokens(refs: RefsState, now: int) -> tuple[str, ...]:
    return tuple(id for id, held in refs.collection.all_held() if held.expires and held.expires < now)


async def find_expirable(repository: OpenRepository, retention: RetentionSet | None = None) -> Expirable:
    """Returns what may expire at this moment of the store's clock, by these rules or else those of the repository."""
    now = round(await store_time(repository.store, repository.repository.id) * 1e6)
    refs, _ = await repository.refs()
    rules = retention or refs.collection.retention
    found = expirable(refs, now, rules)
    if not rules.workspace_days:
        return found
    before = _ago(now, rules.workspace_days)
    old = [each for each in refs.workspaces.all() if each.time < before]
    idle = [each.id for each in old if await _last_write(repository, each) < before]
    return found._replace(workspaces=tuple(idle))


async def _last_write(repository: OpenRepository, workspace: WorkspaceState) -> int:
    """Returns the time of the last write to the workspace, by an event or by a file in its folder."""
    last = workspace.time
    async for sealed in repository.journal.records(after=record_of(workspace.last) - 1):
        last = max(last, sealed.record.time)
        break
    async for stat in repository.store.list(f"{repository.repository.id}/{WORKSPACES}/{workspace.id}/"):
        last = max(last, round(stat.modified * 1e6))
    return last


def expirable(refs: RefsState, now: int, retention: RetentionSet | None = None) -> Expirable:
    """Returns what may expire, by these rules or else those of the repository. `now` is in microseconds since 1970."""
    retention = retention or refs.collection.retention
    undo = _ago(now, retention.undo_days)
    branches = tuple(key for key, branch in refs.deleted_table.items() if _deletion_time(refs, branch) < undo)
    heads = _heads(refs, set(branches))
    left = _reachable(refs, refs.reflog.left_since(undo)) - _reachable(refs, heads)
    kept = {*heads, *_commits_kept_by_rules(refs, retention, now), *left}
    while new := set(_bases(refs, kept, heads)) - kept:  # bases of bases, after a criss-cross
        kept |= new
        heads |= new
    commits = (id for id in refs.commit_table if id not in kept and not refs.collection.has_expired(id))
    tokens = _expired_tokens(refs, now)
    in_order = sorted(commits, key=lambda id: (refs.recorded(id).generation, id))
    uploads = _idle_uploads(refs, now, retention.upload_days)
    stashes = _old_stashes(refs, now, retention.stash_days)
    return Expirable(tuple(in_order), branches, tokens, uploads, (), stashes)


def _idle_uploads(refs: RefsState, now: int, days: float) -> tuple[str, ...]:
    """Returns the uploads whose beginning and last part are older than that."""
    if not days:
        return ()
    before = _ago(now, days)
    old = [each for each in refs.uploads.all() if each.time < before]
    return tuple(each.id for each in old if all(part.time < before for part in refs.uploads.parts(each.id)))


def _old_stashes(refs: RefsState, now: int, days: float) -> tuple[str, ...]:
    before = _ago(now, days)
    return tuple(each.id for each in refs.stashes.all() if days and each.time < before)


def rule_of(retention: RetentionSet, branch: str) -> RetentionRule:
    matching = (rule for rule in retention.rules if fnmatchcase(branch, rule.pattern))
    return next(matching, _FOREVER)


def _deletion_time(refs: RefsState, branch: BranchState) -> int:
    """Returns a time that is not before the deletion: that of the last move of the name. The name may be another
    branch's by now, and then the deleted one is kept longer."""
    last = refs.reflog.last(branch.name)
    return 0 if last is None else last[0]


def _heads(refs: RefsState, dropped: set[tuple[str, int]]) -> set[str]:
    """Returns the commits that never expire."""
    deleted = (branch.head for key, branch in refs.deleted_table.items() if key not in dropped)
    others = (each.fork for each in refs.workspaces.all())
    stashed = (each.head for each in refs.stashes.all())
    tagged = (commit for _, commit in refs.tags())
    return {*(branch.head for branch in refs.branches()), *deleted, *others, *stashed, *tagged}


def _commits_kept_by_rules(refs: RefsState, retention: RetentionSet, now: int) -> Iterator[str]:
    by_rule: dict[RetentionRule, list[str]] = {}
    for branch in refs.branches():
        by_rule.setdefault(rule_of(retention, branch.name), []).append(branch.head)
    for rule, heads in by_rule.items():
        if rule.forever:
            yield from _reachable(refs, heads)
        if rule.days:
            yield from _shown_since(refs, heads, _ago(now, rule.days))
        for head in heads:
            yield from _newest_commits(refs, head, rule.commits)


def _reachable(refs: RefsState, heads: Iterable[str]) -> set[str]:
    found: set[str] = set()
    queue = [head for head in heads if head in refs.commit_table]
    while queue:
        id = queue.pop()
        if id not in found:
            found.add(id)
            queue.extend(refs.recorded(id).parents)
    return found


def _shown_since(refs: RefsState, heads: Iterable[str], since: int) -> Iterator[str]:
    """Yields commits made since then, and those that they replaced as heads, because a branch still showed them at that
    time. A commit may have any date, so the journal's own times count too: heads that a branch had since."""
    shown = refs.reflog.left_since(since)
    for id in _reachable(refs, heads):
        commit = refs.recorded(id)
        if id in shown:
            yield id
        if commit.date >= since:
            yield from (id, *commit.parents[:1])


def _newest_commits(refs: RefsState, head: str, count: int) -> Iterator[str]:
    for _ in range(count):
        yield head
        parents = refs.recorded(head).parents
        if not parents:
            return
        head = parents[0]


def _bases(refs: RefsState, kept: set[str], heads: set[str]) -> Iterator[str]:
    """Yields the commits where the histories of two heads meet.

    Each commit is painted with the colours of the heads that lead to it. If one of its children has all of its
    colours, the histories that meet here have met there already. Kept commits that no other kept commit leads to
    count as heads."""
    reachable = sorted(_reachable(refs, kept), key=lambda id: -refs.recorded(id).generation)
    colours: dict[str, int] = {}
    best: dict[str, int] = {}  # the colours of that child which has most of them
    inner = {parent for id in kept for parent in refs.recorded(id).parents}
    numbers = {id: number for number, id in enumerate(sorted(heads | (kept - inner)))}
    for id in reachable:
        own = colours.get(id, 0) | (1 << numbers[id] if id in numbers else 0)
        if own.bit_count() > 1 and own != best.get(id, 0):
            yield id
        for parent in refs.recorded(id).parents:
            colours[parent] = colours.get(parent, 0) | own
            if own.bit_count() > best.get(parent, 0).bit_count():
                best[parent] = own


def _ago(now: int, days: float) -> int:
    """Returns the time so many days before. The number is limited, because rules that older versions set may hold any
    number."""
    return now - round(min(days, DAYS_MAX) * _DAY_US)
