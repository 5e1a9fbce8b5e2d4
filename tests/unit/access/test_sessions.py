"""Sessions of people who have signed in: what ends them, and what an older program makes of them."""

from collections.abc import Awaitable, Callable

import pytest

from lochan.access import state
from lochan.access.external import ExternalIdentity, ProviderGroups, sign_in, unlink_identity
from lochan.access.fold import SESSIONS_MAX
from lochan.access.open_access import OpenAccess
from lochan.access.sessions import NewSession, SignIn, end_session, end_sessions, find_session, open_session
from lochan.access.state import AccessState
from lochan.access.users import create_key, delete_user, ensure_admin, revoke_key, set_disabled
from lochan.errors import FutureFormat, NotFound, Refused
from lochan.formats import events
from lochan.formats.events import Vocabulary
from lochan.formats.lake_events import SessionEnded, SessionOpened, UserCreated
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.unit.access.place import ACTOR, apply
from tests.unit.store.clocks import StillClock

OIDC = "oidc https://accounts.example.com"
ADA = ExternalIdentity(OIDC, "1815", "ada")


async def opened(how: str, access: OpenAccess) -> NewSession:
    if how == "key":
        return await open_session(access, SignIn("ada", "key", "ada-key", address="192.0.2.7"), actor=ACTOR)
    return await open_session(access, SignIn("ada", "oidc", source=OIDC), actor=ACTOR)


async def new_access(store: MemoryStore | None = None) -> OpenAccess:
    access = (await Lake.create(store or MemoryStore(), clock=StillClock(), world=LakeOptions())).open_access()
    await ensure_admin(access, actor=ACTOR)
    await sign_in(access, ADA, ProviderGroups(), lambda user: ACTOR)
    await create_key(access, "ada", id="ada-key", secret="a-secret-of-some-length", actor=ACTOR)
    return access


async def user_of(access: OpenAccess, session: NewSession) -> str:
    found = await find_session(access, session.token, access.clock.boot())
    return "" if found is None else found.user


@pytest.mark.parametrize("how", ["key", "oidc"])
@pytest.mark.parametrize(
    "end, ends",
    [
        pytest.param(lambda it, id: end_session(it, id, actor=ACTOR), "key oidc", id="it is ended"),
        pytest.param(lambda it, id: end_sessions(it, "ada", actor=ACTOR), "key oidc", id="all of the user"),
        pytest.param(lambda it, id: set_disabled(it, "ada", True, actor=ACTOR), "key oidc", id="disabled"),
        pytest.param(lambda it, id: delete_user(it, "ada", actor=ACTOR), "key oidc", id="deleted"),
        pytest.param(lambda it, id: revoke_key(it, "ada-key", actor=ACTOR), "key", id="the key is revoked"),
        pytest.param(lambda it, id: unlink_identity(it, "ada", OIDC, "1815", actor=ACTOR), "oidc", id="unlinked"),
        pytest.param(lambda it, id: end_sessions(it, "admin", actor=ACTOR), "", id="those of another user"),
    ],
)
def test_what_ends_a_session(how: str, end: Callable[[OpenAccess, str], Awaitable[object]], ends: str) -> None:
    async def work() -> None:
        access = await new_access()
        session = await opened(how, access)
        assert await user_of(access, session) == "ada"
        await end(access, session.id)
        assert await user_of(access, session) == ("" if how in ends.split() else "ada")

    run(work())


def test_an_end_is_for_ever() -> None:
    async def work() -> None:
        access = await new_access()
        session = await opened("oidc", access)
        await set_disabled(access, "ada", True, actor=ACTOR)
        with pytest.raises(Refused, match="disabled"):
            await opened("oidc", access)
        await set_disabled(access, "ada", False, actor=ACTOR)
        assert await user_of(access, session) == ""
        with pytest.raises(NotFound, match="no session"):
            await end_session(access, session.id, actor=ACTOR)

    run(work())


def test_only_the_whole_token_lets_in() -> None:
    async def work() -> None:
        access = await new_access()
        session = await opened("key", access)
        other = await opened("key", access)
        secret = other.token.partition(".")[2]
        for wrong in ("", session.id, f"{session.id}.", f"{session.id}.{secret}", session.token + "x", "LKSS" * 100):
            assert await find_session(access, wrong, access.clock.boot()) is None
        assert session.token not in repr(session)
        expired = await open_session(access, SignIn("ada", "oidc"), actor=ACTOR, lasts_s=0)
        assert await user_of(access, expired) == ""

    run(work())


def test_the_store_holds_no_token() -> None:
    async def work() -> list[bytes]:
        store = MemoryStore()
        access = await new_access(store)
        session = await opened("key", access)
        await access.journal.checkpoint()
        secret = session.token.partition(".")[2].encode()
        found = [await store.get(stat.path) async for stat in store.list()]
        assert any(session.id.encode() in data for data in found)
        return [data for data in found if secret in data]

    assert run(work()) == []


def test_a_user_has_so_many_sessions_and_expired_ones_go() -> None:
    access = AccessState()
    apply(access, UserCreated("bob"), SessionOpened("old", b"", "bob", "oidc", 5_000_000))
    for number in range(SESSIONS_MAX + 3):
        apply(access, SessionOpened(f"{number:03}", b"", "bob", "oidc", 1 << 60), number=10 + number)
    assert [each.id for each in access.sessions()] == [f"{each:03}" for each in range(3, SESSIONS_MAX + 3)]


def test_an_older_program_refuses_sessions() -> None:
    access = AccessState()
    apply(access, UserCreated("bob"), SessionOpened("s", b"", "bob", "oidc", 1 << 60))
    assert access.needs() == (state.ACCESS_3,)
    older = Vocabulary(each for each in AccessState.events if each not in (SessionOpened, SessionEnded))
    with pytest.raises(FutureFormat, match="session-opened"):
        older.decode(events.change(SessionOpened("s", b"", "bob", "oidc", 1)), "_lake", 5)
