"""Branches and tags: created, deleted, restored, renamed, reset and protected."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from lochan.errors import NotFound, NothingToDo, PreconditionFailed, Refused
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import (
    BranchCreated,
    BranchDeleted,
    BranchRenamed,
    BranchRestored,
    Moved,
    Protection,
    ProtectionSet,
    ReadOnlySet,
    TagCreated,
    TagDeleted,
)
from lochan.journal.keys import CarriedOut
from lochan.versioning.gate import CREATE_BRANCH, CREATE_TAG, DELETE_BRANCH, DELETE_TAG, UNJUDGED, Judged, RefChange
from lochan.versioning.heads.land import PreparedMove, land
from lochan.versioning.idempotency import nothing, once, same
from lochan.versioning.names import check_ref_name
from lochan.versioning.open_repository import Decide, OpenRepository
from lochan.versioning.revisions.resolve import resolve
from lochan.versioning.state.protection import DIRECT, PULL_VERSION, VERSION
from lochan.versioning.state.refs import Refs


@once(same)
async def create_branch(
    repository: OpenRepository, name: str, source: str, *, hidden: bool = False, actor: Actor
) -> str:
    """Creates a branch from any ref. Changes that are staged on a source branch stay there. Returns the commit."""
    check_ref_name(name)
    at = await _resolve(repository, source)
    judged = await _judge(repository, actor, RefChange(CREATE_BRANCH, name, at))
    made = await _commit_of(repository, actor, lambda refs: [BranchCreated(name, at, hidden)])
    await judged.landed()
    return made


@once(nothing)
async def delete_branch(repository: OpenRepository, name: str, default: str, *, actor: Actor) -> None:
    """Deletes the branch. It can be restored, with the changes staged on it."""
    if name == default:
        raise Refused(f"{name!r} is the default branch", hint="a repository always has one")
    judged = UNJUDGED
    if repository.gate is not None:
        refs, _ = await repository.refs()
        judged = await _judge(repository, actor, RefChange(DELETE_BRANCH, name, refs.branch(name).head))
    await repository.submit_decided(actor, lambda refs: [BranchDeleted(name, refs.branch(name).incarnation)])
    await judged.landed()


@once(same)
async def restore_branch(repository: OpenRepository, name: str, *, actor: Actor) -> str:
    """Restores the branch of that name that was deleted last. Returns its head."""

    def decide(refs: Refs) -> Sequence[Event]:
        deleted = refs.deleted(name)
        if not deleted:
            raise NotFound(f"no deleted branch {name!r} is kept").named(name, refs.deleted_names)
        return [BranchRestored(name, deleted[0].incarnation)]

    refs, _ = await repository.refs()
    kept = refs.deleted(name)
    judged = await _judge(repository, actor, RefChange(CREATE_BRANCH, name, kept[0].head)) if kept else UNJUDGED
    made = await _commit_of(repository, actor, decide)
    await judged.landed()
    return made


@once(same)
async def rename_branch(repository: OpenRepository, name: str, to: str, default: str, *, actor: Actor) -> str:
    """Renames the branch. Staged changes stay with it. A commit of the branch that is under way starts over, and finds
    no such branch. Returns the head."""
    check_ref_name(to)
    if name == default:
        raise Refused(f"{name!r} is the default branch", hint="make another branch from it instead")
    refs, _ = await repository.refs()
    head = refs.branch(name).head
    gone = await _judge(repository, actor, RefChange(DELETE_BRANCH, name, head))
    come = await _judge(repository, actor, RefChange(CREATE_BRANCH, to, head))
    made = await _commit_of(repository, actor, lambda refs: [BranchRenamed(name, refs.branch(name).incarnation, to)])
    await gone.landed()
    await come.landed()
    return made


@once(same)
async def hard_reset(repository: OpenRepository, name: str, target: str, *, actor: Actor) -> str:
    """Moves the branch to that commit and drops all changes staged on it, in one event."""

    async def prepare(turn: str) -> PreparedMove:
        refs, _ = await repository.refs()
        branch = refs.branch(name)
        id = _commit_id(repository, refs, target)
        return PreparedMove(Moved(name, branch.incarnation, branch.head, id, "reset", discard=True, turn=turn))

    return str(await land(repository, name, prepare, actor=actor))


@once(nothing)
async def reset_staged(repository: OpenRepository, name: str, *, actor: Actor) -> None:
    """Drops all staged changes. The head does not move."""

    def decide(refs: Refs) -> Sequence[Event]:
        branch = refs.branch(name)
        if branch.layers.empty:
            raise NothingToDo(f"nothing is staged on branch {name!r}")
        return [Moved(name, branch.incarnation, branch.head, branch.head, "reset", discard=True)]

    await repository.submit_decided(actor, decide)


@once(same)
async def create_tag(repository: OpenRepository, name: str, source: str, *, actor: Actor) -> str:
    """Creates a tag of any ref. Returns the commit."""
    check_ref_name(name)
    at = await _resolve(repository, source)
    judged = await _judge(repository, actor, RefChange(CREATE_TAG, name, at))
    made = await _commit_of(repository, actor, lambda refs: [TagCreated(name, at)])
    await judged.landed()
    return made


@once(nothing)
async def delete_tag(repository: OpenRepository, name: str, *, actor: Actor) -> None:
    refs, _ = await repository.refs()
    judged = await _judge(repository, actor, RefChange(DELETE_TAG, name, refs.find_tag(name) or ""))
    await repository.submit(actor, TagDeleted(name))
    await judged.landed()


async def _judge(repository: OpenRepository, actor: Actor, change: RefChange) -> Judged:
    """Asks the hooks of the repository about the change. Raises HookRefused."""
    return UNJUDGED if repository.gate is None else await repository.gate.judge_ref(change, actor)


async def _resolve(repository: OpenRepository, ref: str) -> str:
    """Returns the commit that the ref names now, which is the one that hooks judge."""
    return (await repository.resolve(ref)).commit_id


async def _commit_of(repository: OpenRepository, actor: Actor, decide: Decide) -> str:
    """Returns the commit that the event's fold returns."""
    return str(await repository.submit_decided(actor, decide))


def _commit_id(repository: OpenRepository, refs: Refs, ref: str) -> str:
    return resolve(refs, ref, now=repository.clock.wall()).commit_id


# --- protection ------------------------------------------------------------------------------------------------------
class PullNeeds(NamedTuple):
    """Conditions of a rule for the pull requests by which a branch changes."""

    pull: bool = False  # only a pull request may change the branch; each of the other fields implies it
    approvals: int = 0
    checks: tuple[str, ...] = ()
    keep_stale: bool = False


NO_PULL = PullNeeds()


async def _rules_now(repository: OpenRepository, before: CarriedOut) -> tuple[Protection, ...]:
    return repository.folded().guard.rules


@once(_rules_now)
async def protect(
    repository: OpenRepository,
    pattern: str,
    blocked: Sequence[str] = DIRECT,
    mergers: Sequence[str] = (),
    linear: bool = False,
    needs: PullNeeds = NO_PULL,
    *,
    actor: Actor,
) -> tuple[Protection, ...]:
    """Protects the branches whose names match the pattern. Replaces a rule with the same pattern. Returns all rules."""
    rule = new_rule(pattern, blocked, mergers, linear, needs)

    def decide(refs: Refs) -> Sequence[Event]:
        others = (each for each in refs.guard.rules if each.pattern != pattern)
        return [ProtectionSet((*others, rule))]

    await repository.submit_decided(actor, decide)
    return repository.folded().guard.rules


@once(_rules_now)
async def set_protections(
    repository: OpenRepository,
    rules: Sequence[Protection],
    expected: Sequence[Protection] | None,
    *,
    actor: Actor,
) -> tuple[Protection, ...]:
    """Replaces all rules by one event. Raises PreconditionFailed if the rules are not the expected ones, whatever their
    versions."""
    wanted, before = tuple(rules), None if expected is None else _without_versions(expected)

    def decide(refs: Refs) -> Sequence[Event]:
        if before is not None and _without_versions(refs.guard.rules) != before:
            raise PreconditionFailed("the rules have changed since they were read", hint="read them again")
        return [ProtectionSet(wanted)]

    await repository.submit_decided(actor, decide)
    return repository.folded().guard.rules


def new_rule(
    pattern: str,
    blocked: Sequence[str],
    mergers: Sequence[str] = (),
    linear: bool = False,
    needs: PullNeeds = NO_PULL,
) -> Protection:
    """Makes a rule. A rule that asks for pull requests also blocks every direct change."""
    if needs == NO_PULL:
        return Protection(pattern, tuple(dict.fromkeys(blocked)), VERSION, tuple(dict.fromkeys(mergers)), linear)
    return Protection(
        pattern,
        tuple(dict.fromkeys((*DIRECT, *blocked))),
        PULL_VERSION,
        tuple(dict.fromkeys(mergers)),
        linear,
        True,
        needs.approvals,
        tuple(dict.fromkeys(needs.checks)),
        needs.keep_stale,
    )


def _without_versions(rules: Sequence[Protection]) -> set[Protection]:
    return {msgspec.structs.replace(each, version=0) for each in rules}


@once(_rules_now)
async def unprotect(repository: OpenRepository, pattern: str, *, actor: Actor) -> tuple[Protection, ...]:
    def decide(refs: Refs) -> Sequence[Event]:
        others = tuple(each for each in refs.guard.rules if each.pattern != pattern)
        if len(others) == len(refs.guard.rules):
            patterns = [each.pattern for each in others]
            hint = "`lochan branch protection REPO` shows those there are"
            raise NotFound(f"no rule protects {pattern!r}", hint=hint).named(pattern, lambda: patterns)
        return [ProtectionSet(others)]

    await repository.submit_decided(actor, decide)
    return repository.folded().guard.rules


async def protections(repository: OpenRepository) -> tuple[Protection, ...]:
    refs, _ = await repository.refs()
    return refs.guard.rules


@once(nothing)
async def set_read_only(repository: OpenRepository, on: bool, *, actor: Actor) -> None:
    await repository.submit(actor, ReadOnlySet(on))
