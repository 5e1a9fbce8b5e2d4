"""What a real directory is asked, and what its answers are taken for."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lochan.access.external import ExternalIdentity
from lochan.clock import SystemClock
from lochan.config.load import load
from lochan.server.api.errors import HttpError
from lochan.server.ldap.connection import DirectoryConnection, DirectoryFailure
from lochan.server.ldap.directory import Directory
from lochan.server.ldap.lookup import find_identity
from lochan.server.ldap.settings import DirectorySettings, directory_settings
from tests.integration.ldap.people import PASSWORDS, settings_of
from tests.servers.certificate import identity
from tests.servers.port import free_port
from tests.servers.slapd import GROUPS, PEOPLE, DirectoryServer

ADA = PASSWORDS["ada"]


def configured(directory: DirectoryServer, **other: str) -> DirectorySettings:
    config = load(env=settings_of(directory, **other), cwd=Path("/"), home=Path("/"))
    found = directory_settings(config.settings.login.ldap)
    assert found is not None
    return found


def found(directory: DirectoryServer, name: str, password: str, **other: str) -> ExternalIdentity | None:
    settings = configured(directory, **other)
    return find_identity(DirectoryConnection(settings), settings, name, password)


def groups(directory: DirectoryServer, name: str, **other: str) -> frozenset[str]:
    person = found(directory, name, PASSWORDS[name], **other)
    assert person is not None
    return person.groups


def test_a_right_password(directory: DirectoryServer) -> None:
    person = found(directory, "ada", ADA)
    assert person is not None
    assert (person.source, person.name, len(person.subject)) == ("ldap", "ada", 36)
    for written in ("ADA", " ada "):
        assert found(directory, written, ADA) == person  # one person has one name
    other = found(directory, "grace", PASSWORDS["grace"])
    assert other is not None and other.subject != person.subject


@pytest.mark.parametrize(
    "name, password",
    [
        ("ada", "wrong"),
        ("ada", ADA + " "),
        ("ada", PASSWORDS["grace"]),
        ("nobody", ADA),
        ("ada", ""),
        ("", ADA),
        ("*", ADA),
        ("ad*", ADA),
        ("ada)(uid=*", ADA),
        ("*)(uid=*))(|(uid=*", ADA),
        ("ada)(objectClass=*", ADA),
        (r"\61da", ADA),
        (r"ad\2a", ADA),
        ("ada\0", ADA),
        (f"uid=ada,{PEOPLE}", ADA),
        ("ada", "\0"),
    ],
)
def test_nobody_is_found(directory: DirectoryServer, name: str, password: str) -> None:
    assert found(directory, name, password) is None


def test_an_empty_password_is_not_even_sent(directory: DirectoryServer) -> None:
    before = directory.log().count("ACCEPT")
    assert found(directory, "ada", "") is None
    assert directory.log().count("ACCEPT") == before


@pytest.mark.parametrize(
    "name", ["o'neill", "smith, j", "a+b=c", 'quo"te', "back\\slash", "jörg", "#hash", "sem;i", "<x>"]
)
def test_names_that_need_care_in_dns_and_filters(directory: DirectoryServer, name: str) -> None:
    dn = directory.add_user(name, "its password")
    group = directory.add_group(f"of {name.encode().hex()}", [dn])
    try:
        person = found(directory, name, "its password")
        assert person is not None
        assert (person.name, person.groups) == (name, frozenset({f"of {name.encode().hex()}"}))
        assert found(directory, name, "another password") is None
    finally:
        directory.delete(group)
        directory.delete(dn)


def test_groups_of_groups(directory: DirectoryServer) -> None:
    assert groups(directory, "ada") == {"engineers", "staff"}
    assert groups(directory, "ada", group_depth="1") == {"engineers"}
    assert groups(directory, "grace") == {"staff"}
    assert groups(directory, "carl") == frozenset()
    assert groups(directory, "ada", group_base="") == frozenset()


def test_groups_that_contain_each_other(directory: DirectoryServer) -> None:
    dn = directory.add_user("loop", "its password")
    first = directory.add_group("first", [dn, f"cn=second,{GROUPS}"])
    second = directory.add_group("second", [first])
    try:
        person = found(directory, "loop", "its password", group_depth="100")
        assert person is not None and person.groups == {"first", "second"}
    finally:
        for each in (first, second, dn):
            directory.delete(each)


def test_groups_that_name_people(directory: DirectoryServer) -> None:
    """By the name in the directory. Where a filter takes both, a group does not pass for a user of the same name."""
    carl = f"uid=carl,{PEOPLE}"
    named = directory.add_group("named", [carl], description="ada")
    misleading = directory.add_group("misleading", [carl], description="engineers")
    try:
        for text, expected in (
            ("(description={name})", {"named"}),
            ("(|(member={dn})(description={name}))", {"named", "engineers", "staff"}),
        ):
            for written in ("ada", "ADA"):
                person = found(directory, written, ADA, group_filter=text)
                assert person is not None and person.groups == expected
    finally:
        directory.delete(named)
        directory.delete(misleading)


def test_a_filter_that_lets_only_some_in(directory: DirectoryServer) -> None:
    text = f"(&(uid={{name}})(!(sn=carl)))"  # noqa: F541 - the braces are the filter's
    assert found(directory, "ada", ADA, user_filter=text) is not None
    assert found(directory, "carl", PASSWORDS["carl"], user_filter=text) is None


def test_a_filter_that_matches_two(directory: DirectoryServer) -> None:
    with pytest.raises(DirectoryFailure, match=r"it must match one|sizeLimitExceeded"):
        found(directory, "ada", ADA, user_filter="(|(uid={name})(uid=grace))")
    with pytest.raises(DirectoryFailure, match="sizeLimitExceeded"):
        found(directory, "ada", ADA, user_filter="(|(uid={name})(uid=*))")


def test_an_entry_without_the_attributes(directory: DirectoryServer) -> None:
    with pytest.raises(DirectoryFailure, match="0 values of employeeNumber"):
        found(directory, "ada", ADA, id_attribute="employeeNumber")
    with pytest.raises(DirectoryFailure, match="has no employeeNumber"):
        found(directory, "ada", ADA, name_attribute="employeeNumber")


def test_a_referral_is_not_followed(directory: DirectoryServer) -> None:
    with _listener() as (port, accepted):
        dn = f"ou=elsewhere,{PEOPLE}"
        directory.add_referral(dn, f"ldap://127.0.0.1:{port}/{PEOPLE}")
        try:
            assert found(directory, "nobody", "a password") is None
            assert found(directory, "ada", ADA) is not None
            with pytest.raises(DirectoryFailure, match="referral"):
                found(directory, "ada", ADA, user_base=dn)
        finally:
            directory.delete_referral(dn)
        assert accepted == []


@pytest.mark.parametrize("url, start_tls", [("url", "yes"), ("tls_url", "yes"), ("url", "no")])
def test_ways_to_connect(directory: DirectoryServer, url: str, start_tls: str) -> None:
    assert found(directory, "ada", ADA, url=getattr(directory, url), start_tls=start_tls) is not None
    is_encrypted = "TLS established" in directory.log().rpartition("ACCEPT")[2]
    assert is_encrypted == (start_tls == "yes")


@pytest.mark.parametrize("url", ["url", "tls_url"])
def test_a_certificate_of_another_authority(directory: DirectoryServer, url: str, tmp_path: Path) -> None:
    other = identity(tmp_path)
    with pytest.raises(DirectoryFailure, match="CERTIFICATE_VERIFY_FAILED"):
        found(directory, "ada", ADA, url=getattr(directory, url), ca_file=str(other.authority))
    assert f'BIND dn="uid=ada,{PEOPLE}"' not in directory.log().rpartition("ACCEPT")[2]


@pytest.mark.parametrize("url", ["url", "tls_url"])
def test_a_certificate_of_another_name(directory: DirectoryServer, url: str) -> None:
    by_name = getattr(directory, url).replace("127.0.0.1", "localhost")
    with pytest.raises(DirectoryFailure, match="Hostname mismatch"):
        found(directory, "ada", ADA, url=by_name)


def test_the_account_that_reads_is_not_let_in(directory: DirectoryServer) -> None:
    with pytest.raises(DirectoryFailure, match=r"does not let 'cn=lake.* in: invalidCredentials"):
        found(directory, "ada", ADA, bind_password="wrong")


def test_a_base_that_is_not_there(directory: DirectoryServer) -> None:
    with pytest.raises(DirectoryFailure, match=r"cannot be searched below .*noSuchObject"):
        found(directory, "ada", ADA, user_base="ou=nowhere,dc=example,dc=org")


def test_a_directory_that_wants_tls(directory: DirectoryServer) -> None:
    """It may be read in the clear, but checks no password so: that is no wrong password."""
    directory.require_tls_for_passwords(True)
    try:
        with pytest.raises(DirectoryFailure, match="confidentialityRequired"):
            found(directory, "ada", ADA, start_tls="no")
        assert found(directory, "ada", ADA) is not None
    finally:
        directory.require_tls_for_passwords(False)


def asked(settings: DirectorySettings, name: str, password: str) -> ExternalIdentity | None:
    async def ask() -> ExternalIdentity | None:
        opened = Directory(settings, SystemClock())
        try:
            return await opened.identity(name, password)
        finally:
            opened.close()

    return asyncio.run(ask())


def seconds(settings: DirectorySettings, name: str, password: str) -> float:
    begun = time.monotonic()
    assert asked(settings, name, password) is None
    return time.monotonic() - begun


def test_a_wrong_password_takes_as_long_as_a_name_that_is_not_there(directory: DirectoryServer) -> None:
    settings = configured(directory)
    wrong = [seconds(settings, "ada", "wrong") for _ in range(4)]
    absent = [seconds(settings, "nobody", "wrong") for _ in range(4)]
    unasked = [seconds(settings, "ada", "") for _ in range(4)]
    assert abs(min(wrong) - min(absent)) < 0.05
    assert abs(min(wrong) - min(unasked)) < 0.05


def test_nobody_listens() -> None:
    with pytest.raises(HttpError) as caught:
        asked(_elsewhere(free_port()), "ada", ADA)
    assert (caught.value.status, "cannot be asked" in caught.value.message) == (503, True)


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_nobody_answers(scheme: str) -> None:
    """At once, and a little at a time: each byte would be an answer within the time of one question."""
    for drip in (b"", b"\x30"):
        with _listener(drip) as (port, accepted):
            begun = time.monotonic()
            with pytest.raises(HttpError) as caught:
                asked(_elsewhere(port, scheme), "ada", ADA)
            assert caught.value.status == 503
            assert time.monotonic() - begun < 4
            assert len(accepted) == 1


def test_a_directory_that_talks_nonsense() -> None:
    for nonsense in (
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x30\x05\x02\x01\x01\x61\x00",
        b"\x30\x84\xff\xff\xff\xff",
        b"\x00" * 99,
    ):
        with _listener(nonsense, once=True) as (port, _), pytest.raises(HttpError) as caught:
            asked(_elsewhere(port), "ada", ADA)
        assert caught.value.status == 503


def test_one_that_has_stopped_in_the_middle_hurts_only_those_who_ask(directory: DirectoryServer) -> None:
    settings = configured(directory, timeout_s="1")
    directory.pause()
    try:
        begun = time.monotonic()
        with pytest.raises(HttpError, match=r"gives no answer|cannot be asked"):
            asked(settings, "ada", ADA)
        assert 0.9 < time.monotonic() - begun < 2
    finally:
        directory.resume()
    assert asked(settings, "ada", ADA) is not None


def _elsewhere(port: int, scheme: str = "ldap") -> DirectorySettings:
    env = {"URL": f"{scheme}://127.0.0.1:{port}", "START_TLS": "no", "USER_BASE": PEOPLE, "TIMEOUT_S": "2"}
    given = {f"LOCHAN_LOGIN__LDAP__{name}": value for name, value in env.items()}
    settings = directory_settings(load(env=given, cwd=Path("/"), home=Path("/")).settings.login.ldap)
    assert settings is not None
    return settings


@contextmanager
def _listener(drip: bytes = b"", *, once: bool = False) -> Iterator[tuple[int, list[socket.socket]]]:
    """Accepts connections, and says these bytes again and again."""
    accepted: list[socket.socket] = []
    done = threading.Event()

    def serve() -> None:
        while not done.is_set():
            try:
                accepted.append(listener.accept()[0])
            except OSError:
                return
            while drip and not done.wait(0.3):
                try:
                    accepted[-1].sendall(drip)
                except OSError:
                    break
                if once:
                    break

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1], accepted
        finally:
            done.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for each in accepted:
                each.close()
