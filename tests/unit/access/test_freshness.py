"""Rule A1: once a revocation was answered, no server accepts the key; and the cost of that.

Two lakes on one store stand for two machines: an administrator's, and a server with its own clock and a slow store,
whose answers are as old as its questions. A rule that is too weak must be caught by the same stories.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from lochan.access.open_access import ANSWER_S, TRUST_S, Freshness, OpenAccess
from lochan.access.policies import attach, detach
from lochan.access.users import create_key, create_user, delete_user, find_key, revoke_key
from lochan.errors import LochanError, NotFound, Transient
from lochan.lake import Lake
from lochan.store.capabilities import Wrapper
from lochan.store.counts import CountingStore, RequestCounts
from lochan.store.local import LocalStore
from lochan.store.memory import MemoryStore
from lochan.store.protocol import Store
from tests.run import run
from tests.unit.access.hand_clock import Machine, Time, settle
from tests.unit.access.place import ACTOR

KEY, SECRET = "LKIATEST", "a-secret-of-some-length"


class SlowStore(Wrapper):
    """Its answers were true when the request was sent: no answer could be staler."""

    def __init__(
        self, inner: Store, time: Time, random: Random, delays: Sequence[float] = (0.001, 0.05, 0.4, 1.5)
    ) -> None:
        super().__init__(inner)
        self._time = time
        self._random = random
        self._delays = delays
        self.slow = False
        self.asked = 0

    async def get(self, path: str) -> bytes:
        if not self.slow:
            return await self.inner.get(path)
        try:
            found: bytes | NotFound = await self.inner.get(path)
        except NotFound as error:
            found = error
        self.asked += 1
        await self._time.sleep(self._random.choice(self._delays))
        if isinstance(found, NotFound):
            raise found
        return found


class Story:
    """A key is revoked while requests with it keep coming. Times are true ones, not those of some machine's clock."""

    def __init__(self, seed: int, *, trust_s: float, answer_s: float) -> None:
        self.random = Random(seed)
        self.time = Time()
        self.trust_s = trust_s
        self.answer_s = answer_s
        self.answered: float | None = None
        self.let_in: list[float] = []  # when the requests arrived that were let in
        self.turned_away = 0

    async def play(self) -> None:
        store = MemoryStore()
        admin_clock = Machine(self.time, rate=1.04)
        server_clock = Machine(self.time, began=-5_000.0, rate=0.96)
        admin = (await Lake.create(store, clock=admin_clock)).open_access()
        await _user_with_key(admin)
        slow = SlowStore(store, self.time, self.random)
        self.server = (await Lake.open(slow, clock=server_clock)).open_access()
        self.server.freshness = Freshness(
            self.server.journal, server_clock, trust_s=self.trust_s, answer_s=self.answer_s
        )
        admin.freshness = Freshness(admin.journal, admin_clock, trust_s=self.trust_s, answer_s=self.answer_s)
        assert await self.server.find_key(KEY, server_clock.boot()) == ("bob", SECRET)
        slow.slow = True
        tasks = []
        revoke_at = self.random.randrange(5, 15)
        for step in range(60):
            if step == revoke_at:
                tasks.append(asyncio.create_task(self._revoke(admin)))
            tasks.append(asyncio.create_task(self._request(server_clock)))
            await self.time.advance(self.random.choice([0.0, 0.01, 0.1, 0.3]))
        await self.time.advance(30.0)
        await asyncio.gather(*tasks)

    async def _revoke(self, admin: OpenAccess) -> None:
        await revoke_key(admin, KEY, actor=ACTOR)
        self.answered = self.time.now

    async def _request(self, clock: Machine) -> None:
        arrived, reading = self.time.now, clock.boot()
        await self.time.sleep(self.random.choice([0.0, 0.0, 0.5, 3.0]))  # a body that is slow to come, a busy loop
        if await find_key(self.server, KEY, reading) is None:
            self.turned_away += 1
        else:
            self.let_in.append(arrived)

    def let_in_too_late(self) -> list[float]:
        assert self.answered is not None
        return [arrived for arrived in self.let_in if arrived > self.answered]


def play(seed: int, *, trust_s: float = TRUST_S, answer_s: float = ANSWER_S) -> Story:
    story = Story(seed, trust_s=trust_s, answer_s=answer_s)
    run(story.play())
    return story


@pytest.mark.parametrize("seeds", [range(20), range(20, 40)], ids=str)
@pytest.mark.thorough
def test_a_revoked_key_is_never_let_in_once_that_was_answered(seeds: range) -> None:
    for seed in seeds:
        story = play(seed)
        assert story.let_in_too_late() == [], f"seed {seed}"
        assert story.let_in, f"seed {seed}"
        assert story.turned_away, f"seed {seed}"


@pytest.mark.parametrize(
    "trust_s, answer_s",
    [
        pytest.param(TRUST_S, 0.0, id="the answer does not wait"),
        pytest.param(2.5, ANSWER_S, id="a probe is trusted for too long"),
    ],
)
def test_a_weaker_rule_would_be_caught(trust_s: float, answer_s: float) -> None:
    assert any(play(seed, trust_s=trust_s, answer_s=answer_s).let_in_too_late() for seed in range(40))


def test_a_story_without_trust_needs_no_wait() -> None:
    for seed in range(10):
        assert play(seed, trust_s=0.0, answer_s=0.0).let_in_too_late() == [], f"seed {seed}"


@pytest.mark.parametrize("verb", ["revoke", "again", "delete", "detach"])
def test_what_takes_access_away_is_answered_late(verb: str) -> None:
    async def work() -> None:
        time = Time()
        access = (await Lake.create(MemoryStore(), clock=Machine(time))).open_access()
        await _user_with_key(access)
        task = asyncio.create_task(attach(access, "Analyst", "user/bob", actor=ACTOR))
        await time.advance(ANSWER_S)
        await task
        match verb:
            case "revoke":
                task = asyncio.create_task(revoke_key(access, KEY, actor=ACTOR))
            case "again":
                task = asyncio.create_task(revoke_key(access, "LKIAOTHER", actor=ACTOR))
            case "delete":
                task = asyncio.create_task(delete_user(access, "bob", actor=ACTOR))
            case _:
                task = asyncio.create_task(detach(access, "Analyst", "user/bob", actor=ACTOR))
        await time.advance(ANSWER_S - 0.01)
        assert not task.done()
        await time.advance(0.02)
        assert task.done()
        assert isinstance(task.exception(), NotFound) is (verb == "again")

    run(work())


def test_so_is_the_deletion_of_a_repository() -> None:
    async def work() -> None:
        time = Time()
        lake = await Lake.create(MemoryStore(), clock=Machine(time))
        await lake.create_repository("demo", actor=ACTOR)
        for expected in (None, NotFound):  # the second to ask takes "not there" for "done"
            task = asyncio.create_task(lake.delete_repository("demo", actor=ACTOR))
            await time.advance(ANSWER_S - 0.01)
            assert not task.done()
            await time.advance(0.02)
            assert task.done()
            assert type(task.exception()) is (expected or type(None))

    run(work())


def test_a_probe_serves_everybody_for_a_second() -> None:
    async def work() -> None:
        time, counts = Time(), RequestCounts()
        store = CountingStore(MemoryStore(), counts)
        clock = Machine(time)
        access = (await Lake.create(store, clock=clock)).open_access()
        await _user_with_key(access)
        await time.advance(5.0)
        before = counts.total.requests
        found = await asyncio.gather(*(access.find_key(KEY, clock.boot()) for _ in range(100)))
        assert set(found) == {("bob", SECRET)}
        assert 1 <= counts.total.requests - before <= 4  # one probe, or a second for those who came while it was out
        before = counts.total.requests
        await time.advance(0.49)
        assert await access.find_key(KEY, clock.boot()) is not None
        await settle()
        assert counts.total.requests == before
        await time.advance(1.0)
        assert await access.find_key(KEY, clock.boot()) is not None
        assert counts.total.requests > before

    run(work())


def test_under_steady_traffic_nobody_waits_for_a_probe() -> None:
    async def work() -> None:
        time = Time()
        clock = Machine(time)
        slow = SlowStore(MemoryStore(), time, Random(0), delays=[0.2])
        access = (await Lake.create(slow, clock=clock)).open_access()
        await _user_with_key(access)
        assert await access.find_key(KEY, clock.boot()) is not None
        slow.slow = True
        for _ in range(100):
            await time.advance(0.05)
            request = asyncio.create_task(access.find_key(KEY, clock.boot()))
            await settle()
            assert request.done()
            assert request.result() is not None
        assert slow.asked >= 5

    run(work())


def test_on_a_disk_every_request_probes_and_nothing_waits(tmp_path: Path) -> None:
    async def work() -> None:
        LocalStore(str(tmp_path), create=True)
        clock = Machine(Time())  # stands still: a sleep would never end
        counts = RequestCounts()
        admin = (await Lake.create(LocalStore(str(tmp_path)), clock=clock)).open_access()
        await _user_with_key(admin)
        server = (await Lake.open(CountingStore(LocalStore(str(tmp_path)), counts), clock=clock)).open_access()
        for _ in range(3):
            before = counts.total.requests
            assert await server.find_key(KEY, clock.boot()) == ("bob", SECRET)
            assert counts.total.requests > before
        await asyncio.wait_for(revoke_key(admin, KEY, actor=ACTOR), 10)
        assert await server.find_key(KEY, clock.boot()) is None

    run(work())


def test_nobody_is_let_in_while_the_journal_cannot_be_asked() -> None:
    class Broken(Wrapper):
        broken = False

        async def get(self, path: str) -> bytes:
            if self.broken:
                raise Transient("the store does not answer")
            return await self.inner.get(path)

    async def work() -> None:
        time = Time()
        clock = Machine(time)
        store = Broken(MemoryStore())
        access = (await Lake.create(store, clock=clock)).open_access()
        await _user_with_key(access)
        store.broken = True
        assert await access.find_key(KEY, clock.boot()) is not None  # confirmed a moment ago
        await time.advance(2.0)
        with pytest.raises(LochanError):
            await access.find_key(KEY, clock.boot())
        store.broken = False
        assert await access.find_key(KEY, clock.boot()) is not None

    run(work())


async def _user_with_key(access: OpenAccess) -> None:
    await create_user(access, "bob", actor=ACTOR)
    await create_key(access, "bob", id=KEY, secret=SECRET, actor=ACTOR)
    await settle()
