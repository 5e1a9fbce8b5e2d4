"""Parses which groups of the lake follow which groups of a provider, from one line of text.

    engineers -> developers, analysts; cn=staff,dc=example,dc=com -> all

Groups of a provider may have any character but a semicolon; those of the lake have no comma.
"""


def parse_group_map(text: str) -> dict[str, tuple[str, ...]]:
    """Parses the mapping. Raises ValueError."""
    found: dict[str, tuple[str, ...]] = {}
    for part in _parts(text):
        name, arrow, groups = part.rpartition("->")
        names = tuple(each.strip() for each in groups.split(","))
        if not arrow or not name.strip() or not all(names):
            raise ValueError(text)
        found[name.strip()] = (*found.get(name.strip(), ()), *names)
    return found


def parse_group_list(text: str) -> frozenset[str]:
    """Parses names of groups. Raises ValueError."""
    return frozenset(_parts(text))


def _parts(text: str) -> list[str]:
    found = [each.strip() for each in text.split(";") if each.strip()]
    if not found or not text.isprintable():
        raise ValueError(text)
    return found
