"""Protected branches and read-only repositories, set and lifted."""

from collections.abc import Sequence

from lochan.errors import NotFound
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import Protection, ProtectionSet, ReadOnlySet
from lochan.journal.request_key import CarriedOut
from lochan.versioning.idempotency import nothing, once
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.guard import ACTIONS
from lochan.versioning.state.refs import Refs


async def _rules_now(repository: OpenRepository, before: CarriedOut) -> tuple[Protection, ...]:
    return repository.folded().guard.rules


@once(_rules_now)
async def protect(
    repository: OpenRepository, pattern: str, blocked: Sequence[str] = ACTIONS, *, actor: Actor
) -> tuple[Protection, ...]:
    """Branches whose names fit the pattern; a rule of that pattern is replaced. Returns all the rules."""
    rule = Protection(pattern, tuple(dict.fromkeys(blocked)))

    def decide(refs: Refs) -> Sequence[Event]:
        others = (each for each in refs.guard.rules if each.pattern != pattern)
        return [ProtectionSet((*others, rule))]

    await repository.submit_decided(actor, decide)
    return repository.folded().guard.rules


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
