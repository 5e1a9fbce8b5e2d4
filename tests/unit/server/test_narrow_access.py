"""Keys with limits and an end, conditions, groups, disabled users and sessions: the fast path and the general one must
answer alike."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lochan.access.groups import add_member, create_group, remove_member
from lochan.access.open_access import OpenAccess
from lochan.access.policies import attach, put_policy
from lochan.access.tokens import SessionCredentials, create_token
from lochan.access.users import NewAccessKey, create_key, create_user, revoke_key, rotate_key, set_disabled
from lochan.clock import SystemClock
from lochan.formats.lake_events import Statement, StatementConditions
from tests.run import run
from tests.unit.access.place import allow
from tests.unit.server import gateway_place
from tests.unit.server.gateway_place import ACTOR, Answer, signed
from tests.unit.server.two_paths import World, opened

pytestmark = pytest.mark.thorough

INSIDE = "repository/bucket/branch/main/object/d/*"
MINUTE = 60_000_000
Act = Callable[[World, OpenAccess], Awaitable[None]]


class ShiftedClock(SystemClock):
    def __init__(self) -> None:
        super().__init__()
        self.shift = 0

    def wall(self) -> int:
        return super().wall() + self.shift


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ShiftedClock:
    found = ShiftedClock()
    monkeypatch.setattr(gateway_place, "SystemClock", lambda: found)
    return found


def played(folder: Path, clock: ShiftedClock, act: Act) -> None:
    async def work() -> None:
        world = await opened(folder)
        access = world.lake.open_access()
        access.clock = clock
        await act(world, access)

    run(work())


async def got(world: World, who: NewAccessKey, path: str, method: str = "GET", client: str = "127.0.0.1:1") -> int:
    """The status, twice: the second request is verified by the cache where that is allowed."""
    body = b"new" if method == "PUT" else b""
    asked = replace(signed(who, method, f"/bucket/main/{path}", body=body), client=client)
    first = await world.both(asked)
    again = await world.both(asked)
    assert again.status == first.status
    return first.status


def test_a_key_with_limits(tmp_path: Path, clock: ShiftedClock) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        key = await create_key(access, "admin", limits=[INSIDE], actor=ACTOR)
        assert await got(world, key, "d/small") == 200
        before = world.short.short
        assert await got(world, key, "d/small") == 200
        assert world.short.short == before + 2, "limits are no reason for the general path"
        assert await got(world, key, "small") == 403
        assert await got(world, key, "secret/a") == 403
        assert await got(world, key, "d/new", "PUT") == 200
        assert await got(world, key, "new", "PUT") == 403
        assert await got(world, key, "d/new", "DELETE") == 204
        assert await got(world, key, "small", "DELETE") == 403
        copy = {"x-amz-copy-source": "/bucket/main/small"}
        assert (await world.both(signed(key, "PUT", "/bucket/main/d/copy", headers=copy))).status == 403
        copy = {"x-amz-copy-source": "/bucket/main/d/small"}
        assert (await world.both(signed(key, "PUT", "/bucket/main/copy", headers=copy))).status == 403
        listed = await world.both(signed(key, "GET", "/bucket", "list-type=2&prefix=main%2F"))
        assert listed.status == 403
        assert (await world.both(signed(key, "GET", "/"))).body.count(b"<Bucket>") == 0

    played(tmp_path, clock, act)


def test_an_expired_key_is_no_key(tmp_path: Path, clock: ShiftedClock) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        key = await create_key(access, "admin", lasts_s=30, actor=ACTOR)
        assert await got(world, key, "small") == 200
        assert await got(world, key, "new", "PUT") == 200
        clock.shift = MINUTE  # no record is appended, so nothing that was learnt is forgotten
        for path, method in (("small", "GET"), ("new", "PUT")):
            answer = await world.both(signed(key, method, f"/bucket/main/{path}"))
            assert b"InvalidAccessKeyId" in answer.body

    played(tmp_path, clock, act)


def test_a_rotated_key_lasts_as_long_as_its_grace(tmp_path: Path, clock: ShiftedClock) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        old = await create_key(access, "admin", limits=[INSIDE], actor=ACTOR)
        new = await rotate_key(access, old.access_key_id, grace_s=30, actor=ACTOR)
        assert [await got(world, each, "d/small") for each in (old, new)] == [200, 200]
        assert await got(world, new, "small") == 403, "its limits are those of the old one"
        clock.shift = MINUTE
        assert [await got(world, each, "d/small") for each in (old, new)] == [403, 200]
        newer = await rotate_key(access, new.access_key_id, actor=ACTOR)
        assert [await got(world, each, "d/small") for each in (new, newer)] == [403, 200]

    played(tmp_path, clock, act)


def test_a_disabled_user_has_no_keys_until_it_is_enabled(tmp_path: Path, clock: ShiftedClock) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        reader = world.people.reader
        session = await create_token(access, reader.access_key_id)
        assert await got(world, reader, "small") == 200
        assert (await by_session(world, session, "small")).status == 200
        await set_disabled(access, "reader", True, actor=ACTOR)
        assert b"InvalidAccessKeyId" in (await world.both(signed(reader, "GET", "/bucket/main/small"))).body
        assert b"InvalidAccessKeyId" in (await by_session(world, session, "small")).body
        await set_disabled(access, "reader", False, actor=ACTOR)
        assert await got(world, reader, "small") == 200

    played(tmp_path, clock, act)


async def conditional(access: OpenAccess, effect: str, conditions: StatementConditions) -> NewAccessKey:
    """A user who may do this only then, or everything but then."""
    await create_user(access, "bob", actor=ACTOR)
    everything = ("repository/*",)
    statements = [Statement(effect, ("fs:*",), everything, conditions)]
    if effect == "deny":
        statements.append(allow("fs:*", "repository/*"))
    await put_policy(access, "sometimes", statements, actor=ACTOR)
    await attach(access, "sometimes", "user/bob", actor=ACTOR)
    return await create_key(access, "bob", actor=ACTOR)


@pytest.mark.parametrize(("effect", "inside", "outside"), [("allow", 200, 403), ("deny", 403, 200)])
def test_where_a_request_comes_from(
    tmp_path: Path, clock: ShiftedClock, effect: str, inside: int, outside: int
) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        key = await conditional(access, effect, StatementConditions(("10.0.0.0/8", "2001:db8::/32")))
        for method, path in (("GET", "small"), ("PUT", "new")):
            assert await got(world, key, path, method, client="10.1.2.3:4711") == inside
            assert await got(world, key, path, method, client="11.1.2.3:4711") == outside
            assert await got(world, key, path, method, client="[2001:db8::1]:4711") == inside
            assert await got(world, key, path, method, client="[::ffff:10.1.2.3]:4711") == inside
            assert await got(world, key, path, method, client="[2001:db9::1]:4711") == outside
            assert await got(world, key, path, method, client="nowhere") == 403, "nobody knows where"

    played(tmp_path, clock, act)


@pytest.mark.parametrize(("effect", "during", "after"), [("allow", 200, 403), ("deny", 403, 200)])
def test_when_a_request_comes(tmp_path: Path, clock: ShiftedClock, effect: str, during: int, after: int) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        conditions = StatementConditions(before=clock.wall() + 30 * 1_000_000)
        key = await conditional(access, effect, conditions)
        asks = [signed(key, "GET", "/bucket/main/small"), signed(key, "PUT", "/bucket/main/new", body=b"new")]
        for _ in range(3):
            assert [(await world.both(each)).status for each in asks] == [during, during]
        clock.shift = MINUTE
        assert [(await world.both(each)).status for each in asks] == [after, after]
        clock.shift = 0
        assert [(await world.both(each)).status for each in asks] == [during, during]

    played(tmp_path, clock, act)


def test_a_member_has_the_policies_of_the_group(tmp_path: Path, clock: ShiftedClock) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        nothing = world.people.nothing
        assert await got(world, nothing, "small") == 403
        await create_group(access, "team", actor=ACTOR)
        await attach(access, "readers", "group/team", actor=ACTOR)
        await add_member(access, "team", "nothing", actor=ACTOR)
        assert await got(world, nothing, "small") == 200
        assert await got(world, nothing, "secret/a") == 403
        await remove_member(access, "team", "nothing", actor=ACTOR)
        assert await got(world, nothing, "small") == 403

    played(tmp_path, clock, act)


# --- sessions --------------------------------------------------------------------------------------------------------
async def by_session(
    world: World, session: SessionCredentials, path: str, method: str = "GET", token: str = ""
) -> Answer:
    who = NewAccessKey(session.user, session.access_key_id, session.secret_access_key)
    headers = {"x-amz-security-token": token or session.session_token}
    body = b"new" if method == "PUT" else b""
    return await world.both(signed(who, method, f"/bucket/main/{path}", headers=headers, body=body))


def test_a_session_is_as_wide_as_its_key_and_its_limits(tmp_path: Path, clock: ShiftedClock) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        admin = world.people.admin
        narrow = await create_key(access, "admin", limits=[INSIDE, "repository/bucket/object/large"], actor=ACTOR)
        wide = await create_token(access, admin.access_key_id)
        inner = await create_token(access, narrow.access_key_id, limits=["repository/bucket/object/d/*"])
        everything = await create_token(access, narrow.access_key_id, limits=["*"])
        seen = {"small": (200, 403, 403), "d/small": (200, 200, 200), "large": (200, 403, 200)}
        for path, expected in seen.items():
            answers = [await by_session(world, each, path) for each in (wide, inner, everything)]
            assert tuple(each.status for each in answers) == expected, path
        assert (await by_session(world, wide, "new", "PUT")).status == 200
        assert (await by_session(world, inner, "new", "PUT")).status == 403
        await revoke_key(access, narrow.access_key_id, actor=ACTOR)
        assert b"InvalidAccessKeyId" in (await by_session(world, inner, "d/small")).body
        assert (await by_session(world, wide, "small")).status == 200

    played(tmp_path, clock, act)


def test_a_session_that_has_expired_or_was_forged(tmp_path: Path, clock: ShiftedClock) -> None:
    async def act(world: World, access: OpenAccess) -> None:
        admin = world.people.admin
        one = await create_token(access, admin.access_key_id, lasts_s=30)
        other = await create_token(access, admin.access_key_id, lasts_s=300)
        assert (await by_session(world, one, "small")).status == 200
        swapped = await by_session(world, one, "small", token=other.session_token)
        assert b"InvalidAccessKeyId" in swapped.body
        changed = one.session_token[:-8] + ("A" * 8 if one.session_token[-8:] != "A" * 8 else "B" * 8)
        assert b"InvalidAccessKeyId" in (await by_session(world, one, "small", token=changed)).body
        who = NewAccessKey(one.user, one.access_key_id, one.secret_access_key)
        assert b"InvalidAccessKeyId" in (await world.both(signed(who, "GET", "/bucket/main/small"))).body
        headers = {"x-amz-security-token": other.session_token}  # a real key, and somebody's token
        assert b"InvalidToken" in (await world.both(signed(admin, "GET", "/bucket/main/small", headers=headers))).body
        clock.shift = MINUTE
        assert b"ExpiredToken" in (await by_session(world, one, "small")).body
        assert (await by_session(world, other, "small")).status == 200

    played(tmp_path, clock, act)
