"""People sign in to a real server with the names and passwords of a real directory."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.client import Answer, Client
from tests.integration.ldap.people import PASSWORDS, settings_of
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.slapd import GROUPS, PEOPLE, READER_PASSWORD, DirectoryServer

BASE = "/api/v1"
MAPPING = {"groups": "engineers -> engineers; staff -> readers, staff@example", "allowed_groups": "staff"}


@contextmanager
def _served(folder: Path, env: Mapping[str, str]) -> Iterator[LochanServer]:
    """With the lake's groups, and what they may do."""
    with lochan_server(folder / "lake", env={**env, "LOCHAN_LOGGING__LEVEL": "DEBUG"}) as server:
        for group in ("engineers", "readers", "staff@example"):
            server.lochan("auth", "groups", "create", group)
        server.lochan("auth", "attach", "group/engineers", "Developer")
        server.lochan("auth", "attach", "group/readers", "Analyst")
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, directory: DirectoryServer) -> Iterator[LochanServer]:
    with _served(tmp_path_factory.mktemp("ldap"), settings_of(directory, **MAPPING)) as running:
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


def login(server: LochanServer, name: str, password: str) -> Answer:
    body = json.dumps({"access_key_id": name, "secret_access_key": password}).encode()
    return Client(server.api, "", "").ask("POST", f"{BASE}/auth/login", body, content_type="application/json")


def asked(server: LochanServer, signed_in: Answer, path: str, method: str = "GET") -> Answer:
    assert signed_in.status == 200, signed_in.body
    bearer = f"Bearer {json.loads(signed_in.body)['token']}"
    return Client(server.api, "", "").ask(method, f"{BASE}{path}", None, authorization=bearer)


def user(server: LochanServer, signed_in: Answer) -> Any:
    return json.loads(asked(server, signed_in, "/user").body)["user"]["id"]


def groups(server: LochanServer, name: str) -> set[str]:
    listed = json.loads(server.lochan("auth", "groups", "list", "-f", "json"))
    return {each["name"] for each in listed if name in each["members"]}


def test_a_right_password_makes_the_user_with_its_groups(server: LochanServer) -> None:
    for written in ("ada", "ADA"):
        signed_in = login(server, written, PASSWORDS["ada"])
        assert user(server, signed_in) == "ada"
    assert groups(server, "ada") == {"engineers", "readers", "staff@example"}
    assert "set-cookie" in {name.lower() for name in signed_in.headers}
    assert asked(server, signed_in, "/repositories").status == 200
    assert json.loads(asked(server, signed_in, "/auth/users").body)["results"] == []  # Developers see none
    assert user(server, login(server, "grace", PASSWORDS["grace"])) == "grace"
    assert groups(server, "grace") == {"readers", "staff@example"}


def test_the_session_ends_when_it_is_logged_out(server: LochanServer) -> None:
    signed_in = login(server, "ada", PASSWORDS["ada"])
    assert asked(server, signed_in, "/auth/logout", "POST").status == 204
    assert asked(server, signed_in, "/user").status == 401


def test_wrong_names_and_passwords_have_one_answer(server: LochanServer) -> None:
    answers = {
        (answer.status, answer.body)
        for name, password in (
            ("ada", "wrong"),
            ("nobody", PASSWORDS["ada"]),
            ("ada", ""),
            ("", ""),
            ("*", PASSWORDS["ada"]),
            ("ada)(uid=*", PASSWORDS["ada"]),
            ("ad*", PASSWORDS["ada"]),
            (f"uid=ada,{PEOPLE}", PASSWORDS["ada"]),
            ("a\0da", PASSWORDS["ada"]),
            ("\U0001f600", PASSWORDS["ada"]),
            (server.access_key, "wrong"),
            (server.access_key, PASSWORDS["ada"]),
        )
        for answer in [login(server, name, password)]
    }
    assert len(answers) == 1, answers
    assert {status for status, _ in answers} == {401}


def test_access_keys_still_sign_in_and_are_not_shown_to_the_directory(
    server: LochanServer, directory: DirectoryServer
) -> None:
    before = directory.log().count("ACCEPT")
    assert user(server, login(server, server.access_key, server.secret_key)) == "admin"
    assert login(server, server.access_key, "wrong").status == 401
    assert directory.log().count("ACCEPT") == before


def test_many_wrong_passwords_wait_however_the_name_is_written(
    server: LochanServer, directory: DirectoryServer
) -> None:
    dn = directory.add_user("tried", "the password")
    try:
        answers = [login(server, ("tried", "TRIED", " tried ")[n % 3], "wrong") for n in range(25)]
        assert {each.status for each in answers} == {401, 429}
        assert login(server, "tried", "the password").status == 429
        assert login(server, "ada", PASSWORDS["ada"]).status == 200
    finally:
        directory.delete(dn)


def test_somebody_in_no_group_that_may_sign_in(server: LochanServer) -> None:
    answer = login(server, "carl", PASSWORDS["carl"])
    assert (answer.status, "none of the groups" in answer.message) == (403, True)
    assert "carl" not in server.lochan("auth", "users", "list")
    assert login(server, "carl", "wrong").status == 401


def test_groups_follow_the_directory_at_the_next_login(server: LochanServer, directory: DirectoryServer) -> None:
    dn = directory.add_user("lin", "the password of lin")
    staff, engineers = f"cn=staff,{GROUPS}", f"cn=engineers,{GROUPS}"
    before = directory.members(staff), directory.members(engineers)
    server.lochan("auth", "groups", "create", "ours")
    try:
        directory.set_members(staff, [*before[0], dn])
        first = login(server, "lin", "the password of lin")
        server.lochan("auth", "groups", "add", "ours", "lin")
        assert groups(server, "lin") == {"readers", "staff@example", "ours"}
        directory.set_members(engineers, [*before[1], dn])
        assert login(server, "lin", "the password of lin").status == 200
        assert groups(server, "lin") == {"engineers", "readers", "staff@example", "ours"}
        directory.set_members(engineers, before[1])
        assert login(server, "lin", "the password of lin").status == 200
        assert groups(server, "lin") == {"readers", "staff@example", "ours"}  # ours is none of the directory's
        directory.set_members(staff, before[0])
        assert login(server, "lin", "the password of lin").status == 403
        assert user(server, first) == "lin"  # a session lasts as long as it lasts
    finally:
        directory.set_members(staff, before[0])
        directory.set_members(engineers, before[1])
        directory.delete(dn)


def test_a_disabled_user(server: LochanServer) -> None:
    signed_in = login(server, "grace", PASSWORDS["grace"])
    server.lochan("auth", "users", "disable", "grace")
    try:
        assert asked(server, signed_in, "/user").status == 401
        answer = login(server, "grace", PASSWORDS["grace"])
        assert (answer.status, "disabled" in answer.message) == (403, True)
        assert login(server, "grace", "wrong").status == 401
    finally:
        server.lochan("auth", "users", "enable", "grace")
    assert login(server, "grace", PASSWORDS["grace"]).status == 200


def test_a_new_entry_with_an_old_name_is_somebody_else(server: LochanServer, directory: DirectoryServer) -> None:
    staff = f"cn=staff,{GROUPS}"
    before = directory.members(staff)
    dn = directory.add_user("eve", "the first password")
    try:
        directory.set_members(staff, [*before, dn])
        assert user(server, login(server, "eve", "the first password")) == "eve"
        directory.delete(dn)
        directory.add_user("eve", "the second password")
        answer = login(server, "eve", "the second password")
        assert (answer.status, "user 'eve' already" in answer.message) == (403, True)
    finally:
        directory.set_members(staff, before)
        directory.delete(dn)


def test_a_name_of_a_user_that_the_directory_did_not_make(server: LochanServer, directory: DirectoryServer) -> None:
    staff = f"cn=staff,{GROUPS}"
    before = directory.members(staff)
    dn = directory.add_user("admin", "the password of another admin")
    try:
        directory.set_members(staff, [*before, dn])
        answer = login(server, "admin", "the password of another admin")
        assert (answer.status, "user 'admin' already" in answer.message) == (403, True)
    finally:
        directory.set_members(staff, before)
        directory.delete(dn)


def test_what_is_not_a_name_of_the_lake(server: LochanServer, directory: DirectoryServer) -> None:
    staff = f"cn=staff,{GROUPS}"
    before = directory.members(staff)
    dn = directory.add_user("two words", "the password")
    try:
        directory.set_members(staff, [*before, dn])
        answer = login(server, "two words", "the password")
        assert (answer.status, "cannot be a user's name" in answer.message) == (403, True)
    finally:
        directory.set_members(staff, before)
        directory.delete(dn)


def test_a_directory_that_hangs_or_is_gone(server: LochanServer, directory: DirectoryServer) -> None:
    signed_in = login(server, "ada", PASSWORDS["ada"])
    directory.pause()
    begun = time.monotonic()
    hanging = login(server, "ada", PASSWORDS["ada"])
    took = time.monotonic() - begun
    directory.stop()
    try:
        gone = login(server, "ada", PASSWORDS["ada"])
        assert user(server, signed_in) == "ada"  # a session needs no directory
        assert login(server, server.access_key, server.secret_key).status == 200
    finally:
        directory.start()
    assert (hanging.status, gone.status) == (503, 503)
    assert took < 6
    assert all("the directory that knows names and passwords" in each.message for each in (hanging, gone))
    assert "retry-after" in {name.lower() for name in hanging.headers}
    assert "gave no answer within 3 seconds" in server.log.read_text()
    assert login(server, "ada", PASSWORDS["ada"]).status == 200


def test_no_password_is_written_down_anywhere(server: LochanServer) -> None:
    """The server logs everything that it can; the journal and all else of the lake lie in its folder."""
    for name, password in PASSWORDS.items():
        login(server, name, password)
        login(server, f"{name} ", password)
        login(server, name, password + "-wrong")
    login(server, PASSWORDS["ada"], PASSWORDS["ada"])
    secrets = [*PASSWORDS.values(), READER_PASSWORD, "-wrong"]
    places = [server.log, *(each for each in Path(server.lake).rglob("*") if each.is_file())]
    for place in places:
        written = place.read_bytes()
        assert not [each for each in secrets if each.encode() in written], place
    events = server.lochan("events", "--all", "-f", "json")  # as records may be compressed
    assert not [each for each in secrets if each in events]
    assert "ada" in events
    shown = server.lochan("config", "show")
    assert not [each for each in secrets if each in shown]
    assert "bind_dn" in shown


def test_the_page_is_told_that_there_is_a_directory(server: LochanServer) -> None:
    answer = Client(server.api, "", "").ask("GET", f"{BASE}/auth/capabilities")
    assert json.loads(answer.body)["ldap"] is True


@pytest.mark.parametrize(
    "other, message",
    [
        ({"url": "ldap://ldap.example.org", "start_tls": "no"}, "without TLS"),
        ({"ca_file": "/nowhere.pem"}, "cannot be read as certificates"),
        ({"groups": "a -> b", "group_base": ""}, "and no login.ldap.group_base"),
        ({"user_filter": "(uid=x)"}, "does not contain {name}"),
    ],
)
def test_a_server_does_not_start_with_what_cannot_be_right(
    tmp_path: Path, directory: DirectoryServer, other: dict[str, str], message: str
) -> None:
    with (
        pytest.raises(AssertionError, match="the server did not start") as caught,
        lochan_server(tmp_path / "lake", env=settings_of(directory, **other)),
    ):
        pass
    assert message in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert READER_PASSWORD not in str(caught.value)
