"""Identities of other services: their users, the groups they follow, and who they never become."""

import msgspec
import pytest

from lochan.access import fold, state
from lochan.access.external import (
    ExternalIdentity,
    ProviderGroups,
    SignInRefused,
    link_identity,
    sign_in,
    unlink_identity,
)
from lochan.access.groups import add_member, create_group, remove_member
from lochan.access.open_access import OpenAccess
from lochan.access.policies import attach
from lochan.access.state import AccessState
from lochan.access.users import create_user, delete_user, ensure_admin, set_disabled
from lochan.errors import AlreadyExists, FutureFormat, Invalid, NotFound, Refused
from lochan.formats import events
from lochan.formats.events import Vocabulary
from lochan.formats.lake_events import IdentityLinked, IdentityUnlinked, UserCreated
from lochan.formats.record import Actor
from lochan.journal.state import Schema
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.unit.access.place import ACTOR, apply
from tests.unit.store.clocks import StillClock

OIDC = "oidc https://accounts.example.com"
ADA = ExternalIdentity(OIDC, "1815", "ada", frozenset({"engines", "poets"}))
GROUPS = ProviderGroups({"engines": ("analysts", "operators"), "poets": ("readers",), "kings": ("operators",)})


async def new_access() -> OpenAccess:
    lake = await Lake.create(MemoryStore(), clock=StillClock(), world=LakeOptions())
    access = lake.open_access()
    await ensure_admin(access, actor=ACTOR)
    for group in ("analysts", "operators", "readers", "own"):
        await create_group(access, group, actor=ACTOR)
    return access


async def enters(access: OpenAccess, identity: ExternalIdentity = ADA, groups: ProviderGroups = GROUPS) -> str:
    return await sign_in(access, identity, groups, lambda user: Actor(user, "test/1", "192.0.2.7"))


def with_groups(*groups: str) -> ExternalIdentity:
    return ADA._replace(groups=frozenset(groups))


def test_a_first_sign_in_makes_the_user_and_a_second_one_appends_nothing() -> None:
    async def work() -> None:
        access = await new_access()
        assert await enters(access) == "ada"
        found = await access.state()
        assert found.groups_of("ada") == ["analysts", "operators", "readers"]
        assert found.user("ada").created_by == "ada"
        before = (await access.journal.fresh()).number
        assert await enters(access) == "ada"
        assert (await access.journal.fresh()).number == before

    run(work())


def test_membership_follows_the_provider_in_mapped_groups_alone() -> None:
    async def work() -> None:
        access = await new_access()
        await enters(access)
        await add_member(access, "own", "ada", actor=ACTOR)
        await enters(access, with_groups("kings", "strangers"))
        assert (await access.state()).groups_of("ada") == ["operators", "own"]
        await remove_member(access, "operators", "ada", actor=ACTOR)
        await add_member(access, "readers", "ada", actor=ACTOR)  # by hand, in a mapped group
        await enters(access, with_groups("engines"))
        assert (await access.state()).groups_of("ada") == ["analysts", "operators", "own"]
        await enters(access, with_groups())
        assert (await access.state()).groups_of("ada") == ["own"]

    run(work())


def test_a_new_name_at_the_provider_is_the_same_user() -> None:
    async def work() -> None:
        access = await new_access()
        await enters(access)
        assert await enters(access, ADA._replace(name="countess of lovelace")) == "ada"
        assert [user.name for user in (await access.state()).users()] == ["ada", "admin"]

    run(work())


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param(ExternalIdentity(OIDC, "7", "admin"), id="the administrator's name"),
        pytest.param(ExternalIdentity(OIDC, "7", "Admin"), id="in other letters"),
        pytest.param(ExternalIdentity(OIDC, "7", "bob"), id="of a user with a key"),
        pytest.param(ExternalIdentity(OIDC, "7", "ada"), id="of another identity there"),
        pytest.param(ExternalIdentity("ldap ldaps://example.com", "1815", "ada"), id="the same subject elsewhere"),
    ],
)
def test_an_identity_never_takes_a_user_by_its_name(identity: ExternalIdentity) -> None:
    async def work() -> None:
        access = await new_access()
        await create_user(access, "bob", actor=ACTOR)
        await enters(access)
        before = (await access.journal.fresh()).number
        with pytest.raises(SignInRefused, match="already, who is not the identity"):
            await enters(access, identity)
        assert (await access.journal.fresh()).number == before

    run(work())


def test_an_administrator_links_an_identity_to_a_user_and_takes_it_back() -> None:
    async def work() -> None:
        access = await new_access()
        await create_user(access, "countess", actor=ACTOR)
        linked = await link_identity(access, "countess", OIDC, "1815", actor=ACTOR)
        assert (linked.user, linked.linked_by) == ("countess", "ada")
        assert await enters(access) == "countess"
        assert (await access.state()).groups_of("countess") == ["analysts", "operators", "readers"]
        with pytest.raises(AlreadyExists, match="'countess' already"):
            await link_identity(access, "admin", OIDC, "1815", actor=ACTOR)
        with pytest.raises(NotFound, match="no user 'eve'"):
            await link_identity(access, "eve", OIDC, "2", actor=ACTOR)
        with pytest.raises(Invalid, match="subject"):
            await link_identity(access, "admin", OIDC, "", actor=ACTOR)
        with pytest.raises(NotFound, match="is not user 'admin'"):
            await unlink_identity(access, "admin", OIDC, "1815", actor=ACTOR)
        await unlink_identity(access, "countess", OIDC, "1815", actor=ACTOR)
        with pytest.raises(NotFound, match="nobody's"):
            await unlink_identity(access, "countess", OIDC, "1815", actor=ACTOR)
        assert await enters(access) == "ada"

    run(work())


def test_a_disabled_user_is_refused_and_its_groups_stay() -> None:
    async def work() -> None:
        access = await new_access()
        await enters(access)
        await set_disabled(access, "ada", True, actor=ACTOR)
        with pytest.raises(SignInRefused, match="'ada' is disabled"):
            await enters(access, with_groups("kings"))
        assert (await access.state()).groups_of("ada") == ["analysts", "operators", "readers"]
        await set_disabled(access, "ada", False, actor=ACTOR)
        assert await enters(access) == "ada"

    run(work())


def test_a_link_goes_with_its_user() -> None:
    async def work() -> None:
        access = await new_access()
        await enters(access)
        await delete_user(access, "ada", actor=ACTOR)
        assert (await access.state()).identities() == []
        await create_user(access, "ada", actor=ACTOR)  # somebody else, who has the name now
        with pytest.raises(SignInRefused, match="already"):
            await enters(access)

    run(work())


def test_who_may_sign_in_and_with_which_names() -> None:
    async def work() -> None:
        access = await new_access()
        some = GROUPS._replace(allowed=frozenset({"kings"}))
        with pytest.raises(SignInRefused, match="none of the groups"):
            await enters(access, groups=some)
        with pytest.raises(Invalid, match=r"'ada l' cannot be a user's name, and the identity provider gives it"):
            await enters(access, ADA._replace(name="ada l"))
        with pytest.raises(SignInRefused, match="no group 'knights'"):
            await enters(access, groups=ProviderGroups({"poets": ("knights",)}))
        with pytest.raises(Invalid, match="subject"):
            await enters(access, ADA._replace(subject="a\nb"))
        assert [user.name for user in (await access.state()).users()] == ["admin"]
        assert await enters(access, with_groups("kings"), some) == "ada"

    run(work())


def test_nobody_becomes_the_first_user_of_a_lake() -> None:
    async def work() -> None:
        access = (await Lake.create(MemoryStore(), clock=StillClock(), world=LakeOptions())).open_access()
        with pytest.raises(SignInRefused, match="no administrator yet"):
            await enters(access)
        assert await ensure_admin(access, actor=ACTOR) is not None

    run(work())


def test_the_last_administrator_does_not_go_by_signing_in() -> None:
    async def work() -> None:
        access = await new_access()
        await attach(access, "Admin", "group/operators", actor=ACTOR)
        await enters(access)
        await delete_user(access, "admin", actor=ACTOR)
        with pytest.raises(Refused, match="the last"):
            await enters(access, with_groups("poets"))
        assert (await access.state()).administrators() == {"ada"}

    run(work())


def test_an_older_program_refuses_the_event_and_the_checkpoint() -> None:
    linked = AccessState()
    older = [each for each in AccessState.events if each not in (IdentityLinked, IdentityUnlinked)]
    apply(linked, UserCreated("ada"))
    assert linked.needs() == ()
    apply(linked, IdentityLinked(OIDC, "1815", "ada"))
    assert linked.needs() == (state.ACCESS_3,)
    with pytest.raises(FutureFormat, match="identity-linked"):
        Vocabulary(older).decode(events.change(IdentityLinked(OIDC, "1815", "ada")), "_lake", 5)
    again = AccessState()
    again.load(msgspec.Raw(msgspec.msgpack.encode(linked.dump())))
    assert again.identities() == linked.identities()

    class OlderState(AccessState):
        features = (state.ACCESS_2,)

    whole = Schema(AccessState).empty("_lake")
    apply(whole.of(AccessState), UserCreated("ada"), IdentityLinked(OIDC, "1815", "ada"))
    with pytest.raises(FutureFormat, match="access-3"):
        Schema(OlderState).restore(whole.checkpoint())
    assert set(fold.HANDLERS) == set(AccessState.events)
