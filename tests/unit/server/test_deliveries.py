"""Subscriptions are sent every event that they are about, at least once and in order; nobody waits for another."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from lochan.access import users
from lochan.api.lake import Lake
from lochan.api.session import Session
from lochan.api.subscriptions import EventChoice
from lochan.api.wrappers.records import Caller, serve_lake
from lochan.clock import SystemClock
from lochan.errors import Invalid, LochanError, NotFound, Refused
from lochan.formats.record import Actor
from lochan.hooks.run_hook import HookOptions
from lochan.lake import Lake as OpenLake
from lochan.lake import LakeOptions
from lochan.server.deliveries.deliverer import Deliverer
from lochan.server.settings import DeliverySettings
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.servers.receiver import Receiver, receiver
from tests.until import until

ANN = Actor("ann", "test", "here")
_SECOND = 1_000_000


class Wall(SystemClock):
    """A wall clock that a test moves."""

    seconds = 0.0

    def wall(self) -> int:
        return super().wall() + round(self.seconds * _SECOND)


class Place:
    """A lake with one repository, and servers that send its events when they are told to."""

    def __init__(self, store: MemoryStore, clock: Wall, opened: OpenLake) -> None:
        self.store, self.clock = store, clock
        self.lake = Lake(Session(opened, ANN))
        self.opened: list[OpenLake] = []
        self.deliverers: list[Deliverer] = []

    async def deliverer(self, **settings: float) -> Deliverer:
        opened = await OpenLake.open(self.store, clock=self.clock, world=ALLOWED)
        self.opened.append(opened)
        session = Session(opened, Actor("lochan", "deliveries", ""))
        made = Deliverer(session, DeliverySettings(**{"attempts": 3, "retry_s": 10.0, **settings}))  # type: ignore[arg-type]
        self.deliverers.append(made)
        return made

    async def put(self, *paths: str, branch: str = "main") -> None:
        for path in paths:
            await self.lake.repository("shop").branch(branch).put(path, path.encode())

    async def served(self, user: str, key: str = "") -> Lake:
        """As that user has it from a server."""
        caller = Caller(user, "rest", "127.0.0.1:1", self.clock.boot(), key=key)
        return serve_lake(self.lake, caller, lambda use: None, lambda line: None).lake


ALLOWED = LakeOptions(hooks=HookOptions(allowed_hosts=("127.0.0.1",)))


@asynccontextmanager
async def place() -> AsyncIterator[Place]:
    store, clock = MemoryStore(), Wall()
    opened = await OpenLake.create(store, clock=clock, world=ALLOWED)
    found = Place(store, clock, opened)
    await found.lake.create_repository("shop")
    try:
        yield found
    finally:
        for each in found.deliverers:
            await each._keep(())
            each._pool.shutdown(wait=False)
        for lake in found.opened:
            await lake.close()
        await found.lake.close()


def play(work: Callable[[Place], Awaitable[None]]) -> None:
    async def all() -> None:
        async with place() as at:
            await work(at)

    run(all())


async def settle(deliverer: Deliverer) -> None:
    """Until it has nothing more to do now."""

    async def idle() -> bool:
        await deliverer.look()
        return not any(each.is_running for each in deliverer._subscribers.values())

    await until(idle)
    await until(idle)


@pytest.fixture
def target() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


def texts(target: Receiver, path: str = "") -> list[str]:
    return [f"{each['type']} {each['text'].partition(': ')[2]}".strip() for each in target.events(path)]


def test_what_happens_is_sent_once_in_order_and_signed(target: Receiver) -> None:
    async def work(at: Place) -> None:
        await at.put("before")
        made = await at.lake.create_subscription(f"{target.url}/a", "shop")
        sender = await at.deliverer()
        await settle(sender)
        assert target.seen == []
        await at.put(*(f"{number:03}" for number in range(120)))
        await settle(sender)
        await at.put("last")
        await settle(sender)
        await settle(sender)
        paths = [each["payload"]["puts"][0]["path"] for each in target.events()]
        assert paths == [*(f"{number:03}" for number in range(120)), "last"]
        assert len({each["id"] for each in target.events()}) == len(paths)
        assert all(each.is_signed_with(made.secret) and not each.is_signed_with("x") for each in target.seen)
        assert max(len(each.events) for each in target.seen) <= 100 < len(paths)
        first = target.events()[0]
        assert (first["repository"], first["user"], first["type"]) == ("shop", "ann", "staged")
        [shown] = [each async for each in at.lake.subscriptions()]
        assert (shown.id, shown.delivered, shown.trouble) == (made.id, 121, "") and shown.last is not None

    play(work)


def test_filters(target: Receiver) -> None:
    async def work(at: Place) -> None:
        shop = at.lake.repository("shop")
        for name, choice in {
            "branch": EventChoice(branches=("release-*",)),
            "type": EventChoice(types=("committed", "pull-*")),
            "path": EventChoice(prefix="data/"),
            "both": EventChoice(branches=("main",), types=("staged",)),
            "into": EventChoice(branches=("main",), types=("pull-*",)),
        }.items():
            await at.lake.create_subscription(f"{target.url}/{name}", "shop", choice)
        await at.lake.create_subscription(f"{target.url}/lake", "_lake")
        sender = await at.deliverer()
        await shop.create_branch("release-1", "main")
        await at.put("data/a", "b")
        await at.put("c", branch="release-1")
        await shop.branch("release-1").commit("it")
        await (await shop.create_pull("release-1", "main", title="a")).comment("why")
        await (await shop.create_pull("main", "release-1", title="b")).comment("back")
        await settle(sender)
        assert [text.partition(" ")[0] for text in texts(target, "/branch")] == [
            *("branch-created", "staged", "sealed", "committed", "pull-opened", "pull-commented")
        ]
        assert [each["type"] for each in target.events("/type")] == [
            *("committed", "pull-opened", "pull-commented", "pull-opened", "pull-commented")
        ]
        assert texts(target, "/path") == ["staged put data/a"]
        assert texts(target, "/both") == ["staged put data/a", "staged put b"]
        assert [each["type"] for each in target.events("/into")] == ["pull-opened", "pull-commented"]
        types = {each["type"] for each in target.events("/lake")}
        assert types == {"subscription-created"}, "and not that events are being sent"
        assert not any("sealed" in each["payload"] for each in target.events("/lake"))

    play(work)


def test_a_receiver_that_fails_is_tried_again_and_given_up(target: Receiver) -> None:
    async def work(at: Place) -> None:
        attempts: list[int] = []
        target.answer = lambda received: attempts.append(received.json["attempt"]) or 503  # type: ignore[func-returns-value]
        made = await at.lake.create_subscription(target.url, "shop")
        sender = await at.deliverer()
        await at.put("a")
        await settle(sender)
        assert attempts == [1], "it is not asked again before it is due"
        at.clock.seconds += 14
        await settle(sender)
        assert attempts == [1, 2]
        [shown] = [each async for each in at.lake.subscriptions()]
        assert (shown.attempts, shown.trouble) == (2, "the receiver has answered 503")
        at.clock.seconds += 40
        await settle(sender)
        [letter] = [each async for each in at.lake.dead_letters(made.id)]
        assert (letter.attempts, letter.events, letter.types, letter.again) == (3, 1, ("staged",), False)
        target.answer = lambda received: 200
        await at.put("b")
        await settle(sender)
        assert texts(target) == ["staged put b"], "what comes later is not held up for ever"
        with pytest.raises(NotFound, match="no dead letter 'nothing'"):
            await at.lake.redeliver(made.id, ["nothing"])
        assert await at.lake.redeliver(made.id) == 1
        await settle(sender)
        assert texts(target) == ["staged put b", "staged put a"]
        assert [each async for each in at.lake.dead_letters(made.id)] == []
        assert await at.lake.redeliver(made.id) == 0

    play(work)


def test_a_letter_that_fails_again_stays(target: Receiver) -> None:
    async def work(at: Place) -> None:
        target.answer = lambda received: 500
        made = await at.lake.create_subscription(target.url, "shop")
        sender = await at.deliverer(attempts=1)
        await at.put("a")
        await settle(sender)
        assert await at.lake.redeliver(made.id) == 1
        await settle(sender)
        [letter] = [each async for each in at.lake.dead_letters(made.id)]
        assert (letter.attempts, letter.again) == (2, False)
        await at.lake.delete_subscription(made.id)
        await settle(sender)
        assert [each.path async for each in at.store.list("_lake/subscriptions/")] == []

    play(work)


def test_a_receiver_that_never_answers_holds_up_nobody(target: Receiver) -> None:
    async def work(at: Place) -> None:
        hangs, over = threading.Event(), threading.Event()

        def answer(received: object) -> int:
            if received.path == "/slow":  # type: ignore[attr-defined]
                hangs.set()
                over.wait(60)
            return 200

        target.answer = answer
        for name in ("slow", "quick"):
            await at.lake.create_subscription(f"{target.url}/{name}", "shop")
        sender = await at.deliverer(timeout_s=60)
        await at.put("a")

        async def sent(count: int) -> bool:
            await sender.look()
            return hangs.is_set() and len(target.events("/quick")) == count

        await until(lambda: sent(1))
        await at.put("b", "c")
        await until(lambda: sent(3))
        assert target.events("/slow") == []
        over.set()
        await settle(sender)
        assert len(target.events("/slow")) == 3

    play(work)


def test_of_several_servers_one_sends_and_another_goes_on_when_it_is_gone(target: Receiver) -> None:
    async def work(at: Place) -> None:
        await at.lake.create_subscription(target.url, "shop")
        one, two = await at.deliverer(), await at.deliverer()
        await at.put("a")
        await settle(one)
        await at.put("b")
        await settle(two)
        assert texts(target) == ["staged put a"], "the other one has its turn"
        at.clock.seconds += 20
        await settle(two)
        assert texts(target) == ["staged put a", "staged put b"]
        await at.put("c")
        await settle(one)
        assert len(target.events()) == 2
        await settle(two)
        at.clock.seconds += 20
        await settle(one)
        assert texts(target) == ["staged put a", "staged put b", "staged put c"], "and none of them twice"

    play(work)


def test_a_server_that_dies_after_sending_sends_again(target: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(at: Place) -> None:
        await at.lake.create_subscription(target.url, "shop")
        one = await at.deliverer()
        await at.put("a")

        async def killed(*given: object) -> None:
            raise OSError("killed")

        with monkeypatch.context() as patched:
            patched.setattr("lochan.server.deliveries.subscriber.Subscriber._save", killed)
            await one.look()
            await until(lambda: len(target.events()) == 1)
        await one._keep(())
        two = await at.deliverer()
        at.clock.seconds += 20
        await settle(two)
        first, second = target.events()
        assert first["id"] == second["id"]

    play(work)


def test_an_owner_is_sent_what_they_may_read_when_it_is_sent(target: Receiver) -> None:
    async def work(at: Place) -> None:
        access = at.lake.access
        await access.create_user("root")
        await access.attach("Admin", "root")
        for user in ("ada", "eve"):
            await access.create_user(user)
        await access.attach("Developer", "ada")
        with pytest.raises(LochanError, match="denied"):
            await (await at.served("eve")).create_subscription(target.url, "shop")
        with pytest.raises(LochanError, match="denied"):
            await (await at.served("ada")).create_subscription(target.url, "_lake")
        ada = await at.served("ada")
        made = await ada.create_subscription(target.url, "shop")
        assert [each.id async for each in ada.subscriptions()] == [made.id]
        eve = await at.served("eve")
        assert [each.id async for each in eve.subscriptions()] == []
        for denied in (eve.delete_subscription(made.id), eve.redeliver(made.id), eve.delete_subscription("nothing")):
            with pytest.raises(LochanError, match="denied"):
                await denied
        sender = await at.deliverer()
        await at.put("a")
        await settle(sender)
        assert texts(target) == ["staged put a"]
        await access.detach("Developer", "ada")
        await at.put("b")
        await settle(sender)
        assert len(target.events()) == 1
        [shown] = [each async for each in (await at.served("root")).subscriptions()]
        assert shown.trouble == "its owner may not read these events" and shown.owner == "ada"
        await access.attach("Developer", "ada")
        at.clock.seconds += 31
        await settle(sender)
        assert texts(target) == ["staged put a", "staged put b"]
        await access.set_disabled("ada")
        await at.put("c")
        at.clock.seconds += 31
        await settle(sender)
        await access.delete_user("ada")
        await access.create_user("ada")
        await access.attach("Developer", "ada")
        at.clock.seconds += 31
        await settle(sender)
        assert len(target.events()) == 2, "another user of that name is somebody else"

    play(work)


def test_a_key_with_limits_makes_no_subscription() -> None:
    async def work(at: Place) -> None:
        await at.lake.access.create_user("ada")
        await at.lake.access.attach("Developer", "ada")
        for given in ({"limits": ["repository/shop", "repository/shop/*"]}, {"lasts_s": 3_600.0}):
            made = await users.create_key(at.lake._session.lake.open_access(), "ada", actor=ANN, **given)
            with pytest.raises(Refused, match="limits"):
                await (await at.served("ada", made.access_key_id)).create_subscription("https://example.org/", "shop")

    play(work)


def test_nothing_is_sent_inside(target: Receiver) -> None:
    async def work(at: Place) -> None:
        port = target.url.rpartition(":")[2]
        await at.lake.create_subscription(f"http://localhost:{port}/", "shop")
        target.location = f"http://localhost:{port}/"
        target.answer = lambda received: 307
        await at.lake.create_subscription(target.url, "shop")
        sender = await at.deliverer()
        await at.put("a")
        await settle(sender)
        troubles = [each.trouble async for each in at.lake.subscriptions()]
        assert len(troubles) == 2 and all("at a private address" in each for each in troubles)
        assert target.seen == []

    play(work)


@pytest.mark.parametrize(
    ("url", "choice", "words"),
    [
        ("ftp://example.org/", EventChoice(), "no scheme of a webhook"),
        ("https://ann:secret@example.org/", EventChoice(), "user name or a password"),
        ("https://", EventChoice(), "names no host"),
        ("https://example.org/", EventChoice(types=("comitted",)), "no event has a type like 'comitted'"),
        ("https://example.org/", EventChoice(branches=("",)), "no pattern"),
        ("https://example.org/", EventChoice(branches=("a",) * 51), "at most 50 patterns"),
    ],
)
def test_what_cannot_be_subscribed_to(url: str, choice: EventChoice, words: str) -> None:
    async def work(at: Place) -> None:
        with pytest.raises(Invalid, match=words):
            await at.lake.create_subscription(url, "shop", choice)
        with pytest.raises(NotFound):
            await at.lake.create_subscription("https://example.org/", "nowhere")
        assert [each async for each in at.lake.subscriptions()] == []

    play(work)


def test_a_user_has_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lochan.versioning.state.subscriptions.OF_LAKE_MAX", 2)

    async def work(at: Place) -> None:
        for _ in range(2):
            await at.lake.create_subscription("https://example.org/", "shop")
        with pytest.raises(Refused, match="2 subscriptions are the most"):
            await at.lake.create_subscription("https://example.org/", "shop")

    play(work)


def test_a_repeated_request_makes_one_subscription() -> None:
    async def work(at: Place) -> None:
        key = at.lake.new_key()
        await at.lake.create_subscription("https://example.org/", "shop", key=key)
        with pytest.raises(Refused, match="shown only once"):
            await at.lake.create_subscription("https://example.org/", "shop", key=key)
        assert len([each async for each in at.lake.subscriptions()]) == 1

    play(work)
