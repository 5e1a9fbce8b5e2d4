"""How many values of fields that a pool declares as times are strings that say no time, as entries know it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from lochan.formats.entry import Entry
from lochan.formats.pool_settings import path_text
from lochan.pools.facts import from_metadata, has_facts


def unparsed_times(entries: Iterable[Entry]) -> dict[str, int]:
    """By field; only of fields that have some."""
    found: Counter[str] = Counter()
    for entry in entries:
        if not has_facts(entry.metadata):  # a file
            continue
        facts = from_metadata(entry.metadata, entry.path)
        for path, count in zip(facts.times, facts.strings, strict=True):
            found[path_text(path)] += count
    return {field: count for field, count in found.items() if count}
