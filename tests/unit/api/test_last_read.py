"""Rules about the last read, from the verbs that read to the commit that drops."""

from typing import Any

import pytest

from lochan.api.collection import KeepRule, LiveRule, RetentionInfo
from lochan.api.lake import Lake
from lochan.api.retention import days_text, parse_days, parse_drop, parse_keep
from lochan.api.retention_file import read_rules
from lochan.api.session import Session
from lochan.errors import Invalid, NotFound
from lochan.formats import usage
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.lake import Lake as EngineLake
from lochan.store.memory import MemoryStore
from lochan.usage.notes import NoteSettings, ReadNotes
from tests.run import run
from tests.unit.collection.test_plan_and_sweep import DaysClock

ANN = Actor("ann", "test", "here")
IDLE = RetentionInfo(drops=(LiveRule(pattern="main", unread_days=3),), readers="noted")


class Place:
    def __init__(self, lake: EngineLake, clock: DaysClock) -> None:
        self.clock = clock
        self._lake = lake
        self.admin = self.process("admin")

    def process(self, kind: str, *, enabled: bool = True, lasting: bool = True) -> Lake:
        """Another process, as the log sees it."""
        settings = NoteSettings(kind, "ann", enabled, lasting=lasting)
        notes = ReadNotes(self._lake.store, self.clock, Ids(), settings)
        return Lake(Session(self._lake, ANN, notes=lambda: notes))

    def days(self, count: int) -> None:
        for _ in range(count):
            self.clock.skip_day()

    async def drop(self, name: str = "demo") -> Any:
        [part] = await self.admin.repository(name).gc.drop()
        return part


async def place() -> Place:
    clock = DaysClock()
    lake = await EngineLake.create(MemoryStore(clock=clock), clock=clock)
    there = Place(lake, clock)
    await there.admin.create_repository("demo")
    main = there.admin.repository("demo").branch("main")
    for path in ("a", "b", "in/c.txt", "in/d.txt", "e"):
        await main.put(path, path.encode())
    await main.commit("all")
    await there.admin.repository("demo").gc.set_rules(IDLE)
    there.days(4)
    return there


def test_what_any_process_has_read_stays() -> None:
    async def play() -> None:
        there = await place()
        one = there.process("cli", lasting=False).repository("demo").ref("main")
        assert await one.read("a") == b"a"
        python = there.process("python")
        other = python.repository("demo")
        await other.branch("main").copy(other.ref("main"), "b", "copied")
        rows = await python.query("from demo@main/in/*")
        rows.close()
        await python._session.close_notes()
        part = await there.drop()
        assert (part.waits, part.examples) == ("", ("e",))

    run(play())


def test_a_process_that_notes_nothing_stops_the_rule() -> None:
    async def play() -> None:
        there = await place()
        silent = there.process("cli", enabled=False, lasting=False)
        await silent.repository("demo").ref("main").read("a")
        part = await there.drop()
        assert part.objects == 0 and "usage.enabled is off" in part.waits
        there.days(4)
        assert (await there.drop()).objects == 5, "by now nobody has read it for long enough"

    run(play())


def test_the_declaration_counts_from_its_own_time() -> None:
    async def play() -> None:
        there = await place()
        gc = there.admin.repository("demo").gc
        await gc.set_rules(RetentionInfo())
        await gc.set_rules(IDLE)
        assert "declared" in (await there.drop()).waits
        there.days(2)
        await gc.set_rules(IDLE)  # said again, it counts from the first time
        there.days(2)
        assert (await there.drop()).waits == ""

    run(play())


def test_reads_of_a_repository_that_has_another_name_now() -> None:
    async def play() -> None:
        there = await place()
        reader = there.process("cli", lasting=False)
        await reader.repository("demo").ref("main").read("a")
        await there.admin.repository("demo").rename("renamed")
        part = await there.drop("renamed")
        assert part.objects == 4 and "a" not in part.examples

    run(play())


def test_a_damaged_file_of_the_log_stops_the_rule_and_is_named() -> None:
    async def play() -> None:
        there = await place()
        await there.process("cli", lasting=False).repository("demo").ref("main").read("a")
        store = there.admin._session.lake.store
        [name] = [stat.path async for stat in store.list(f"{usage.FOLDER}/2")]
        await store.put(name, (await store.get(name))[:-5])
        part = await there.drop()
        assert part.objects == 0 and name in part.waits

    run(play())


def test_without_a_declaration_a_server_must_have_run_all_the_time() -> None:
    async def play() -> None:
        there = await place()
        rules = RetentionInfo(drops=IDLE.drops)
        await there.admin.repository("demo").gc.set_rules(rules)
        assert "no server" in (await there.drop()).waits

    run(play())


def test_the_log_is_kept_as_long_as_a_rule_needs_it() -> None:
    async def play() -> None:
        there = await place()
        await there.process("cli", lasting=False).repository("demo").ref("main").read("a")
        there.days(2)
        done = await there.admin.compact_usage(keep_days=0.1)
        assert (done.kept_days, done.deleted_days, done.rows) == (5.0, 0, 1)
        assert "a" not in (await there.drop()).examples

    run(play())


def test_rules_as_text() -> None:
    assert parse_keep("*=90d,100") == KeepRule(pattern="*", days=90, commits=100)
    assert parse_drop("main:dt=2024/=unwritten 12h").prefix == "dt=2024/"
    assert parse_drop("main[..2020-12-31]=older 90d").high == "2020-12-31"
    for text in ("main:tmp/=unread 30d", "main[1..2]=older 1d", "dev-*=unwritten 12h", "main:a/=never"):
        assert parse_drop(text).text == text
    assert [days_text(parse_days(text)) for text in ("30d", "12h", "15m", "10s")] == ["30d", "12h", "15m", "10s"]
    for text in ("main", "=unread 3d", "main=unread", "main=unread 3", "main[1]=older 3d", "main=older -3d", ""):
        with pytest.raises(Invalid):
            parse_drop(text)


@pytest.mark.parametrize(
    "text, said",
    [
        ("keep: {branch: main}", "list"),
        ("kept: []", "did you mean 'keep'"),
        ("drop: [{branch: main, unread: soon}]", "unread"),
        ("drop: [5]", "names and values"),
        ("{", "not YAML"),
        ("keep: [{branch: main, forever: maybe}]", "forever"),
        ("!!python/object/apply:os.system ['true']", "names and values"),
    ],
)
def test_a_file_of_rules_that_is_wrong(tmp_path: Any, text: str, said: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(Invalid, match=said):
        read_rules(str(file))
    with pytest.raises(NotFound):
        read_rules(str(tmp_path / "none.yaml"))
