"""Finds an identity in the directory: the entry of a name, whether the password is its own, and its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from stringprep import in_table_b1
from unicodedata import normalize

from lochan.access.external import ExternalIdentity
from lochan.ids import Ids
from lochan.server.ldap.connection import DirectoryConnection, DirectoryEntry, DirectoryFailure
from lochan.server.ldap.settings import DirectorySettings

_NAME_LENGTH_MAX = 256
_PASSWORD_LENGTH_MAX = 1_024
_GROUPS_MAX = 1_000  # the most groups of one user; a directory with more is likely to be misunderstood
_AT_ONCE = 40  # entries whose groups one search returns
_BINARY_ID = "objectguid"  # the id of Active Directory: 16 bytes, the first three numbers with the lowest byte first


def find_identity(
    connection: DirectoryConnection, settings: DirectorySettings, name: str, password: str
) -> ExternalIdentity | None:
    """Returns the identity, or None if there is no such name or the password is wrong; both need equally many requests.
    Raises DirectoryFailure."""
    name = plain_name(name)
    if not name or not can_be_tried(password):
        return None
    try:
        connection.open()
        connection.bind_reader()
        entry = _user_entry(connection, settings, name)
        if entry is None:
            connection.bind(f"cn={Ids().access_key_id()},{settings.user_base}", Ids().access_key_secret())
            return None
        if not connection.bind(entry.dn, password):
            return None
        connection.bind_reader()
        user = _user_name(settings, entry, name)
        groups = _group_names(connection, settings, entry.dn, user) if settings.group_base else frozenset()
        return ExternalIdentity(settings.source, _subject(settings, entry), user, groups)
    finally:
        connection.close()


def plain_name(given: str) -> str:
    """Returns the one spelling of a name, as far as directories see no difference, or an empty text if no user can have
    this name. So wrong passwords for one name are counted together, however it is written."""
    name = " ".join(normalize("NFKC", given[: 4 * _NAME_LENGTH_MAX]).split())
    is_plain = 0 < len(name) <= _NAME_LENGTH_MAX and name.isprintable() and not any(map(in_table_b1, name))
    return name if is_plain else ""


def can_be_tried(password: str) -> bool:
    """Returns whether a password may be sent. An empty one would let anybody in; one with a control character may be
    cut there, and be empty."""
    return 0 < len(password) <= _PASSWORD_LENGTH_MAX and not any(
        ord(each) < 32 or "\ud800" <= each <= "\udfff" for each in password
    )


def _user_entry(connection: DirectoryConnection, settings: DirectorySettings, name: str) -> DirectoryEntry | None:
    text = fill_in(settings.user_filter, name=name)
    attributes = (settings.name_attribute, settings.id_attribute)
    found = connection.search(settings.user_base, text, attributes, 2)
    if len(found) > 1:
        raise DirectoryFailure(f"the filter {text} matches {found[0].dn!r} and {found[1].dn!r}: it must match one")
    return found[0] if found and found[0].dn else None


def _group_names(connection: DirectoryConnection, settings: DirectorySettings, user: str, name: str) -> frozenset[str]:
    """Returns the groups of the user, those that these are members of, and so on, as far as `group_depth`."""
    names: set[str] = set()
    seen: set[str] = set()
    filters = [fill_in(settings.group_filter, dn=user, name=name)]
    for _ in range(settings.group_depth):
        found = {each.dn: each for each in _groups(connection, settings, filters) if each.dn not in seen}
        seen |= found.keys()
        if len(seen) > _GROUPS_MAX:
            raise DirectoryFailure(f"{user!r} is in more than {_GROUPS_MAX} groups below {settings.group_base!r}")
        names |= {value for each in found.values() for value in _texts(each.attributes, settings.group_attribute)}
        if "{dn}" not in settings.group_filter or not found:
            break  # such groups name users by their names, and have no groups in them
        # No name stands for a group: what matches a user's must not match a group of the same name.
        filters = [fill_in(settings.group_filter, dn=each, name="") for each in sorted(found)]
    return frozenset(names)


def _groups(
    connection: DirectoryConnection, settings: DirectorySettings, filters: Sequence[str]
) -> list[DirectoryEntry]:
    found: list[DirectoryEntry] = []
    for start in range(0, len(filters), _AT_ONCE):
        part = filters[start : start + _AT_ONCE]
        text = part[0] if len(part) == 1 else f"(|{''.join(part)})"
        found += connection.search(settings.group_base, text, (settings.group_attribute,), _GROUPS_MAX)
    return found


def _subject(settings: DirectorySettings, entry: DirectoryEntry) -> str:
    """Returns an id that stays the same when the entry is renamed."""
    values = entry.attributes.get(settings.id_attribute, ())
    if len(values) != 1 or not values[0]:
        raise DirectoryFailure(
            f"{entry.dn!r} has {len(values)} values of {settings.id_attribute}, the unique id, and must have one"
        )
    if settings.id_attribute.lower() == _BINARY_ID and len(values[0]) == 16:
        return guid(values[0])
    return _text(values[0])


def guid(value: bytes) -> str:
    """Returns the id as people and other programs write it."""
    first, second, third = value[3::-1], value[5:3:-1], value[7:5:-1]
    return "-".join(each.hex() for each in (first, second, third, value[8:10], value[10:]))


def _user_name(settings: DirectorySettings, entry: DirectoryEntry, given: str) -> str:
    """Returns the name as the directory writes it; of several, the given one."""
    values = _texts(entry.attributes, settings.name_attribute)
    if not values:
        raise DirectoryFailure(f"{entry.dn!r} has no {settings.name_attribute}, which is to be the user's name")
    return next((each for each in values if each.casefold() == given.casefold()), values[0])


def _texts(attributes: Mapping[str, Sequence[bytes]], name: str) -> Sequence[str]:
    return sorted(_text(each) for each in attributes.get(name, ()))


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def fill_in(text: str, **values: str) -> str:
    """Returns a filter with values in its places. Their characters are escaped, so none has a meaning in the filter."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", _escape(value))
    return text


def _escape(value: str) -> str:
    return "".join(_escape_byte(each) for each in value.encode())


def _escape_byte(byte: int) -> str:
    return chr(byte) if byte < 128 and chr(byte).isalnum() else f"\\{byte:02x}"
