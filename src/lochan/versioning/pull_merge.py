"""Ends a pull request: it is merged or squashed, or its target moves to the commits of its source. It also resolves
conflicts, by a merge of the target into the source, so that the decisions are a commit that can be reviewed."""

from collections.abc import Mapping
from shlex import quote
from typing import Final

import msgspec

from lochan.errors import Invalid, NothingToDo, PathsInTheWay, Refused
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved, MoveOrigin
from lochan.tree.merge import BASE, DEST, SOURCE, Strategy
from lochan.versioning.heads.joins import MoveBase
from lochan.versioning.heads.land import PreparedMove, land
from lochan.versioning.heads.moves import (
    CommitMessage,
    MovePlan,
    PathConflicts,
    PullMerge,
    join_source,
    merge,
    merge_source,
    move,
)
from lochan.versioning.idempotency import once, same
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.revisions.graph import is_ancestor
from lochan.versioning.revisions.resolve import ResolvedRef
from lochan.versioning.state.branch import dirty
from lochan.versioning.state.merge_gate import rules_unmet, unmet
from lochan.versioning.state.pulls import PullState
from lochan.versioning.state.refs import Refs

MERGE, SQUASH, FAST = "merge", "squash", "fast"
WAYS: Final = (MERGE, SQUASH, FAST)
OURS, THEIRS = "ours", "theirs"  # the target's version of a path, and the source's
# The target is merged into the source here, so the source's version is that of the destination.
_TAKES: Final = {OURS: SOURCE, THEIRS: DEST, "base": BASE, "bytes": DEST}
TAKES: Final = tuple(_TAKES)


@once(same)
async def merge_pull(
    repository: OpenRepository,
    way: str,
    message: CommitMessage,
    pull: PullMerge,
    *,
    leave_staged: bool = False,
    actor: Actor,
) -> str:
    """Merges a pull request. Returns the new head of the target. Raises RulesUnmet with every reason, PathConflicts,
    NothingToDo, Dirty."""
    if way not in WAYS:
        raise Invalid(f"{way!r} is no way to merge", hint=f"choose from {', '.join(WAYS)}")
    refs, _ = await repository.refs()
    found = refs.pulls.need_open(pull.id)
    await check_rules(refs, found, way, pull, actor)
    try:
        return await _merge(repository, found, way, message, pull, leave_staged, actor)
    except NothingToDo:
        repository.folded().pulls.need_open(found.id)  # it raises if the request was merged meanwhile
        raise


async def _merge(
    repository: OpenRepository,
    found: PullState,
    way: str,
    message: CommitMessage,
    pull: PullMerge,
    leave_staged: bool,
    actor: Actor,
) -> str:
    if way == FAST:
        return await _go_on(repository, found, pull, leave_staged, actor)
    says = message._replace(message=message.message or f"Merge pull request {found.id}: {found.title}")
    try:
        return await merge(
            repository,
            found.source,
            found.target,
            says,
            actor=actor,
            squash=way == SQUASH,
            staged_source=leave_staged,
            pull=pull,
        )
    except PathConflicts as error:
        error.hint = f"`lochan pr resolve REPO {quote(found.id)}` resolves them, by a commit on {found.source!r}"
        raise


async def check_rules(refs: Refs, found: PullState, way: str, pull: PullMerge, actor: Actor) -> None:
    """Checks the rules before trees are read; the fold decides. Raises RulesUnmet."""
    inactive = await pull.inactive()
    of_rules = refs.guard.of(found.target).unmet(actor.user, lambda: way != MERGE)
    reasons = [*unmet(refs, found, inactive), *of_rules]
    if reasons:
        raise rules_unmet(found.id, reasons)


async def _go_on(
    repository: OpenRepository, found: PullState, pull: PullMerge, leave_staged: bool, actor: Actor
) -> str:
    async def prepare(turn: str) -> PreparedMove:
        refs, _ = await repository.refs()
        target, source = refs.branch(found.target), refs.branch(found.source)
        for each in (target, *(() if leave_staged else (source,))):
            if not each.layers.empty:
                raise dirty(each.name)
        if target.head == source.head:
            raise NothingToDo(f"everything in {source.name!r} is there already", hint="there is nothing to merge")
        if not is_ancestor(refs.recorded, target.head, source.head):
            raise Refused(
                f"branch {target.name!r} has commits that {source.name!r} has not",
                hint="squash it, or rebase the source first",
            )
        inactive = await pull.inactive()
        event = Moved(target.name, target.incarnation, target.head, source.head, "merge", turn=turn)
        return PreparedMove(msgspec.structs.replace(event, pull=pull.id, inactive=inactive))

    return str(await land(repository, found.target, prepare, actor=actor))


@once(same)
async def resolve_conflicts(
    repository: OpenRepository, id: str, takes: Mapping[str, str], message: CommitMessage, *, actor: Actor
) -> str:
    """Merges the target into the source. `takes` says for each path that both have changed whose version stays: that of
    the target (ours), of the source (theirs), or of neither (base). Returns the new head of the source. Raises Invalid
    for a path that is no conflict, PathsInTheWay for conflicts that were not decided."""
    if repository.repository.kind == POOL:
        raise Refused("conflicts of a pool are rows, and are not resolved one by one", hint="rebase the source")
    strategy = Strategy(prefixes={path: _take(path, how) for path, how in takes.items()})
    refs, _ = await repository.refs()
    pull = refs.pulls.need_open(id)
    refs.branch(pull.target)
    theirs = await merge_source(repository, pull.target, pull.source, True)

    async def compute(on: MoveBase) -> MovePlan:
        await _check_decided(repository, on, theirs, pull, takes)
        joined = await join_source(repository, on, theirs, pull.target, strategy)
        origin = MoveOrigin(theirs.commit_id, "", strategy.otherwise, dict(strategy.prefixes))
        says = f"Resolve {len(takes)} conflict{'s' if len(takes) > 1 else ''} with {pull.target!r}"
        return MovePlan(joined.tree, (on.id, theirs.commit_id), says, new=joined.new, origin=origin)

    return await move(repository, pull.source, "merge", compute, message, actor=actor)


def _take(path: str, how: str) -> str:
    if how not in _TAKES:
        raise Invalid(f"{path!r}: {how!r} is no version to take", hint=f"choose from {', '.join(TAKES)}")
    return _TAKES[how]


async def _check_decided(
    repository: OpenRepository, on: MoveBase, theirs: ResolvedRef, pull: PullState, takes: Mapping[str, str]
) -> None:
    """Checks that exactly the conflicts were decided. A merge decides by the beginnings of paths, and must not decide a
    path that nobody was asked about."""
    conflicts: set[str] = set()
    try:
        await join_source(repository, on, theirs, pull.target, Strategy())
    except PathConflicts as error:
        async for table in error.every():
            conflicts.update(table["path"].to_pylist())
    extra = sorted(takes.keys() - conflicts)
    if extra:
        raise Invalid(f"{extra[0]!r} is not a conflict of pull request {pull.id}", hint="name only those that are")
    left = sorted(conflicts - takes.keys())
    if left:
        raise PathsInTheWay(
            f"{len(left)} of {len(conflicts)} conflicts are not decided: {', '.join(map(repr, left[:3]))}",
            paths=left[:1_000],
            count=len(left),
            hint="say which version to take for each of them",
        )
