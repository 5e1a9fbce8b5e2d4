"""A directory with a few people and groups, and what a server must be told about it."""

from collections.abc import Iterator, Mapping

import pytest

from tests.integration.ldap.people import PASSWORDS, settings_of
from tests.servers.slapd import DirectoryServer, slapd


@pytest.fixture(scope="module")
def directory() -> Iterator[DirectoryServer]:
    """ada is in engineers, which is in staff; grace only in staff; carl in nothing."""
    with slapd() as server:
        people = {name: server.add_user(name, password) for name, password in PASSWORDS.items()}
        engineers = server.add_group("engineers", [people["ada"]])
        server.add_group("staff", [people["grace"], engineers])
        yield server


@pytest.fixture(scope="module")
def settings(directory: DirectoryServer) -> Mapping[str, str]:
    """Those of a server, as variables of its environment."""
    return settings_of(directory)
