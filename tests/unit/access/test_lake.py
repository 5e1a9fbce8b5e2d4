"""Access control beside repositories in the lake's journal: every process folds it, checkpoints keep it, older ones are
read.
"""

import msgspec
import pytest

from lochan.access.policies import attach, delete_policy, detach, put_policy
from lochan.access.users import create_key, create_user, delete_user
from lochan.errors import AlreadyExists, Invalid, Refused
from lochan.formats import checkpoint as checkpoints
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.unit.access.place import ACTOR, allow, allowed
from tests.unit.store.clocks import StillClock

MAIN = "repository/sales/branch/main"


async def create(store: MemoryStore) -> Lake:
    return await Lake.create(store, clock=StillClock())


def test_what_one_process_did_another_knows_with_and_without_a_checkpoint() -> None:
    async def work() -> None:
        store = MemoryStore()
        lake = await create(store)
        access = lake.open_access()
        await lake.create_repository("sales", actor=ACTOR)
        await create_user(access, "bob", actor=ACTOR)
        await put_policy(access, "Read", [allow("fs:Read*", "repository/sales/*")], actor=ACTOR)
        await attach(access, "Read", "user/bob", actor=ACTOR)
        made = await create_key(access, "bob", actor=ACTOR)
        for _ in range(2):
            other = (await Lake.open(store)).open_access()
            state = await other.state()
            assert allowed(state, "bob", "fs:ReadObject", f"{MAIN}/object/a")
            assert not allowed(state, "bob", "fs:WriteObject", f"{MAIN}/object/a")
            assert await other.find_key(made.access_key_id, other.clock.boot()) == ("bob", made.secret_access_key)
            assert [each.name for each in await lake.repositories()] == ["sales"]
            await access.journal.checkpoint()

    run(work())


def test_a_checkpoint_from_before_there_was_access_is_read() -> None:
    async def work() -> None:
        store = MemoryStore()
        lake = await create(store)
        await lake.create_repository("sales", actor=ACTOR)
        journal = await lake.journal()
        old = journal.tail.state.checkpoint()
        old = msgspec.structs.replace(old, parts={name: old.parts[name] for name in ("repositories", "keys")})
        await journal.checkpoints.write(old)
        again = await Lake.open(store)
        assert [each.name for each in await again.repositories()] == ["sales"]
        assert (await again.open_access().state()).users() == []

    assert checkpoints.VERSION == 1
    run(work())


def test_two_clients_do_the_same_at_once() -> None:
    async def work() -> None:
        store = MemoryStore()
        one, two = (await create(store)).open_access(), (await Lake.open(store, clock=StillClock())).open_access()
        await two.state()
        await create_user(one, "bob", actor=ACTOR)
        with pytest.raises(AlreadyExists):
            await create_user(two, "bob", actor=ACTOR)
        await create_user(one, "ada", actor=ACTOR)
        await attach(one, "Admin", "user/bob", actor=ACTOR)
        await attach(one, "Admin", "user/ada", actor=ACTOR)
        await two.state()
        await delete_user(one, "bob", actor=ACTOR)
        with pytest.raises(Refused, match="the last"):  # two had seen both of them
            await detach(two, "Admin", "user/ada", actor=ACTOR)
        assert [user.name for user in (await two.state()).users()] == ["ada"]

    run(work())


def test_a_request_sent_twice_is_done_once() -> None:
    async def work() -> None:
        access = (await create(MemoryStore())).open_access()
        keys = [access.ids.idempotency_key(access.clock.wall()) for _ in range(2)]
        for _ in range(2):
            assert (await create_user(access, "bob", actor=ACTOR, key=keys[0])).name == "bob"
        await attach(access, "Analyst", "user/bob", actor=ACTOR)
        for _ in range(2):
            await delete_user(access, "bob", actor=ACTOR, key=keys[1])
        assert (await create_user(access, "bob", actor=ACTOR, key=keys[0])).created == 0

    run(work())


def test_an_invalid_policy_is_refused_before_anything_is_written() -> None:
    async def work() -> None:
        access = (await create(MemoryStore())).open_access()
        with pytest.raises(Invalid, match="fs:Nothing"):
            await put_policy(access, "P", [allow("fs:Nothing", "*")], actor=ACTOR)
        with pytest.raises(Invalid, match="name"):
            await put_policy(access, "a/b", [allow("fs:*", "*")], actor=ACTOR)
        await put_policy(access, "P", [allow("fs:*", "*")], actor=ACTOR)
        assert (await access.journal.fresh()).number == 1
        await delete_policy(access, "P", actor=ACTOR)
        assert [each.name for each in (await access.state()).policies() if not each.built_in] == []

    run(work())
