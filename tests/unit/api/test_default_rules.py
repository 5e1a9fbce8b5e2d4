"""The lake's default retention rules: who follows them, since when, and who does not."""

import pytest

from lochan.api.collection import KeepRule, LiveRule, RetentionInfo
from lochan.api.lake import Lake
from lochan.api.session import Session
from lochan.api.usage import needed_days
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.collection_events import RetentionRule, RetentionSet
from lochan.formats.record import Actor
from lochan.lake import Lake as EngineLake
from lochan.store.memory import MemoryStore
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import DaysClock

ANN = Actor("ann", "test", "here")
EVERY = RetentionInfo(rules=(KeepRule(pattern="*", days=90),))
LATER = RetentionInfo(rules=(KeepRule(pattern="*", days=30),))


class Place:
    def __init__(self, engine: EngineLake, clock: DaysClock) -> None:
        self.engine = engine
        self.clock = clock
        self.session = Session(engine, ANN)
        self.lake = Lake(self.session)

    async def events(self, name: str) -> list[str]:
        return [each.text async for each in self.lake.events(name)]


async def place() -> Place:
    clock = DaysClock()
    there = Place(await EngineLake.create(MemoryStore(clock=clock), clock=clock), clock)
    await there.lake.create_repository("demo")
    await there.lake.create_repository("own")
    return there


def test_a_repository_without_rules_follows_the_lake() -> None:
    async def play() -> None:
        there = await place()
        demo, own = there.lake.repository("demo").gc, there.lake.repository("own").gc
        assert (await demo.rules()).source == ""
        await own.set_rules(LATER)
        await there.lake.set_default_rules(EVERY)
        assert ((await demo.rules()).rules, (await demo.rules()).source) == (EVERY.rules, "lake")
        assert ((await own.rules()).rules, (await own.rules()).source) == (LATER.rules, "repository")
        assert ((await demo.check_rules()).source, (await own.check_rules()).source) == ("lake", "repository")
        assert (await demo.check_rules(LATER)).source == ""

    run(play())


def test_rules_are_taken_before_anything_goes_by_them_and_once() -> None:
    async def play() -> None:
        there = await place()
        demo = there.lake.repository("demo").gc
        await there.lake.set_default_rules(EVERY)
        before = await there.events("demo")
        await demo.check_rules()
        assert await there.events("demo") == before, "a check changes nothing"
        await demo.expire()
        await demo.expire()
        assert (await there.events("demo"))[len(before) :] == ["took the lake's retention rules for *"]
        await there.lake.set_default_rules(LATER)
        assert (await demo.rules()).rules == LATER.rules
        await demo.plan()
        taken = [text for text in await there.events("demo") if text.startswith("took")]
        assert len(taken) == 2

    run(play())


def test_what_the_lake_no_longer_keeps_expires() -> None:
    async def play() -> None:
        there = await place()
        main = there.lake.repository("demo").branch("main")
        for number in range(3):
            await main.put("a", str(number).encode())
            await main.commit(str(number))
        for _ in range(40):
            there.clock.skip_day()
        await there.lake.set_default_rules(LATER)
        found = await there.lake.repository("demo").gc.check_rules()
        assert len(found.commits) == 3  # all but the head
        assert (await there.lake.repository("demo").gc.expire()).commits == found.commits

    run(play())


def test_own_rules_stay_even_if_they_are_none() -> None:
    async def play() -> None:
        there = await place()
        own = there.lake.repository("own").gc
        await own.set_rules(RetentionInfo())
        await there.lake.set_default_rules(LATER)
        await own.expire()
        assert ((await own.rules()).rules, (await own.rules()).source) == ((), "repository")
        assert (await own.set_rules(None)).rules == LATER.rules
        assert (await own.rules()).source == "lake"
        await there.lake.set_default_rules(EVERY)
        assert (await own.rules()).rules == EVERY.rules

    run(play())


def test_default_rules_never_land_over_rules_that_were_set_meanwhile() -> None:
    async def play() -> None:
        there = await place()
        await there.lake.repository("own").gc.set_rules(EVERY)
        async with there.session.opened("own") as repository:
            with pytest.raises(Refused, match="rules of its own"):
                await repository.submit(ANN, RetentionSet((RetentionRule("*", 1),), default=7))
        assert (await there.lake.repository("own").gc.rules()).rules == EVERY.rules

    run(play())


def test_rules_that_say_nothing_of_a_repository_are_left_out() -> None:
    async def play() -> None:
        there = await place()
        await there.lake.create_pool("logs", key="ts")
        paths = LiveRule(pattern="main", prefix="tmp/", unwritten_days=3)
        keys = LiveRule(pattern="main", older_days=30)
        await there.lake.set_default_rules(RetentionInfo(drops=(paths, keys)))
        for name, rule in (("demo", paths), ("logs", keys)):
            assert [each.text for each in (await there.lake.repository(name).gc.rules()).drops] == [rule.text]

    run(play())


def test_bad_rules_and_no_rules() -> None:
    async def play() -> None:
        there = await place()
        with pytest.raises(NotFound, match="no default rules"):
            await there.lake.repository("demo").gc.set_rules(None)
        twice = RetentionInfo(rules=(KeepRule(pattern="*", days=3), KeepRule(pattern="main", days=5)))
        with pytest.raises(Invalid, match="never used"):
            await there.lake.set_default_rules(twice)
        assert (await there.lake.default_rules()).source == ""

    run(play())


def test_a_checkpoint_keeps_them_and_the_usage_log_stays_as_long_as_they_ask() -> None:
    async def play() -> None:
        there = await place()
        await there.lake.set_default_rules(RetentionInfo(drops=(LiveRule(pattern="main", unread_days=300),)))
        assert await needed_days(there.session) > 300
        journal = await there.engine.journal()
        await journal.checkpoint()
        again = Lake(Session(await EngineLake.open(there.engine.store, clock=there.clock), ANN))
        assert (await again.default_rules()).drops[0].unread_days == 300

    run(play())


@pytest.mark.parametrize("readers", ["server", "noted"])
def test_a_check_says_whom_rules_about_the_last_read_do_not_see(readers: str) -> None:
    async def play() -> None:
        there = await place()
        demo = there.lake.repository("demo").gc
        unread = RetentionInfo(drops=(LiveRule(pattern="main", unread_days=3),), readers=readers)
        [warning] = (await demo.check_rules(unread)).warnings
        assert "may only read the bucket" in warning.replace("\n", " ")
        assert not (await demo.check_rules(EVERY)).warnings

    run(play())
