"""What can be configured about a directory, and what is refused before a server starts."""

import pickle
import uuid
from pathlib import Path

import pytest

from lochan.config.load import load
from lochan.config.settings import LdapLoginSettings
from lochan.errors import Invalid
from lochan.server.ldap.lookup import can_be_tried, fill_in, guid, plain_name
from lochan.server.ldap.settings import DirectorySettings, directory_settings

_BASE = {"LOCHAN_LOGIN__LDAP__USER_BASE": "ou=people,dc=example,dc=org"}


def configured(url: str, **given: str) -> LdapLoginSettings:
    named = {f"LOCHAN_LOGIN__LDAP__{name.upper()}": value for name, value in given.items()}
    env = {**_BASE, "LOCHAN_LOGIN__LDAP__URL": url, **named}
    return load(env=env, cwd=Path("/"), home=Path("/")).settings.login.ldap


def checked(url: str, **given: str) -> DirectorySettings:
    found = directory_settings(configured(url, **given))
    assert found is not None
    return found


def test_nothing_is_configured() -> None:
    assert directory_settings(LdapLoginSettings()) is None


@pytest.mark.parametrize(
    "url, address, starts_tls",
    [
        ("ldap://ldap.example.org", "ldap://ldap.example.org:389", True),
        ("ldaps://ldap.example.org", "ldaps://ldap.example.org:636", False),
        ("LDAPS://ldap.example.org:1636/", "ldaps://ldap.example.org:1636", False),
        ("ldap://[2001:db8::1]:389", "ldap://[2001:db8::1]:389", True),
    ],
)
def test_addresses(url: str, address: str, starts_tls: bool) -> None:
    found = checked(url).address
    assert (str(found), found.starts_tls) == (address, starts_tls)


@pytest.mark.parametrize(
    "url",
    [
        "ldap:///",
        "ldap://host/dc=example",
        "ldap://user:secret-canary@host",
        "ldap://host:port",
        "ldap://host:99999",
        "ldap://host?x",
        "ldap://[host",
    ],
)
def test_no_addresses(url: str) -> None:
    with pytest.raises(Invalid, match=r"login\.ldap\.url is .* no address of a directory") as caught:
        checked(url)
    assert "secret-canary" not in str(caught.value)


def test_another_scheme() -> None:
    with pytest.raises(Invalid, match="not a URL that begins with ldap"):
        configured("http://host")


def test_passwords_go_in_the_clear_only_to_this_machine_or_when_that_is_said() -> None:
    with pytest.raises(Invalid, match="without TLS"):
        checked("ldap://ldap.example.org", start_tls="no")
    assert checked("ldap://ldap.example.org", start_tls="no", plain_allowed="yes").address.starts_tls is False
    for own in ("127.0.0.1", "localhost", "[::1]"):
        assert checked(f"ldap://{own}", start_tls="no").address.starts_tls is False


@pytest.mark.parametrize(
    "given, message",
    [
        ({"bind_dn": "cn=lake"}, "only one of login.ldap.bind_dn and login.ldap.bind_password"),
        ({"bind_password": "secret-canary"}, "only one of"),
        ({"user_base": ""}, "login.ldap.user_base is not set"),
        ({"user_filter": "(uid=ada)"}, r"does not contain \{name\}"),
        ({"user_filter": "(uid={dn})"}, r"does not contain \{name\}"),
        ({"user_filter": "(uid={name}{other})"}, r"does not contain \{name\}"),
        ({"user_filter": "(uid={name}"}, "no filter of LDAP"),
        ({"user_filter": "uid={name}"}, "no filter of LDAP"),
        ({"group_filter": "(cn=*)"}, r"does not contain \{dn\} or \{name\}"),
        ({"group_filter": "(|(member={dn})"}, "no filter of LDAP"),
        ({"ca_file": "/nowhere.pem"}, "cannot be read as certificates"),
        ({"groups": "a -> b"}, "login.ldap.groups is set, and no login.ldap.group_base"),
        ({"allowed_groups": "a"}, "login.ldap.allowed_groups is set, and no"),
    ],
)
def test_what_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid, match=message) as caught:
        checked("ldaps://ldap.example.org", **given)
    assert "secret-canary" not in str(caught.value)


def test_groups() -> None:
    text = "Data Engineers -> engineers; staff -> readers, all@example"
    given = checked("ldaps://h", group_base="ou=g", groups=text, allowed_groups="staff; Data Engineers").groups
    assert given.mapping == {"Data Engineers": ("engineers",), "staff": ("readers", "all@example")}
    assert given.allowed == {"staff", "Data Engineers"}
    with pytest.raises(Invalid, match=r"login\.ldap\.groups"):
        configured("ldaps://h", groups="engineers")


def test_a_file_without_certificates(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(Invalid, match="cannot be read as certificates"):
        checked("ldaps://ldap.example.org", ca_file=str(tmp_path / "ca.pem"))


def test_the_password_is_not_shown_and_reaches_the_processes_of_a_server() -> None:
    found = checked("ldaps://ldap.example.org", bind_dn="cn=lake", bind_password="secret-canary")
    assert "secret-canary" not in repr(found)
    again: DirectorySettings = pickle.loads(pickle.dumps(found))
    assert again.bind_password == "secret-canary"


@pytest.mark.parametrize(
    "name, filled",
    [
        ("ada", "(uid=ada)"),
        ("*", r"(uid=\2a)"),
        ("a)(uid=*", r"(uid=a\29\28uid\3d\2a)"),
        (r"a\2a", r"(uid=a\5c2a)"),
        ("é b", r"(uid=\c3\a9\20b)"),
        ("{name}", r"(uid=\7bname\7d)"),
    ],
)
def test_names_mean_nothing_to_a_filter(name: str, filled: str) -> None:
    assert fill_in("(uid={name})", name=name) == filled


def test_a_value_is_not_filled_in_again() -> None:
    assert fill_in("(|(a={name})(b={dn}))", name="{dn}", dn="x") == r"(|(a=\7bdn\7d)(b=x))"


@pytest.mark.parametrize(
    "given, name",
    [
        ("ada", "ada"),
        ("Ada", "Ada"),
        (" ada  lovelace ", "ada lovelace"),
        ("jo\u0308rg", "j\u00f6rg"),
        ("\uff41da", "ada"),
        ("", ""),
        (" ", ""),
        ("a\0da", ""),
        ("a\u00adda", ""),
        ("a\ufe0fda", ""),
        ("\ud800", ""),
        ("a" * 256, "a" * 256),
        ("a" * 257, ""),
        ("a" * 100_000, ""),
    ],
)
def test_one_name_is_written_in_one_way(given: str, name: str) -> None:
    assert plain_name(given) == name


@pytest.mark.parametrize(
    "password, can",
    [
        ("secret", True),
        (" ", True),
        ("", False),
        ("\0secret", False),
        ("sec\nret", False),
        ("\ud800", False),
        ("x" * 1_025, False),
    ],
)
def test_which_passwords_are_tried(password: str, can: bool) -> None:
    assert can_be_tried(password) is can


def test_a_guid_is_written_as_others_write_it() -> None:
    value = bytes(range(16))
    assert guid(value) == str(uuid.UUID(bytes_le=value)) == "03020100-0504-0706-0809-0a0b0c0d0e0f"
