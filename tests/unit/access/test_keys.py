"""Keys, their secrets at rest, and the first administrator."""

import asyncio
import re

import pytest

from lochan.access import encryption as encryption_key
from lochan.access.encryption import seal, unseal
from lochan.access.open_access import OpenAccess
from lochan.access.users import (
    NewAccessKey,
    check_encryption,
    create_key,
    create_user,
    delete_user,
    ensure_admin,
    revoke_key,
)
from lochan.clock import SystemClock
from lochan.errors import AlreadyExists, Corrupt, FutureFormat, Invalid, KeyReused, NotFound, Refused
from lochan.ids import Ids
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.unit.access.place import ACTOR, allowed
from tests.unit.store.clocks import StillClock

SECRET = "a-secret-of-some-length"
CANARY = "canary-0123456789abcdef"


async def new_lake(store: MemoryStore | None = None, world: LakeOptions | None = None) -> Lake:
    return await Lake.create(store or MemoryStore(), clock=StillClock(), world=world or LakeOptions())


async def with_bob(store: MemoryStore | None = None) -> OpenAccess:
    access = (await new_lake(store)).open_access()
    await create_user(access, "bob", actor=ACTOR)
    return access


def test_a_key_is_made_found_and_revoked() -> None:
    async def work() -> None:
        access = await with_bob()
        made = await create_key(access, "bob", actor=ACTOR)
        other = await create_key(access, "bob", actor=ACTOR)
        assert re.fullmatch("LKIA[A-Z2-7]{16}", made.access_key_id)
        assert re.fullmatch("[A-Za-z0-9]{40}", made.secret_access_key)
        assert made != other
        now = access.clock.boot
        assert await access.find_key(made.access_key_id, now()) == ("bob", made.secret_access_key)
        assert await access.find_key("LKIANOBODY", now()) is None
        await revoke_key(access, made.access_key_id, actor=ACTOR)
        assert await access.find_key(made.access_key_id, now()) is None
        assert await access.find_key(other.access_key_id, now()) == ("bob", other.secret_access_key)
        with pytest.raises(NotFound):
            await revoke_key(access, made.access_key_id, actor=ACTOR)
        await delete_user(access, "bob", actor=ACTOR)
        assert await access.find_key(other.access_key_id, now()) is None

    run(work())


def test_an_id_that_comes_back_has_its_new_secret() -> None:
    async def work() -> None:
        access = await with_bob()
        for secret in (SECRET, SECRET[::-1]):
            await create_key(access, "bob", id="my-key", secret=secret, actor=ACTOR)
            assert await access.find_key("my-key", access.clock.boot()) == ("bob", secret)
            await revoke_key(access, "my-key", actor=ACTOR)

    run(work())


def test_what_cannot_be_a_key_is_refused() -> None:
    async def work() -> None:
        access = await with_bob()
        with pytest.raises(NotFound, match="no user 'eve'"):
            await create_key(access, "eve", actor=ACTOR)
        with pytest.raises(Invalid, match="id"):
            await create_key(access, "bob", id="a/b", actor=ACTOR)
        with pytest.raises(Invalid, match="secret"):
            await create_key(access, "bob", id="abc", secret="short", actor=ACTOR)
        await create_key(access, "bob", id="abc", secret=SECRET, actor=ACTOR)
        with pytest.raises(AlreadyExists, match="'abc'"):
            await create_key(access, "bob", id="abc", secret=SECRET, actor=ACTOR)

    run(work())


def test_a_request_that_is_sent_twice_gets_the_same_key() -> None:
    async def work() -> None:
        access = await with_bob()
        key = access.ids.idempotency_key(access.clock.wall())
        first = await create_key(access, "bob", actor=ACTOR, key=key)
        assert await create_key(access, "bob", actor=ACTOR, key=key) == first
        assert len((await access.state()).keys_of("bob")) == 1
        with pytest.raises(KeyReused):
            await create_key(access, "bob", secret=SECRET, actor=ACTOR, key=key)
        await revoke_key(access, first.access_key_id, actor=ACTOR)
        with pytest.raises(NotFound):
            await create_key(access, "bob", actor=ACTOR, key=key)

    run(work())


def test_no_secret_is_on_the_store_or_in_a_traceback() -> None:
    async def work() -> list[bytes]:
        store = MemoryStore()
        access = await with_bob(store)
        made = await create_key(access, "bob", id="abc", secret=CANARY, actor=ACTOR)
        assert CANARY not in repr(made)
        assert CANARY not in repr(await access.find_key("abc", access.clock.boot()))
        await access.journal.checkpoint()
        return [await store.get(stat.path) async for stat in store.list()]

    files = run(work())
    assert len(files) >= 4
    assert not any(CANARY.encode() in data for data in files)


def test_a_sealed_secret_is_good_for_one_key_of_one_user() -> None:
    key, sealed = bytes(32), seal(bytes(32), bytes(12), SECRET, id="abc", user="bob")
    assert unseal(key, sealed, id="abc", user="bob") == SECRET
    for wrong in (
        {"key": b"\1" * 32, "sealed": sealed, "id": "abc", "user": "bob"},
        {"key": key, "sealed": sealed, "id": "abd", "user": "bob"},
        {"key": key, "sealed": sealed, "id": "abc", "user": "eve"},
        {"key": key, "sealed": sealed[:-1] + bytes([sealed[-1] ^ 1]), "id": "abc", "user": "bob"},
        {"key": key, "sealed": sealed[:20], "id": "abc", "user": "bob"},
    ):
        with pytest.raises((Refused, Corrupt), match=r"abc|abd"):
            unseal(**wrong)  # type: ignore[arg-type]
    with pytest.raises(FutureFormat):
        unseal(key, b"\2" + sealed[1:], id="abc", user="bob")
    with pytest.raises((Refused, Corrupt)):
        unseal(key, sealed[:3], id="abc", user="bob")


def test_a_key_of_the_configuration_opens_what_it_has_sealed() -> None:
    async def work() -> None:
        store = MemoryStore()
        ours = LakeOptions(secret=lambda: b"a long enough key file")
        access = (await new_lake(store, ours)).open_access()
        await check_encryption(access)
        await create_user(access, "bob", actor=ACTOR)
        await create_key(access, "bob", id="abc", secret=SECRET, actor=ACTOR)
        assert [stat.path async for stat in store.list("_lake/keys/")] == []
        again = (await Lake.open(store, world=ours)).open_access()
        assert await check_encryption(again) == []
        assert await again.find_key("abc", again.clock.boot()) == ("bob", SECRET)
        for other in (LakeOptions(secret=lambda: b"another long key file"), LakeOptions()):
            wrong = (await Lake.open(store, world=other)).open_access()
            with pytest.raises(Refused, match="cannot be decrypted"):
                await check_encryption(wrong)
        both = (await Lake.open(store, clock=StillClock())).open_access()
        await create_key(both, "bob", id="new", actor=ACTOR)
        assert await check_encryption(both) == ["abc"]
        with pytest.raises(Refused, match="'abc'"):
            await both.find_key("abc", both.clock.boot())
        short = (await Lake.open(store, world=LakeOptions(secret=lambda: b"short"))).open_access()
        with pytest.raises(Invalid, match="16 is the least"):
            await check_encryption(short)

    run(work())


def test_the_key_in_the_lake_is_made_once() -> None:
    async def work() -> None:
        store = MemoryStore()
        keys = [encryption_key.EncryptionKey(store, SystemClock(), Ids(), lake="x") for _ in range(4)]
        assert len(set(await asyncio.gather(*(key.get() for key in keys)))) == 1
        await store.put(encryption_key.PATH, b"cut short")
        with pytest.raises(Corrupt, match=encryption_key.PATH):
            await encryption_key.EncryptionKey(store, SystemClock(), Ids(), lake="x").get()

    run(work())


def test_the_first_start_makes_an_administrator() -> None:
    async def work() -> None:
        access = (await new_lake()).open_access()
        made = await ensure_admin(access, actor=ACTOR)
        assert made is not None
        assert await access.find_key(made.access_key_id, access.clock.boot()) == ("admin", made.secret_access_key)
        assert allowed(await access.state(), "admin", "auth:CreateUser", "user/bob")
        assert await ensure_admin(access, actor=ACTOR) is None

    run(work())


def test_the_administrators_key_can_be_given() -> None:
    async def work() -> None:
        access = (await new_lake()).open_access()
        with pytest.raises(Invalid, match="one half"):
            await ensure_admin(access, "AKIAGIVEN", actor=ACTOR)
        with pytest.raises(Invalid):
            await ensure_admin(access, "AKIAGIVEN", "short", actor=ACTOR)
        made = await ensure_admin(access, "AKIAGIVEN", SECRET, actor=ACTOR)
        assert made == NewAccessKey("admin", "AKIAGIVEN", SECRET)
        assert await ensure_admin(access, "AKIAOTHER", SECRET, actor=ACTOR) is None
        assert await access.find_key("AKIAOTHER", access.clock.boot()) is None

    run(work())


def test_of_servers_that_start_at_once_one_makes_the_administrator() -> None:
    async def work() -> None:
        store = MemoryStore()
        await new_lake(store)
        lakes = [(await Lake.open(store)).open_access() for _ in range(6)]
        made = [each for each in await asyncio.gather(*(ensure_admin(one, actor=ACTOR) for one in lakes)) if each]
        assert len(made) == 1
        for each in lakes:
            assert await each.find_key(made[0].access_key_id, each.clock.boot()) is not None
            assert [user.name for user in (await each.state()).users()] == ["admin"]

    run(work())


def test_where_there_is_a_user_no_administrator_is_made() -> None:
    async def work() -> None:
        access = await with_bob()
        assert await ensure_admin(access, actor=ACTOR) is None
        assert (await access.state()).holders("Admin") == []

    run(work())
