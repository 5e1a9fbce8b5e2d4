"""Reads If-Match and If-None-Match of a request that writes an object."""

from __future__ import annotations

from collections.abc import Mapping

from lochan.api.conditions import ANYTHING, NO_CONDITIONS, Conditions

IF_MATCH, IF_NONE_MATCH = "If-Match", "If-None-Match"
HEADERS = {
    IF_MATCH: "ETags: only if the object there has one of them",
    IF_NONE_MATCH: "`*`: only if there is no object; ETags: only if it has none of them",
}


def conditions(headers: Mapping[str, str]) -> Conditions:
    match, none_match = headers.get(IF_MATCH), headers.get(IF_NONE_MATCH)
    if match is None and none_match is None:
        return NO_CONDITIONS
    return Conditions(match=_etags(match), none_match=_etags(none_match))


def _etags(value: str | None) -> tuple[str, ...] | None:
    """Returns the ETags. They contain no commas: ours are digests, with the number of parts behind a dash."""
    if value is None:
        return None
    if value.strip() == ANYTHING:
        return (ANYTHING,)
    return tuple(each.strip().removeprefix("W/").strip('"') for each in value.split(","))
