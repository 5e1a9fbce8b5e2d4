"""A repository adopts the lake's default retention rules, by an event in its own journal."""

from contextlib import suppress

import msgspec

from lochan.errors import NotFound, Refused
from lochan.formats.collection_events import RetentionSet
from lochan.formats.record import Actor
from lochan.versioning.collection.store_clock import store_time
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.default_rules import DefaultRules, Fits, in_force

_NOTED = "noted"


async def take_default_rules(
    repository: OpenRepository, default: DefaultRules | None, fits: Fits, *, actor: Actor
) -> RetentionSet:
    """Returns the rules that apply in the repository: its own, or else the lake's. The lake's are written to its
    journal if they are not there yet."""
    refs, _ = await repository.refs()
    before = refs.collection.rules_set
    found = in_force(before, default, fits)
    if found.default == (0 if before is None else before.default):
        return found
    with suppress(Refused):  # rules of its own were set meanwhile
        await repository.submit(actor, await _with_dates(repository, found))
    return repository.folded().collection.retention


async def replace_own_rules(
    repository: OpenRepository, default: DefaultRules | None, fits: Fits, *, actor: Actor
) -> RetentionSet:
    """Replaces the repository's own rules by the lake's, which it follows from now on. Raises NotFound if the lake has
    none."""
    if default is None:
        raise NotFound("this lake has no default rules", hint="`lochan gc rules set --keep '*=90d'` sets them")
    event = msgspec.structs.replace(await _with_dates(repository, default.fitted(fits)), replaces_own=True)
    await repository.submit(actor, event)
    return event


async def _with_dates(repository: OpenRepository, rules: RetentionSet) -> RetentionSet:
    """Sets the time from which the readers of this repository note their reads, if the rules declare that they do: the
    moment at which the rules are adopted."""
    if rules.readers != _NOTED:
        return rules
    refs, _ = await repository.refs()
    before = refs.collection.retention
    now = before.readers_since or round(await store_time(repository.store, repository.repository.id) * 1e6)
    return msgspec.structs.replace(rules, readers_since=now)
