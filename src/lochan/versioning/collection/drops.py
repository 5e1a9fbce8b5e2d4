"""Drops live objects of a branch by its rules: finds them over columns, and drops them in a commit naming the rules.

The first rule that matches a branch and a path decides about it. A path that a held branch has is not dropped, nor one
that has staged changes (S5). The drops are computed anew on every head that the commit is tried on (S6).

    entries of the head ──▶ the rule of each ──▶ unwritten, or unread too ──▶ not held ──▶ not staged ──▶ one commit
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import PathsInTheWay
from lochan.failpoints import fp
from lochan.formats.collection_events import DropRule, RetentionSet
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved
from lochan.usage.last_read import ReadPaths, UnknownReads
from lochan.versioning import bulk
from lochan.versioning.collection.written import Mask, WrittenPaths, written_since
from lochan.versioning.heads.commit import commit_record
from lochan.versioning.heads.land import PathTest, PreparedMove, land
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import moved_underneath
from lochan.versioning.state.refs import Refs

DAY_US = 86_400_000_000
WHY = "retention"  # the reason of a head move
RULES = "lochan-retention"  # in a commit's metadata: the names of the rules that decided
_TRIES = 5
_SHOWN = 10

Reads = Callable[[int], Awaitable[ReadPaths | UnknownReads]]  # returns what was read since that moment
Within = Callable[[DropRule, pa.RecordBatch], Mask]  # returns which entries lie in the rule's span of the key


class DropRequest(NamedTuple):
    now: int  # by the store's clock, in microseconds since 1970
    reads: Reads
    within: Within  # only for a pool


class RuleDrops(NamedTuple):
    """The objects that one rule drops from one branch."""

    branch: str
    rule: str
    objects: int = 0
    bytes: int = 0
    held: int = 0  # objects that stay because a held branch has their paths
    staged: int = 0  # objects that stay because they have staged changes
    examples: tuple[str, ...] = ()
    waits: str = ""  # the reason why the rule drops nothing now
    rows: int = 0  # only of a pool
    commit: str = ""


class FoundDrops(NamedTuple):
    head: str  # the head of the branch that the drops were computed on
    paths: pa.Array  # the paths that are dropped, in order
    parts: tuple[RuleDrops, ...]


def rules_of(retention: RetentionSet, branch: str) -> tuple[DropRule, ...]:
    """Returns the rules about objects, in the order in which they decide."""
    found = (rule for rule in retention.drops if fnmatchcase(branch, rule.pattern))
    return tuple(rule for rule in found if not rule.older_days)


async def find_drops(
    repository: OpenRepository, branch: str, retention: RetentionSet, request: DropRequest
) -> FoundDrops:
    """Returns what the rules would drop from the head now. It changes nothing."""
    rules = rules_of(retention, branch)
    if all(rule.never for rule in rules):
        return FoundDrops("", _NONE, ())
    written, reads, waits = await _evidence(repository, branch, rules, request)
    refs, _ = await repository.refs()
    found = refs.branch(branch)
    if any(each.head != found.head for each in written.values()):
        raise moved_underneath(branch)
    tree = await repository.tree(refs.commit(found.head))
    tables = [_EMPTY]
    async for batch in tree.scan(_common([rule.prefix for rule in rules])):
        tables += _decide(batch, rules, written, reads, request.within)
    gone = pa.concat_tables(tables).combine_chunks()
    held = await _held_paths(repository, refs, branch, retention.holds, gone["path"].combine_chunks())
    view = await repository.view_of(refs.commit(found.head), found.layers)
    paths = gone["path"].combine_chunks()
    staged = pc.is_in(paths, await view.paths_staged(paths)).to_numpy(zero_copy_only=False) & ~held
    going = ~held & ~staged
    parts = [
        _part(gone, branch, at, rule, {"going": going, "held": held, "staged": staged}, waits.get(at, ""))
        for at, rule in enumerate(rules)
        if not rule.never
    ]
    return FoundDrops(found.head, paths.filter(pa.array(going)), tuple(parts))


async def drop(
    repository: OpenRepository, branch: str, retention: RetentionSet, request: DropRequest, *, actor: Actor
) -> tuple[RuleDrops, ...]:
    """Drops what the rules drop, by one commit of the branch. Raises Protected or ReadOnly."""
    found = FoundDrops("", _NONE, ())

    async def prepare(turn: str) -> PreparedMove | None:
        nonlocal found
        found = await find_drops(repository, branch, retention, request)
        if not len(found.paths):
            raise _NothingLeft
        refs, mint = await repository.refs()
        at = refs.branch(branch)
        if at.head != found.head:
            return None
        head = refs.commit(at.head)
        tree = await repository.trees.apply(await repository.tree(head), bulk.tombstones(found.paths), mint)
        fp("drop.computed")
        commit = commit_record(tree, {at.head: head}, _message(found), actor, repository.clock.wall(), traced=False)
        event = Moved(branch, at.incarnation, at.head, commit.id, WHY, (commit,), read_at=mint, turn=turn)
        test = PathTest(branch, found.paths)
        await test.look(await repository.view_of(head, at.layers), at.layers)
        return PreparedMove(event, test)

    for _ in range(_TRIES):
        try:
            id = await land(repository, branch, prepare, actor=actor)
        except _NothingLeft:
            return found.parts
        except PathsInTheWay:  # staged since they were found
            continue
        fp("drop.landed")
        return tuple(each._replace(commit=id) if each.objects else each for each in found.parts)
    return tuple(each._replace(objects=0, bytes=0, waits="others write to these paths") for each in found.parts)


class _NothingLeft(Exception):
    pass


async def _evidence(
    repository: OpenRepository, branch: str, rules: Sequence[DropRule], request: DropRequest
) -> tuple[dict[int, WrittenPaths], dict[int, ReadPaths], dict[int, str]]:
    """Returns what was written and read, by the position of each rule. A rule that is missing in the first two must
    wait; the third has the reason."""
    written: dict[int, WrittenPaths] = {}
    reads: dict[int, ReadPaths] = {}
    waits: dict[int, str] = {}
    seen: dict[float, WrittenPaths] = {}
    for at, rule in enumerate(rules):
        days = rule.unwritten_days or rule.unread_days
        if rule.never:
            continue
        since = request.now - round(days * DAY_US)
        if rule.unread_days:
            found = await request.reads(since)
            if isinstance(found, UnknownReads):
                waits[at] = f"reads may have gone unnoticed up to {_moment(found.until)}: {found.why}"
                continue
            reads[at] = found
        if days not in seen:
            seen[days] = await written_since(repository, branch, since)
        written[at] = seen[days]
        if written[at].everything:
            waits[at] = f"the branch is not {days:g} days old"
    return written, reads, waits


def _decide(
    batch: pa.RecordBatch,
    rules: Sequence[DropRule],
    written: Mapping[int, WrittenPaths],
    reads: Mapping[int, ReadPaths],
    within: Within,
) -> list[pa.Table]:
    paths = batch.column("path")
    free = np.ones(len(batch), np.bool_)
    found = []
    for at, rule in enumerate(rules):
        mine = free & pc.starts_with(paths, rule.prefix).to_numpy(zero_copy_only=False) & within(rule, batch)
        free &= ~mine
        if at not in written or not mine.any():
            continue
        mine &= written[at].unwritten(batch)
        if at in reads:
            mine &= ~reads[at].read(paths)
        kept = batch.select(["path", "size"]).filter(pa.array(mine))  # the block columns are not copied
        found.append(pa.table([*kept.columns, pa.repeat(pa.scalar(at, pa.int32()), len(kept))], _EMPTY.schema))
    together = pa.concat_tables(found) if found else _EMPTY
    return [together.sort_by("path")] if len(found) > 1 else [together]


async def _held_paths(
    repository: OpenRepository, refs: Refs, branch: str, holds: Sequence[str], paths: pa.StringArray
) -> Mask:
    """Returns which of these paths a held branch has, committed or staged."""
    found = np.zeros(len(paths), np.bool_)
    for other in refs.branches():
        if not len(paths) or not any(fnmatchcase(other.name, pattern) for pattern in holds):
            continue
        if other.name == branch:
            return np.ones(len(paths), np.bool_)
        head = refs.commit(other.head)
        found |= await (await repository.tree(head)).has_many(paths)
        if not other.layers.empty:
            view = await repository.view_of(head, other.layers)
            found |= pc.is_in(paths, await view.paths_staged(paths)).to_numpy(zero_copy_only=False)
    return found


def _part(gone: pa.Table, branch: str, at: int, rule: DropRule, masks: Mapping[str, Mask], waits: str) -> RuleDrops:
    mine = pc.equal(gone["rule"], at).to_numpy()
    going = gone.filter(pa.array(mine & masks["going"]))
    return RuleDrops(
        branch,
        rule.name,
        len(going),
        pc.sum(going["size"]).as_py() or 0,
        int((mine & masks["held"]).sum()),
        int((mine & masks["staged"]).sum()),
        tuple(going["path"].slice(0, _SHOWN).to_pylist()),
        waits,
    )


def _message(found: FoundDrops) -> CommitMessage:
    names = [each.rule for each in found.parts if each.objects]
    count = f"{len(found.paths):,} object{'' if len(found.paths) == 1 else 's'}"
    text = f"Drop {count} by the retention rule{'' if len(names) == 1 else 's'} {', '.join(names)}"
    return CommitMessage(text, {RULES: ", ".join(names)})


def _moment(micros: int) -> str:
    return f"{datetime.fromtimestamp(micros / 1_000_000, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _common(prefixes: Sequence[str]) -> str:
    from os.path import commonprefix

    return commonprefix(list(prefixes))  # noqa: RUF071 - letter by letter is intended


_NONE = pa.array([], pa.string())
_EMPTY = pa.table({"path": _NONE, "size": pa.array([], pa.int64()), "rule": pa.array([], pa.int32())})
