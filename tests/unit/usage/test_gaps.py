"""What the usage log can be trusted with: each way in which a read may go unnoticed is a gap."""

from lochan.clock import SystemClock
from lochan.errors import Transient
from lochan.formats import usage
from lochan.formats.usage import UsageRow
from lochan.ids import Ids
from lochan.store.memory import MemoryStore
from lochan.usage.last_read import BY_NOTES, BY_SERVER, UnknownReads, read_since, unknown_until
from lochan.usage.log import UsageLog
from lochan.usage.notes import NoteSettings, ReadNotes
from lochan.usage.read import DAY_US, read_usage
from tests.run import run

MINUTE = 60 * 1_000_000
START = 20_000 * DAY_US


class Hands(SystemClock):
    """A clock that is set by hand."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def wall(self) -> int:
        return self.at

    def skip(self, micros: int) -> None:
        self.at += micros


class Place:
    def __init__(self) -> None:
        self.clock = Hands()
        self.store = MemoryStore(clock=self.clock)

    def log(self, kind: str = usage.SERVER, clock: Hands | None = None, *, noted: bool = True) -> UsageLog:
        id = Ids().put_id().hex()[:12]
        return UsageLog(self.store, clock or self.clock, id, kind=kind, flush_s=60, noted=noted)

    def row(self, path: str, operation: str = "GetObject", at: int | None = None) -> UsageRow:
        return UsageRow(self.clock.at if at is None else at, "ann", operation, "demo", "main", path, 1, 200)

    async def unknown(self, days: float = 1, readers: str = BY_NOTES, declared: int = 0) -> UnknownReads | None:
        since = self.clock.at - round(days * DAY_US)
        found = await read_usage(self.store, since, self.clock.at)
        return unknown_until(found, since, self.clock.at, readers=readers, declared=declared)

    async def paths(self, days: float = 1) -> list[str]:
        since = self.clock.at - round(days * DAY_US)
        found = await read_usage(self.store, since, self.clock.at)
        return sorted(read_since(found.rows, ["demo"], since).paths.to_pylist())


async def steps(log: UsageLog, clock: Hands, minutes: int) -> None:
    """The log does what it does once a minute."""
    for _ in range(minutes):
        clock.skip(MINUTE)
        await log.flush()


def test_a_process_that_ends_leaves_no_gap() -> None:
    async def play() -> None:
        there = Place()
        log = there.log("python")
        await log.open()
        log.add(there.row("a"))
        await steps(log, there.clock, 3)
        log.add(there.row("b"))
        await log.close()
        assert await there.unknown() is None
        assert await there.paths() == ["a", "b"]

    run(play())


def test_a_process_that_is_killed_leaves_a_gap_of_a_day() -> None:
    async def play() -> None:
        there = Place()
        log = there.log("python")
        await log.open()
        await steps(log, there.clock, 3)
        log.add(there.row("a"))  # and then it is killed
        assert await there.unknown() is None, "it may be alive, and its rows come within minutes"
        there.clock.skip(10 * MINUTE)
        found = await there.unknown()
        assert found is not None and found.until == there.clock.at, "nobody knows whether it still reads"
        assert "without its last rows" in found.why
        there.clock.skip(2 * DAY_US)
        assert await there.unknown(days=0.9) is None, "by now it counts as dead"
        assert await there.unknown(days=4) is not None, "and what it read before is still unknown"

    run(play())


def test_dropped_rows_are_a_gap_of_their_span() -> None:
    async def play() -> None:
        there = Place()
        log = there.log("python")
        await log.open()
        log._dropped(3)
        await steps(log, there.clock, 1)
        await steps(log, there.clock, 60)
        await log.close()
        assert await there.unknown(days=1) == UnknownReads(START + MINUTE, "rows were dropped")
        assert await there.unknown(days=1 / 48) is None

    run(play())


def test_rows_that_could_not_be_written_when_it_ended_are_a_gap() -> None:
    async def play() -> None:
        there = Place()
        log = there.log("python")
        await log.open()
        log.add(there.row("a"))
        real, there.store.put = there.store.put, _never  # type: ignore[method-assign]
        await log.close()
        there.store.put = real  # type: ignore[method-assign]
        there.clock.skip(10 * MINUTE)
        assert await there.unknown() is not None

    run(play())


async def _never(path: str, data: bytes) -> None:
    raise Transient("the store is away")


def test_a_process_that_notes_nothing_is_a_gap_while_it_runs_and_after() -> None:
    async def play() -> None:
        there = Place()
        log = there.log(noted=False)
        await log.open()
        log.add(there.row("a"))
        await steps(log, there.clock, 5)
        assert await there.unknown() is not None
        await log.close()
        found = await there.unknown()
        assert found is not None and "usage.enabled is off" in found.why
        assert await there.paths() == []
        there.clock.skip(DAY_US)
        assert await there.unknown(days=0.5) is None

    run(play())


def test_a_command_notes_before_it_reads_and_leaves_a_gap_if_it_notes_nothing() -> None:
    async def play() -> None:
        there = Place()
        for enabled in (True, False):
            notes = ReadNotes(there.store, there.clock, Ids(), NoteSettings("cli", "ann", enabled, lasting=False))
            await notes.note(usage.READ, "demo", "main", "a")  # and then it is killed
            found = await there.unknown()
            assert (found is None) == enabled
        assert await there.paths() == ["a"]

    run(play())


def test_without_a_server_nothing_is_known_of_those_who_read_through_one() -> None:
    async def play() -> None:
        there = Place()
        log = there.log()
        await log.open()
        await steps(log, there.clock, 120)
        assert await there.unknown(1 / 24, BY_SERVER) is None
        assert await there.unknown(1 / 1_440, BY_SERVER) is None
        assert await there.unknown(1, BY_SERVER) == UnknownReads(START, "no server was running, or it noted nothing")
        await log.close()
        there.clock.skip(20 * MINUTE)
        off = await there.unknown(1 / 24, BY_SERVER)
        assert off is not None and off.until == there.clock.at
        again = there.log()
        await again.open()
        await steps(again, there.clock, 5)
        found = await there.unknown(1 / 24, BY_SERVER)
        assert found is not None and found.until == there.clock.at - 5 * MINUTE, "it was off for twenty minutes"

    run(play())


def test_only_since_it_was_declared_every_reader_notes() -> None:
    async def play() -> None:
        there = Place()
        found = await there.unknown(2, declared=there.clock.at - DAY_US)
        assert found is not None and found.until == there.clock.at - DAY_US
        assert await there.unknown(0.5, declared=there.clock.at - DAY_US) is None

    run(play())


def test_a_truncated_file_is_a_gap_and_is_named() -> None:
    async def play() -> None:
        there = Place()
        log = there.log("python")
        log.add(there.row("a"))
        await log.flush()
        await log.close()
        [name] = [stat.path async for stat in there.store.list(usage.FOLDER) if stat.path.endswith(".parquet")]
        whole = await there.store.get(name)
        for damaged in (whole[:-10], whole[: len(whole) // 2], b""):
            await there.store.put(name, damaged)
            found = await there.unknown()
            assert found is not None and name in found.why

    run(play())


def test_a_clock_that_is_behind_does_not_make_reads_old() -> None:
    async def play() -> None:
        there = Place()
        behind = Hands(START - 60 * DAY_US)
        log = there.log("python", behind)
        log.add(there.row("a", at=behind.at))
        await log.flush()
        notes = ReadNotes(there.store, behind, Ids(), NoteSettings("cli", "ann", lasting=False))
        await notes.note(usage.READ, "demo", "main", "b")
        assert await there.paths() == ["a", "b"], "though their files lie under a day that is long past"

    run(play())


def test_folders_and_patterns_are_read_as_a_whole() -> None:
    async def play() -> None:
        there = Place()
        log = there.log()
        rows = (
            there.row("raw/x", usage.READ_FOLDER),
            there.row("in/*.csv", usage.QUERY),
            there.row("one.csv", usage.QUERY),
            there.row("h", "HeadObject"),
            there.row("w", "PutObject"),
            UsageRow(there.clock.at, "ann", "GetObject", "demo", "main", "denied", 0, 403),
            UsageRow(there.clock.at, "ann", "GetObject", "other", "main", "elsewhere", 0, 200),
        )
        for row in rows:
            log.add(row)
        await log.flush()
        found = await read_usage(there.store, 0, there.clock.at)
        read = read_since(found.rows, ["demo"], START - DAY_US)
        assert read.paths.to_pylist() == ["one.csv"]
        assert read.prefixes == ("in/", "raw/x")

    run(play())
