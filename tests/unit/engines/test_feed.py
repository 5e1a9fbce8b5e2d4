"""What a stream out of a pool reads, as its tasks read it. It needs no JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.api.blocking import Lake
from lochan.api.frames import FeedOptions
from lochan.api.upkeep import CompactOptions
from lochan.errors import Corrupt, Gone, Refused
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore
from tests.run import run

pytestmark = pytest.mark.thorough
Row = dict[str, Any]


ALL = FeedOptions()
CHANGES = FeedOptions("earliest", changes=True)


class Stream:
    """As Spark follows it: opened again and again, with the position that it keeps."""

    def __init__(self, lake: Lake, options: FeedOptions = ALL, **chosen: Any) -> None:
        self._lake, self._options, self._chosen = lake, options, chosen
        self.at: str | None = None
        self.open()

    def open(self) -> None:
        self.feed = self._lake.frames.feed("logs@main", self._options, **self._chosen)

    def read(self) -> list[Row]:
        frames = self._lake.frames
        start = frames.feed_start(self.feed) if self.at is None else self.at
        end = frames.feed_end(self.feed, start)
        rows = read(self._lake, self.feed, start, end)
        self.at = end
        return rows


def read(lake: Lake, feed: Any, start: str, end: str) -> list[Row]:
    tasks = lake.frames.feed_batch(feed, start, end)
    found = [row for task in tasks for batch in task.read(feed.arrow_schema) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: json.dumps(row, default=str, sort_keys=True))


async def create_lake(folder: Path) -> None:
    await (await OpenLake.create(LocalStore(str(folder), create=True))).close()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    run(create_lake(tmp_path / "lake"))
    with lochan.connect(tmp_path / "lake") as lake:
        lake.create_pool("logs", key="k")
        yield lake


def load(lake: Lake, *rows: Row) -> None:
    lake.pool("logs").load(rows)


def test_rows_come_as_columns_of_the_start(lake: Lake) -> None:
    """Whatever is in a batch: texts beside numbers are texts of JSON, and fields keep their order."""
    load(lake, {"k": 5, "mixed": "a", "deep": {"b": 1, "a": "x"}, "list": [{"b": 1, "a": 2}], "real": 1.5})
    load(lake, {"k": 6, "mixed": 7, "real": 2})
    stream = Stream(lake)
    assert {row["mixed"] for row in stream.read()} == {'"a"', "7"}
    load(lake, {"deep": {"a": "y", "b": 2}, "list": [{"b": 4, "a": 3}], "mixed": "b", "k": 0, "real": 3})
    [row] = stream.read()
    assert row == {"k": 0, "mixed": '"b"', "deep": {"a": "y", "b": 2}, "list": [{"a": 3, "b": 4}], "real": 3.0}
    load(lake, {"k": 7, "mixed": "c"})
    [row] = stream.read()
    assert row == {"k": 7, "mixed": '"c"', "deep": None, "list": None, "real": None}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"k": 2, "more": 1}, "have a field `more`, which the stream has no column for"),
        ({"k": 2, "text": 1}, "hold values of another kind in `text`"),
        ({"k": 2, "deep": {"a": 1, "b": 1}}, "hold values of another kind in `deep`"),
        ({"k": 2, "deep": {"a": "x"}}, "hold values of another kind in `deep`"),
        ({"k": 2, "never": 1}, "hold values of another kind in `never`"),
        ({"k": 2.5}, "hold values of another kind in `k`"),
    ],
)
def test_rows_that_do_not_fit_end_the_stream(lake: Lake, row: Row, message: str) -> None:
    load(lake, {"k": 1, "text": "a", "deep": {"a": 1}, "never": None})
    stream = Stream(lake)
    stream.read()
    load(lake, row)
    with pytest.raises(Refused, match=message) as raised:
        stream.read()
    assert "start the stream again with the same checkpoint" in raised.value.hint
    stream.open()
    assert len(stream.read()) == 1, "it has the columns of the pool then"


def test_only_what_is_wanted(lake: Lake) -> None:
    load(lake, {"k": 1, "text": "a"}, {"k": 2, "text": "b"})
    stream = Stream(lake, where="k > 1", columns=["text"])
    assert stream.read() == [{"text": "b"}]
    load(lake, {"k": 0, "text": "c"})
    load(lake, {"k": 3, "text": "d", "more": 1})
    assert stream.read() == [{"text": "d"}], "fields that are not wanted do not matter"
    load(lake, {"k": 0, "text": "e"})
    assert stream.read() == []
    assert [row["text"] for row in Stream(lake, fields=["text"]).read()] == ["a", "b", "c", "d", "e"]


def test_numbers_that_no_double_is(lake: Lake) -> None:
    load(lake, {"k": 1, "n": 1.5}, {"k": 2, "n": 1})
    stream = Stream(lake)
    assert [row["n"] for row in stream.read()] == [1.5, 1.0]
    load(lake, {"k": 3, "n": 2**53 + 1})
    with pytest.raises(Refused, match="no double is exactly this int"):
        stream.read()


def test_a_pool_without_rows_has_no_columns_yet(lake: Lake) -> None:
    with pytest.raises(Refused, match="logs@main has no rows yet"):
        Stream(lake)


def test_an_object_that_is_damaged_or_gone(lake: Lake, tmp_path: Path) -> None:
    load(lake, {"k": 1})
    stream = Stream(lake)
    stream.read()
    before = addresses(lake)
    load(lake, {"k": 2})
    [address] = addresses(lake) - before
    path = tmp_path / "lake" / address
    whole = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
    with pytest.raises(Corrupt):
        stream.read()
    path.unlink()
    with pytest.raises(Gone):
        stream.read()
    path.write_bytes(whole)
    assert stream.read() == [{"k": 2}]


def addresses(lake: Lake) -> set[str]:
    with lake.query("from logs:objects") as result:
        return {row["address"] for row in result.rows()}


# --- changes ---------------------------------------------------------------------------------------------------------
def changes(lake: Lake, options: FeedOptions = CHANGES, **chosen: Any) -> list[Row]:
    feed = lake.frames.changes("logs@main", options, **chosen)
    return read(lake, feed, feed.start, feed.end)


def test_changes_of_each_commit(lake: Lake) -> None:
    pool = lake.pool("logs")
    load(lake, {"k": 1, "v": "a"}, {"k": 2, "v": "b"}, {"k": 2, "v": "b"}, {"k": 3})
    pool.delete_rows("v == 'b'")
    load(lake, {"k": 4, "w": 1})
    pool.compact(CompactOptions())
    found = [(row["_change_type"], row["k"], row.get("v"), row.get("w")) for row in changes(lake)]
    assert sorted(found, key=str) == [
        ("delete", 2, "b", None),
        ("delete", 2, "b", None),
        ("insert", 1, "a", None),
        ("insert", 2, "b", None),
        ("insert", 2, "b", None),
        ("insert", 3, None, None),
        ("insert", 4, None, 1),
    ]
