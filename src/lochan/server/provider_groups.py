"""Groups of another service in the server's settings, as text: which of them may sign in, and which are the lake's."""

from __future__ import annotations

from collections.abc import Iterator

from lochan.access.external import ProviderGroups
from lochan.access.users import check_name
from lochan.errors import Invalid


def provider_groups(setting: str, mapping: str | None, allowed: str | None) -> ProviderGroups:
    """`setting` is the section, such as `login.ldap`. Raises Invalid, which names the setting."""
    found: dict[str, tuple[str, ...]] = {}
    for pair in _parts(mapping):
        theirs, equals, ours = (each.strip() for each in pair.rpartition("="))
        if not equals or not theirs:
            raise Invalid(
                f"{setting}.groups has {pair!r}, which names no two groups",
                hint="such as Data Engineers=engineers, with commas between: the service's group, then the lake's",
            )
        try:
            check_name("group", ours)
        except Invalid as error:
            raise Invalid(f"{setting}.groups: {error.message}", hint=error.hint) from None
        found[theirs] = (*found.get(theirs, ()), ours)
    return ProviderGroups(found, frozenset(_parts(allowed)))


def _parts(text: str | None) -> Iterator[str]:
    return (each.strip() for each in (text or "").split(",") if each.strip())
