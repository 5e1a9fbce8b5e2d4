"""The settings of the directory, checked once, when the server starts."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from lochan.access.external import ProviderGroups
from lochan.config.group_map import parse_group_list, parse_group_map
from lochan.config.load import without_password
from lochan.config.settings import LdapLoginSettings
from lochan.errors import Invalid, Refused
from lochan.server.connections import is_loopback

_PORTS = {"ldap": 389, "ldaps": 636}
_SECTION = "login.ldap"
_FIELD = re.compile(r"\{([^{}]*)\}")


class DirectoryAddress(NamedTuple):
    host: str
    port: int
    is_tls: bool  # whether TLS begins with the first byte
    starts_tls: bool  # whether TLS begins with the first request

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'ldaps' if self.is_tls else 'ldap'}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class DirectorySettings:
    """The settings of a directory. They can be pickled."""

    source: str
    address: DirectoryAddress
    ca_file: str | None
    bind_dn: str  # empty if the directory is read without a name
    bind_password: str = field(repr=False)
    user_base: str
    user_filter: str  # contains {name}
    name_attribute: str
    id_attribute: str
    group_base: str  # empty if groups are not read
    group_filter: str  # contains {dn} or {name}
    group_attribute: str
    group_depth: int
    groups: ProviderGroups
    timeout_s: float


def directory_settings(given: LdapLoginSettings) -> DirectorySettings | None:
    """Returns the settings, or None if no directory is configured. Raises Invalid, and Refused if the package ldap3 is
    missing."""
    if given.url is None:
        return None
    _check_installed()
    address = _address(given.url, given.start_tls, given.plain_allowed)
    _check_ca(given.ca_file)
    if bool(given.bind_dn) != bool(given.bind_password):
        raise Invalid(
            f"only one of {_SECTION}.bind_dn and {_SECTION}.bind_password is set",
            hint="set both, or neither to read the directory without a name",
        )
    if not given.user_base:
        raise Invalid(f"{_SECTION}.user_base is not set", hint="such as ou=people,dc=example,dc=org")
    _check_filter("user_filter", given.user_filter, {"name"})
    _check_filter("group_filter", given.group_filter, {"dn", "name"})
    groups = ProviderGroups(
        parse_group_map(given.groups) if given.groups else {},
        parse_group_list(given.allowed_groups) if given.allowed_groups else frozenset(),
    )
    if not given.group_base and (groups.mapping or groups.allowed):
        raise Invalid(
            f"{_SECTION}.{'groups' if groups.mapping else 'allowed_groups'} is set, and no {_SECTION}.group_base",
            hint="such as ou=groups,dc=example,dc=org",
        )
    return DirectorySettings(
        given.source,
        address,
        given.ca_file,
        given.bind_dn or "",
        given.bind_password or "",
        given.user_base,
        given.user_filter,
        given.name_attribute,
        given.id_attribute,
        given.group_base or "",
        given.group_filter,
        given.group_attribute,
        given.group_depth,
        groups,
        given.timeout_s,
    )


def _address(url: str, start_tls: bool, plain_allowed: bool) -> DirectoryAddress:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise Invalid(f"{_SECTION}.url is {without_password(url)!r}, which is no address of a directory", hint=_EXAMPLE)
    is_tls = parts.scheme.lower() == "ldaps"
    if not is_tls and not start_tls and not plain_allowed and not is_loopback(host):
        raise Invalid(
            f"{_SECTION}.url is {url!r} without TLS, so that others could read the passwords on the way",
            hint=f"use ldaps://, or leave {_SECTION}.start_tls on; {_SECTION}.plain_allowed accepts it all the same",
        )
    return DirectoryAddress(host, port or _PORTS[parts.scheme.lower()], is_tls, start_tls and not is_tls)


_EXAMPLE = "such as ldaps://ldap.example.org, or ldap://ldap.example.org:389"


def _check_ca(file: str | None) -> None:
    try:
        ssl.create_default_context(cafile=file)
    except OSError as error:  # an SSLError is an OSError
        raise Invalid(
            f"{_SECTION}.ca_file is {file!r}, which cannot be read as certificates: {error}", hint="a file in PEM"
        ) from None


def _check_filter(name: str, text: str, fields: set[str]) -> None:
    from ldap3.core.exceptions import LDAPExceptionError
    from ldap3.operation.search import parse_filter

    used = set(_FIELD.findall(text))
    words = " or ".join(f"{{{each}}}" for each in sorted(fields))
    if not used or not used <= fields:
        raise Invalid(f"{_SECTION}.{name} is {text!r}, which does not contain {words}")
    try:
        parse_filter(text, None, False, False, None, False)  # type: ignore[no-untyped-call]
    except LDAPExceptionError as error:
        raise Invalid(
            f"{_SECTION}.{name} is {text!r}, which is no filter of LDAP: {error}", hint="such as (uid={name})"
        ) from None


def _check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("ldap3") is None:
        raise Refused(
            f"{_SECTION}.url is set, and logins by a directory need the package ldap3",
            hint="pip install 'lochan[ldap]'",
        )
