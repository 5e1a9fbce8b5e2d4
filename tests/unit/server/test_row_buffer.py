"""Rows that are written after the requests: in time, kept while the store is away, dropped if there are too many."""

import asyncio

from msgspec.structs import replace

from lochan.errors import Transient
from lochan.server.logs import AccessLine, text
from lochan.usage.row_buffer import RowBuffer
from tests.run import run
from tests.until import until


class Sink:
    """A store that can be away."""

    def __init__(self) -> None:
        self.away = False
        self.written: list[list[int]] = []
        self.dropped = 0

    async def write(self, rows: list[int]) -> None:
        if self.away:
            raise Transient("the store is away")
        self.written.append(rows)

    def drop(self, count: int) -> None:
        self.dropped += count

    def gathered(self, *, every_s: float = 3_600.0, full: int = 1_000, waiting_max: int = 1_000) -> RowBuffer[int]:
        return RowBuffer(self.write, every_s=every_s, full=full, waiting_max=waiting_max, dropped=self.drop)


def test_what_is_left_is_written_at_the_end() -> None:
    async def play() -> Sink:
        sink = Sink()
        gathered = sink.gathered()
        gathered.start()
        for row in range(5):
            gathered.add(row)
        await asyncio.sleep(0.01)  # nothing may be written meanwhile
        assert sink.written == []
        await gathered.close()
        return sink

    assert run(play()).written == [[0, 1, 2, 3, 4]]


def test_rows_that_come_together_are_as_if_they_came_one_by_one() -> None:
    async def play() -> Sink:
        sink = Sink()
        gathered = sink.gathered(full=3, waiting_max=5)
        gathered.start()
        gathered.add_all([0, 1])
        await asyncio.sleep(0.01)  # nothing may be written meanwhile
        assert sink.written == []
        gathered.add_all([2, 3])
        await until(lambda: bool(sink.written), "a full file")
        gathered.add_all([4, 5, 6, 7, 8, 9, 10])
        await gathered.close()
        return sink

    sink = run(play())
    assert sink.written == [[0, 1, 2, 3], [4, 5, 6, 7, 8]]
    assert sink.dropped == 2


def test_a_full_file_does_not_wait_for_its_time() -> None:
    async def play() -> Sink:
        sink = Sink()
        gathered = sink.gathered(full=3)
        gathered.start()
        for row in range(4):
            gathered.add(row)
        await until(lambda: bool(sink.written), "a full file")
        written = [*sink.written]
        gathered.add(4)
        await gathered.close()
        assert written == [[0, 1, 2, 3]]
        return sink

    assert run(play()).written == [[0, 1, 2, 3], [4]]


def test_rows_wait_for_a_store_that_is_away_and_no_longer_than_there_is_room() -> None:
    async def play() -> Sink:
        sink = Sink()
        sink.away = True
        gathered = sink.gathered(every_s=0.005, waiting_max=10)
        gathered.start()
        for row in range(25):
            gathered.add(row)
            await asyncio.sleep(0.002)
        sink.away = False
        await gathered.close()
        return sink

    sink = run(play())
    assert [row for rows in sink.written for row in rows] == list(range(10))
    assert sink.dropped == 15


def test_rows_that_can_never_be_written_do_not_stop_the_rest() -> None:
    async def play() -> list[int]:
        written: list[int] = []
        dropped: list[int] = []

        async def write(rows: list[int]) -> None:
            if 0 in rows:
                raise ValueError("nobody can write a 0")
            written.extend(rows)

        gathered = RowBuffer(write, every_s=0.005, full=10, waiting_max=10, dropped=dropped.append)
        gathered.start()
        gathered.add(0)
        await until(lambda: bool(dropped), "the refusal")
        gathered.add(1)
        await gathered.close()
        assert sum(dropped) == 1
        return written

    assert run(play()) == [1]


def test_what_is_left_when_the_store_stays_away_is_counted() -> None:
    async def play() -> Sink:
        sink = Sink()
        sink.away = True
        gathered = sink.gathered()
        gathered.start()
        gathered.add(1)
        gathered.add(2)
        await gathered.close()
        return sink

    assert run(play()).dropped == 2


def test_a_key_cannot_forge_a_line() -> None:
    line = AccessLine(0, "h:1", "", "GetObject", "GET", '/b/a" 200\nfake\\\x1b[31m\u2028', 403, 0, 0.5, "ID")
    assert text(line) == (
        '1970-01-01T00:00:00.000000Z h:1 - GetObject GET "/b/a\\" 200\\nfake\\\\\\x1b[31m\\u2028" 403 0 0.5000 ID'
    )
    assert (
        text(replace(line, path="/b/ü 漢", user="ada")).split(" ", 2)[2]
        == 'ada GetObject GET "/b/ü 漢" 403 0 0.5000 ID'
    )
