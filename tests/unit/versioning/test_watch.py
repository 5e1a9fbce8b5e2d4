"""A branch follows a source: events are hints, batches land once, and a comparison repairs what events have lost."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from lochan.api.imports import ImportSource
from lochan.api.session import Session
from lochan.api.watch import WatchBatch, WatchOptions, events_of, run_once, watch
from lochan.errors import Invalid
from lochan.formats.bucket_events import BucketEvent, parse_events
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.versioning.test_import import ANN, Buckets, log, there

SOURCE = ImportSource("s3://data/in", "to/")


def event(key: str, bucket: str = "data", name: str = "s3:ObjectCreated:Put") -> dict[str, Any]:
    return {"Records": [{"eventName": name, "s3": {"bucket": {"name": bucket}, "object": {"key": key}}}]}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (event("in/a+b%C3%A9"), [("data", "in/a bé")]),
        ({"Body": json.dumps(event("x"))}, [("data", "x")]),
        ({"Type": "Notification", "Message": json.dumps(event("x"))}, [("data", "x")]),
        ({"Messages": [{"Body": json.dumps({"Message": json.dumps(event("x"))})}]}, [("data", "x")]),
        (
            {"detail-type": "Object Created", "detail": {"bucket": {"name": "d"}, "object": {"key": "a+b"}}},
            [("d", "a+b")],
        ),
        ({"Service": "Amazon S3", "Event": "s3:TestEvent"}, []),
        ({"Records": None}, []),
        ([event("x"), event("y")], [("data", "x"), ("data", "y")]),
    ],
)
def test_events_come_in_many_envelopes(line: Any, found: list[tuple[str, str]]) -> None:
    assert parse_events(json.dumps(line).encode()) == [BucketEvent(*each) for each in found]


@pytest.mark.parametrize(
    "line", [b"hello", b"{\xff}", b'{"a": 1}', b'{"Records": [{"s3": {}}]}', b"[" * 50 + b"]" * 50, b"3"]
)
def test_what_is_no_event_is_said(line: bytes) -> None:
    with pytest.raises(Invalid, match="no event of a bucket"):
        parse_events(line)


class Followed:
    def __init__(self, buckets: Buckets) -> None:
        self.buckets = buckets
        self.batches: list[WatchBatch] = []

    async def open(self) -> None:
        lake = await Lake.create(MemoryStore(), world=LakeOptions(self.buckets.open))
        await lake.create_repository("demo-repo", actor=ANN)
        self.session = Session(lake, ANN)
        self.repository: OpenRepository = await lake.open_repository("demo-repo")

    async def follow(self, events: Path | None, **options: Any) -> list[WatchBatch]:
        self.batches = []
        stop = threading.Event()
        lines = events_of(self.session, SOURCE, str(events), once=True, stop=stop) if events else None
        await watch(
            self.session,
            self.repository,
            "main",
            SOURCE,
            WatchOptions(once=True, **options),
            events=lines,
            stop=stop,
            progress=self.batches.append,
        )
        return self.batches


def test_events_are_hints_and_batches_are_commits(tmp_path: Path) -> None:
    async def play() -> None:
        buckets = Buckets()
        for key in ("a", "b", "gone"):
            await buckets.put(f"s3://data/in/{key}")
        followed = Followed(buckets)
        await followed.open()
        [first] = await followed.follow(None)
        assert (first.number, first.events, first.added) == (0, None, 3)

        file = tmp_path / "events.ndjson"
        lines = [
            event("in/new"),
            event("in/gone", name="s3:ObjectRemoved:Delete"),
            event("in/b", name="s3:ObjectRemoved:Delete"),  # it is not true
            event("in/never"),  # nor this
            event("elsewhere/x"),
            event("in/a", bucket="other"),
            event("in/../../etc"),
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines) + "no event\n")
        # What happened meanwhile is compared first; so the events come after it.
        [full, batch] = await followed.follow(file)
        assert (full.events, full.commit) == (None, None)
        assert (batch.commit, batch.unread) == (None, 1)

        await buckets.put("s3://data/in/new")
        await buckets.delete("s3://data/in/gone")
        plan_before = await log(followed.repository)
        [repaired, same] = await followed.follow(file)
        assert (repaired.added, repaired.removed) == (1, 1)
        assert same.commit is None
        assert len(await log(followed.repository)) == len(plan_before) + 1
        assert sorted(await there(followed.repository)) == ["to/a", "to/b", "to/new"]

    run(play())


def test_a_restart_goes_on_behind_the_last_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison at the start is left out, so that events alone bring what they name."""
    import lochan.api.watch as module

    async def nothing(at: Any, number: int, offset: str, stop: threading.Event) -> int:
        return number

    monkeypatch.setattr(module, "_compare_all", nothing)

    async def play() -> None:
        buckets = Buckets()
        for number in range(5):
            await buckets.put(f"s3://data/in/{number}")
        followed = Followed(buckets)
        await followed.open()
        file = tmp_path / "events.ndjson"
        text = [json.dumps(event(f"in/{number}")) + "\n" for number in range(5)]
        file.write_text("".join(text[:3]))
        made = await followed.follow(file, batch_count=2)
        assert [(each.number, each.events, each.added) for each in made] == [(0, 2, 2), (1, 1, 1)]
        assert await followed.follow(file) == []  # nothing is read twice
        file.write_text("".join(text))
        [last] = await followed.follow(file)
        assert (last.number, last.events, last.added) == (2, 2, 2)
        refs, _ = await followed.repository.refs()
        metadata = refs.commit(refs.branch("main").head).metadata
        assert (metadata["lochan-batch"], metadata["lochan-offset"]) == ("2", str(len("".join(text))))
        assert len(await there(followed.repository)) == 5

    run(play())


def test_a_schedule_calls_one_function() -> None:
    async def play() -> None:
        from lochan.api.branch import Branch

        buckets = Buckets()
        await buckets.put("s3://data/in/a")
        followed = Followed(buckets)
        await followed.open()
        branch = Branch(followed.session, "demo-repo", "main")
        done = await run_once(branch, SOURCE)
        assert done is not None
        assert done.added == 1
        assert await run_once(branch, SOURCE) is None

    run(play())
