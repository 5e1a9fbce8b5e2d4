"""The conditions of statements: from which addresses, and at which times, a statement applies.

The source address is that of the connection. Behind a proxy it is the proxy's, whatever headers say, because any client
can send a header."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from lochan.errors import Invalid
from lochan.formats.lake_events import StatementConditions

if TYPE_CHECKING:
    from lochan.access.state import AccessPolicy

ADDRESSES_MAX = 100
_MINUTE = 60_000_000
_DAY_MINUTES = 24 * 60
_HOURS = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])")


def evaluate_conditions(policies: "Iterable[AccessPolicy]", address: str, now: int) -> tuple[bool, ...]:
    """Returns, for each statement with conditions, in order, whether it applies now."""
    return tuple(
        _holds(each.conditions, address, now, denies=each.effect != "allow")
        for policy in policies
        for each in policy.statements
        if each.conditions is not None
    )


def _holds(conditions: StatementConditions, address: str, now: int, *, denies: bool) -> bool:
    """Returns whether the conditions hold. If the address is not known, an `allow` with addresses does not apply, and a
    `deny` does."""
    if conditions.after and now < conditions.after:
        return False
    if conditions.before and now >= conditions.before:
        return False
    if conditions.hours is not None and not _within(conditions.hours, now // _MINUTE % _DAY_MINUTES):
        return False
    if not conditions.addresses:
        return True
    known = _address(address)
    return denies if known is None else any(known in _network(each) for each in conditions.addresses)


def _within(hours: tuple[int, int], minute: int) -> bool:
    first, last = hours
    return first <= minute < last if first < last else minute >= first or minute < last


@lru_cache(maxsize=4_096)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Parses an address. An IPv4 address that is written as an IPv6 one is treated as IPv4. Returns None if the text is
    not an address."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


@lru_cache(maxsize=4_096)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


# --- as people write them --------------------------------------------------------------------------------------------
def parse_conditions(
    source: str | list[str] | None, after: object, before: object, hours: str | None
) -> StatementConditions | None:
    """Parses conditions as people write them. Raises Invalid."""
    networks = tuple(_parse_network(each) for each in ([source] if isinstance(source, str) else source or ()))
    if len(networks) > ADDRESSES_MAX:
        raise Invalid(f"it names {len(networks)} networks; {ADDRESSES_MAX} is the most")
    found = StatementConditions(networks, _moment(after), _moment(before), _parse_hours(hours))
    if found.after and found.before and found.after >= found.before:
        raise Invalid("`before` is not later than `after`, so it would never count")
    return None if found == StatementConditions() else found


def condition_row(conditions: StatementConditions) -> dict[str, object]:
    """Returns the conditions in the form that `parse_conditions` reads."""
    found: dict[str, object] = {}
    if conditions.addresses:
        found["source"] = list(conditions.addresses)
    if conditions.after:
        found["after"] = _text(conditions.after)
    if conditions.before:
        found["before"] = _text(conditions.before)
    if conditions.hours is not None:
        first, last = conditions.hours
        found["hours"] = f"{first // 60:02}:{first % 60:02}-{last // 60:02}:{last % 60:02}"
    return found


def _parse_network(text: str) -> str:
    try:
        return str(ip_network(text.strip()))
    except ValueError as error:
        raise Invalid(f"{text[:64]!r} is not a network: {error}", hint="such as 10.0.0.0/8, or 2001:db8::1") from None


def _moment(given: object) -> int:
    """Converts a text, a time or a day to a time."""
    if given is None:
        return 0
    try:
        found = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    except ValueError:
        raise Invalid(f"{given!r} is not a time", hint="such as 2026-11-30T18:00:00Z") from None
    moment = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000_000)


def _text(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1_000_000, UTC).isoformat().replace("+00:00", "Z")


def _parse_hours(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = _HOURS.fullmatch(text.replace(" ", ""))
    first, last = (0, 0) if found is None else (int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4]))
    if found is None or first == last or max(first, last) > _DAY_MINUTES:
        raise Invalid(f"{text[:64]!r} are not hours of a day", hint="such as 08:00-18:00, in UTC")
    return first, last
