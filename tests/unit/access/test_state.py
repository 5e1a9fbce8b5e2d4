"""The conditions of each event, and that a checkpoint keeps everything."""

import msgspec
import pytest

from lochan.access.state import AccessState
from lochan.errors import AlreadyExists, LochanError, NotFound, Refused
from lochan.formats.events import Event
from lochan.formats.lake_events import (
    AdminCreated,
    GroupCreated,
    GroupDeleted,
    KeyCreated,
    KeyExpirySet,
    KeyRevoked,
    MemberAdded,
    MemberRemoved,
    PolicyAttached,
    PolicyDeleted,
    PolicyDetached,
    PolicyPut,
    UserCreated,
    UserDeleted,
    UserDisabled,
)
from tests.unit.access.place import allow, apply

READ = PolicyPut("Read", (allow("fs:Read*", "repository/*"),))
ADMIN = AdminCreated("admin", "Admin", "LKIA1", b"sealed")


def lived_in() -> AccessState:
    """An administrator, and bob, with a policy and two keys."""
    access = AccessState()
    apply(access, ADMIN, UserCreated("bob"), READ, PolicyAttached("Read", "user/bob"))
    apply(access, KeyCreated("bob", "LKIA2", b"two"), number=2)
    apply(access, KeyCreated("bob", "LKIA3", b"three", ("repository/a",), 7), number=3)
    apply(access, GroupCreated("team"), MemberAdded("team", "bob"), PolicyAttached("Analyst", "group/team"), number=4)
    return access


@pytest.mark.parametrize(
    "event, error, message",
    [
        (ADMIN, AlreadyExists, "there are users"),
        (UserCreated("bob"), AlreadyExists, "a user 'bob' already"),
        (UserDeleted("eve"), NotFound, "no user 'eve'"),
        (UserDeleted("admin"), Refused, "the last"),
        (KeyCreated("eve", "LKIA9", b""), NotFound, "no user 'eve'"),
        (KeyCreated("admin", "LKIA2", b""), AlreadyExists, "'LKIA2' already"),
        (KeyRevoked("LKIA9"), NotFound, "no access key 'LKIA9'"),
        (PolicyPut("Admin", READ.statements), Refused, "cannot be changed"),
        (PolicyDeleted("Analyst"), Refused, "cannot be deleted"),
        (PolicyDeleted("Write"), NotFound, "no policy 'Write'"),
        (PolicyDeleted("Read"), Refused, "attached to user/bob"),
        (PolicyAttached("Read", "user/bob"), AlreadyExists, "already"),
        (PolicyAttached("Write", "user/bob"), NotFound, "no policy 'Write'"),
        (PolicyAttached("Read", "user/eve"), NotFound, "no user 'eve'"),
        (PolicyAttached("Read", "group/all"), NotFound, "no group 'all'"),
        (PolicyAttached("Read", "role/all"), NotFound, "there is no .role/all."),
        (UserDisabled("eve", True), NotFound, "no user 'eve'"),
        (UserDisabled("admin", True), Refused, "the last"),
        (GroupCreated("team"), AlreadyExists, "a group 'team' already"),
        (GroupDeleted("all"), NotFound, "no group 'all'"),
        (MemberAdded("all", "bob"), NotFound, "no group 'all'"),
        (MemberAdded("team", "eve"), NotFound, "no user 'eve'"),
        (MemberAdded("team", "bob"), AlreadyExists, "already"),
        (MemberRemoved("team", "admin"), NotFound, "not in group"),
        (PolicyDetached("Read", "group/team"), NotFound, "not attached"),
        (KeyExpirySet("LKIA9", 5), NotFound, "no access key 'LKIA9'"),
        (PolicyDetached("Admin", "user/bob"), NotFound, "not attached"),
        (PolicyDetached("Admin", "user/admin"), Refused, "the last"),
        (PolicyDetached("Read", "user/eve"), NotFound, "no user 'eve'"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Event) else "",
)
def test_an_event_that_does_not_hold_changes_nothing(event: Event, error: type[LochanError], message: str) -> None:
    access = lived_in()
    before = dumped(access)
    with pytest.raises(error, match=message):
        apply(access, event)
    assert dumped(access) == before


def test_a_user_goes_with_its_keys_and_policies() -> None:
    access = lived_in()
    apply(access, UserDeleted("bob"))
    assert [user.name for user in access.users()] == ["admin"]
    assert access.key("LKIA2") is None
    assert access.holders("Read") == []
    apply(access, UserCreated("bob"), PolicyDeleted("Read"))
    assert access.attached_to("user/bob") == ()
    assert access.keys_of("bob") == []


def test_the_last_administrator_may_go_after_another_came() -> None:
    access = lived_in()
    apply(access, PolicyAttached("Admin", "user/bob"), UserDeleted("admin"))
    assert access.holders("Admin") == ["user/bob"]
    with pytest.raises(Refused):
        apply(access, PolicyDetached("Admin", "user/bob"))


def test_keys_come_and_go() -> None:
    access = lived_in()
    assert [key.id for key in access.keys_of("bob")] == ["LKIA2", "LKIA3"]
    apply(access, KeyRevoked("LKIA2"))
    assert [key.id for key in access.keys_of("bob")] == ["LKIA3"]
    apply(access, KeyCreated("admin", "LKIA2", b"other"))
    found = access.key("LKIA2")
    assert found is not None
    assert (found.user, found.sealed) == ("admin", b"other")


def test_a_policy_is_replaced_for_everybody_who_has_it() -> None:
    access = lived_in()
    apply(access, PolicyPut("Read", (allow("fs:List*", "*"),)), number=9)
    [policy] = access.policies_of("user/bob")
    assert policy.statements == (allow("fs:List*", "*"),)
    assert (policy.changed, policy.changed_by) == (9_000_000, "ada")
    assert [each.name for each in access.policies()] == ["Admin", "Analyst", "Developer", "Read"]


def test_a_checkpoint_keeps_it_all() -> None:
    access = lived_in()
    again = AccessState()
    again.load(msgspec.Raw(dumped(access)))
    assert dumped(again) == dumped(access)
    assert again.rights("bob").allow("fs:ReadRepository", "repository/x")
    assert [key.id for key in again.keys_of("bob")] == ["LKIA2", "LKIA3"]


def test_a_fork_is_seen_when_it_is_joined() -> None:
    access = lived_in()
    before = dumped(access)
    fork = access.fork()
    apply(fork, UserDeleted("bob"), UserCreated("eve"), KeyCreated("eve", "LKIA2", b""))
    assert dumped(access) == before
    after = dumped(fork)
    fork.join()
    assert dumped(access) == after


def dumped(access: AccessState) -> bytes:
    return msgspec.msgpack.encode(access.dump())
