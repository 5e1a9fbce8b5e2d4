"""The lake's default retention rules: sets, shows and finds them for a repository that has no rules of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lochan.api.retention import LAKE_RULES, OWN_RULES, RetentionInfo, shown_rules, stored_rules
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.formats.collection_events import DropRule, RetentionSet
    from lochan.formats.record import Actor
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.state.default_rules import DefaultRules, Fits


async def default_rules(session: Session) -> DefaultRules | None:
    """Returns the lake's default rules, or None if they were never set."""
    from lochan.versioning.state.default_rules import DefaultRetention

    journal = await session.lake.journal()
    return (await journal.fresh()).of(DefaultRetention).find()


async def shown_default_rules(session: Session) -> RetentionInfo:
    found = await default_rules(session)
    return RetentionInfo() if found is None else msgspec.structs.replace(shown_rules(found.rules), source=LAKE_RULES)


async def set_default_rules(session: Session, info: RetentionInfo, *, actor: Actor) -> RetentionInfo:
    """Replaces the lake's default rules. Raises Invalid for rules that contradict each other or are never used."""
    from lochan.formats.collection_events import DefaultRetentionSet
    from lochan.journal.group import AppendRequest
    from lochan.versioning.catalog import own_key, request_fingerprint
    from lochan.versioning.collection.rule_checks import check_numbers
    from lochan.versioning.state.retention_checks import check_retention

    rules = stored_rules(info)
    check_retention(rules)
    check_numbers(rules)
    by, key, fingerprint = own_key(actor, "", request_fingerprint("default retention", info.as_json()))
    journal = await session.lake.journal()
    event = DefaultRetentionSet(rules)
    await journal.submit(AppendRequest(by, lambda state: [event], key, fingerprint))
    return await shown_default_rules(session)


async def rules_in_force(session: Session, repository: OpenRepository) -> RetentionSet:
    """Returns the rules that apply to a repository now: its own, or else the lake's, whether it has taken them over or
    not."""
    from lochan.versioning.state.default_rules import in_force

    refs, _ = await repository.refs()
    return in_force(refs.collection.rules_set, await default_rules(session), fits(repository))


async def shown_rules_in_force(session: Session, repository: OpenRepository) -> RetentionInfo:
    found = shown_rules(await rules_in_force(session, repository))
    refs, _ = await repository.refs()
    nobody = refs.collection.rules_set is None and found.source == OWN_RULES
    return msgspec.structs.replace(found, source="") if nobody else found


async def take_rules(session: Session, repository: OpenRepository) -> RetentionSet:
    """Returns the same rules, and records them in the repository's own journal. REQUIRES: it is called before
    everything that follows the rules."""
    from lochan.versioning.collection.take_default_rules import take_default_rules

    default = await default_rules(session)
    return await take_default_rules(repository, default, fits(repository), actor=session.actor)


def fits(repository: OpenRepository) -> Fits:
    """Returns a test whether a rule of the lake applies to this repository: one about paths applies to files, one about
    keys to rows that have such a key."""
    from lochan.formats.collection_events import RetentionSet
    from lochan.pools.retention import check_spans
    from lochan.pools.settings import settings_of
    from lochan.versioning.repositories import POOL

    def of_files(rule: DropRule) -> bool:
        return not (rule.low or rule.high or rule.older_days)

    def of_rows(rule: DropRule) -> bool:
        if rule.prefix:
            return False
        try:
            check_spans(RetentionSet(drops=(rule,)), settings_of(repository.repository))
        except Invalid:
            return False
        return True

    return of_rows if repository.repository.kind == POOL else of_files
