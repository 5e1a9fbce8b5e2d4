"""The verbs from Python, in a program without an event loop."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import lochan
from lochan.config.find import system_user
from lochan.errors import (
    AlreadyExists,
    ConcurrentCommit,
    Invalid,
    KeyReused,
    LochanError,
    NotFound,
    NothingToDo,
    PreconditionFailed,
)
from lochan.lake import Lake as OpenLake
from lochan.runtime import Runtime
from lochan.store.local import LocalStore


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    store = LocalStore(str(tmp_path / "lake"), create=True)
    asyncio.run(_made(store))
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        yield found


async def _made(store: LocalStore) -> None:
    await (await OpenLake.create(store)).close()


@pytest.fixture
def shop(lake: lochan.Lake) -> lochan.Repository:
    made = lake.create_repository("shop", metadata={"team": "search"})
    main = made.branch("main")
    main.put("raw/fruit.csv", b"1,pear\n", content_type="text/csv", metadata={"from": "market"})
    main.put("README.md", "# Shop\n")
    main.commit("first data")
    return made


def test_a_repository_and_its_history(shop: lochan.Repository, lake: lochan.Lake) -> None:
    main = shop.branch("main")
    dev = shop.create_branch("dev", main)
    dev.put("raw/fruit.csv", [b"2,", b"apple\n"])
    assert [(each.path, each.kind) for each in dev.status()] == [("raw/fruit.csv", "changed")]
    made = dev.commit("apples", lochan.CommitOptions(metadata={"run": "7"}))
    assert (made.message, made.author, made.metadata) == ("apples", "ann", {"run": "7"})
    assert [(each.path, each.kind) for each in main.diff(dev, prefix="raw/")] == [("raw/fruit.csv", "changed")]
    assert main.read("raw/fruit.csv") == b"1,pear\n"
    merged = main.merge(dev, strategy="source-wins")
    assert main.read("raw/fruit.csv") == b"2,apple\n"
    assert merged.parents[1] == made.id
    assert [each.message for each in main.log(grep="apples")] == ["apples"]
    assert main.blame("raw/fruit.csv").id == made.id
    base = shop.merge_base("main", "dev")
    assert base is not None and base.id == made.id
    main.revert(merged.id, parent=1)
    assert main.read("raw/fruit.csv", 2) == b"pear\n"
    shop.create_tag("v1", made.id)
    assert [each.name for each in shop.tags()] == ["v1"]
    assert shop.ref("v1").read("raw/fruit.csv") == b"2,apple\n"
    assert [each.name for each in shop.branches()] == ["dev", "main"]
    assert dev.rename("next").name == "next"
    shop.delete_branch("next")
    assert shop.restore_branch("next").resolve().id == made.id
    shop.delete_tag("v1")
    assert [each.name for each in lake.repositories()] == ["shop"]
    assert shop.show().metadata == {"team": "search"}


def test_objects(shop: lochan.Repository, tmp_path: Path) -> None:
    main = shop.branch("main")
    found = main.stat("raw/fruit.csv")
    assert (found.size, found.content_type, found.metadata) == (7, "text/csv", {"from": "market"})
    assert datetime.now(UTC) - found.mtime < timedelta(minutes=10)
    (tmp_path / "file").write_bytes(b"from a file")
    main.put("a/file", tmp_path / "file")
    with (tmp_path / "file").open("rb") as file:
        main.put("a/open", file)
    main.put("a/memory", io.BytesIO(b"x" * 3_000_000))
    assert b"".join(main.stream("a/memory", 10, 20)) == b"x" * 10
    assert main.read("a/open") == main.read("a/file") == b"from a file"
    copied = main.copy(main, "raw/fruit.csv", "copy.csv", metadata={"from": "copy"})
    assert (copied.checksum, copied.metadata) == (found.checksum, {"from": "copy"})
    assert main.move("copy.csv", "moved.csv").path == "moved.csv"
    assert main.copy_folder(main, "a/", "b/").objects == 3
    assert main.move_folder("b/", "c/").objects == 3
    assert main.delete_folder("c/").objects == 3
    assert main.delete("moved.csv", "nothing") == ["moved.csv"]
    assert [each.path for each in main.list("a/")] == ["a/file", "a/memory", "a/open"]
    assert [each.path for each in main.list(limit=2)] == ["README.md", "a/file"]
    page = main.list_page(delimiter="/")
    assert ([each.path for each in page.objects], page.prefixes, page.next) == (["README.md"], ("a/", "raw/"), None)
    main.reset()
    assert [each.path for each in main.list()] == ["README.md", "raw/fruit.csv"]
    with pytest.raises(Invalid, match="texts, not bytes"):
        main.put("text", io.StringIO("text"))  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="there is no file"):
        main.put("x", tmp_path / "nowhere")
    with pytest.raises(Invalid, match="int is not the bytes"):
        main.put("x", 7)  # type: ignore[arg-type]


def test_conditions(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    for place in (main, main.workspace()):
        first = place.stat("README.md").etag
        with pytest.raises(PreconditionFailed, match="already"):
            place.put("README.md", "x", if_absent=True)
        place.put("README.md", "# Shop, again\n", if_match=first)
        second = place.stat("README.md").etag  # a file in a workspace has one that its store gave it
        with pytest.raises(PreconditionFailed, match="was changed"):
            place.put("README.md", "x", if_match=first)
        with pytest.raises(PreconditionFailed, match="was changed"):
            place.delete_if("README.md", first)
        place.delete_if("README.md", second)
        with pytest.raises(PreconditionFailed, match="no object"):
            place.delete_if("README.md", second)
        new = place.put("new", "1", if_absent=True)
        assert (new.size, new.etag) == (1, place.stat("new").etag)
        assert [each.etag for each in place.list("new")] == [new.etag]
        assert place.put("new", "2", if_match=new.etag).size == 1
        with pytest.raises(Invalid, match="if_match or if_absent"):
            place.put("new", "1", if_absent=True, if_match=first)


def test_from_one_repository_to_another(shop: lochan.Repository, lake: lochan.Lake) -> None:
    other = lake.create_repository("other").branch("main")
    copied = other.copy(shop.branch("main"), "raw/fruit.csv", "fruit.csv")
    assert copied.metadata == {"from": "market"}
    assert other.copy_folder(shop.ref("main"), "", "all/").objects == 2
    assert [each.path for each in other.list()] == ["all/README.md", "all/raw/fruit.csv", "fruit.csv"]


def test_a_transaction_is_one_commit_or_nothing(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    before = main.resolve().id
    with main.transaction("two files") as tx:
        tx.put("one", b"1")
        tx.put("two", b"2")
        assert [each.ref for each in shop.workspaces()] == [tx.name]
        assert main.resolve().id == before
    assert [each.message for each in main.log()][:1] == ["two files"]
    assert (main.read("one"), main.read("two"), list(shop.workspaces())) == (b"1", b"2", [])
    after = main.resolve().id
    with pytest.raises(ZeroDivisionError), main.transaction("half") as tx:
        tx.put("three", b"3")
        _ = 1 / 0
    assert (main.resolve().id, list(shop.workspaces())) == (after, [])
    with pytest.raises(ConcurrentCommit), main.transaction("late") as tx:
        tx.put("one", b"ours")
        main.put("one", b"theirs")
        main.commit("theirs")
    assert (main.read("one"), list(shop.workspaces())) == (b"theirs", [])


def test_a_workspace(shop: lochan.Repository) -> None:
    main = shop.branch("main")
    work = main.workspace("a try")
    Path(work.path("plain.txt")).parent.mkdir(parents=True, exist_ok=True)
    Path(work.path("plain.txt")).write_bytes(b"by another program")
    assert work.read("plain.txt") == b"by another program"
    assert work.delete("README.md") == ["README.md"]
    assert (work.show().note, main.read("README.md")) == ("a try", b"# Shop\n")
    assert shop.workspace(work.name).commit("from the workspace").message == "from the workspace"
    assert [each.path for each in main.list()] == ["plain.txt", "raw/fruit.csv"]
    again = main.workspace()
    again.drop()
    with pytest.raises(lochan.LochanError):
        again.show()


def test_a_pool(lake: lochan.Lake) -> None:
    logs = lake.create_pool("logs", key="ts")
    done = logs.load([{"ts": 2, "host": "b"}, {"ts": 1, "host": "a"}], "first")
    assert (done.rows, done.faults, done.unparsed_times) == (2, 0, {})
    assert list(lake.query("from logs").rows()) == [{"ts": 1, "host": "a"}, {"ts": 2, "host": "b"}]
    assert list(logs.query("count()").rows()) == [{"count": 2}]
    logs.create_branch("dev", "main")
    logs.load([{"ts": 3, "host": "c"}], branch="dev")
    with lake.diff_rows("logs@main", "logs@dev") as difference:
        assert difference.counts["added"] == 1
    assert [each.name for each in lake.pools()] == ["logs"]
    who = system_user() if lake.url.startswith("file:") else "admin"  # of a server, the user of the access key
    assert [(line.user, bool(line.text)) for line in lake.events("logs", last=1)] == [(who, True)]


def test_a_load_reports_how_many_values_are_not_times(lake: lochan.Lake) -> None:
    logs = lake.create_pool("logs", key="ts:time")
    assert logs.load([{"ts": "2026-11-01T10:00:00+01:00"}, {"ts": "n/a"}]).unparsed_times == {"ts": 1}


def test_what_was_done_is_not_done_twice(shop: lochan.Repository, lake: lochan.Lake) -> None:
    main, key = shop.branch("main"), lake.new_key()
    main.put("once", b"1", key=key)
    main.put("once", b"2")
    assert main.put("once", b"1", key=key).size == 1
    assert main.read("once") == b"2", "the second time nothing was put"
    with pytest.raises(KeyReused):
        main.put("another", b"1", key=key)
    options = lochan.CommitOptions(key=lake.new_key())
    assert main.commit("one", options) == main.commit("one", options)


@pytest.mark.parametrize("form", ["list", "generator", "table", "reader", "frame"])
def test_a_load_that_is_asked_for_again_has_the_same_rows(lake: lochan.Lake, form: str) -> None:
    logs = lake.create_pool("logs", key="k")

    def rows(text: str) -> Any:
        made = [{"k": n, "t": text} for n in range(3_000)]
        match form:
            case "list":
                return [{**each, "big": 2**70} for each in made]
            case "generator":
                return (each for each in made)
            case "frame":
                return pl.DataFrame(made)
        table = pa.Table.from_pylist(made)
        return table if form == "table" else table.to_reader(max_chunksize=700)

    options = lochan.CommitOptions(key=lake.new_key())
    assert logs.load(rows("a"), options=options) == logs.load(rows("a"), options=options)
    with pytest.raises(KeyReused):
        logs.load(rows("b"), options=options)
    assert logs.summary().rows == 3_000


def test_a_load_that_is_asked_for_again_has_the_same_bytes(lake: lochan.Lake) -> None:
    logs = lake.create_pool("logs", key="k")
    body, other = [b"".join(b'{"k": %d, "t": "%s"}\n' % (n, text) for n in range(5_000)) for text in (b"a", b"b")]
    options = lochan.CommitOptions(key=lake.new_key())
    assert logs.load(body, options=options) == logs.load(body, options=options)
    with pytest.raises(KeyReused):
        logs.load(other, options=options)
    assert logs.summary().rows == 5_000


def test_mistakes_are_errors(shop: lochan.Repository, lake: lochan.Lake) -> None:
    with pytest.raises(AlreadyExists):
        lake.create_repository("shop")
    with pytest.raises(NothingToDo):
        shop.branch("main").commit("nothing")
    with pytest.raises(NotFound):
        lake.repository("shops").show()
    with pytest.raises(NotFound):
        list(shop.ref("nowhere").list())
    with pytest.raises(Invalid, match="time zone"):
        shop.branch("main").commit("x", lochan.CommitOptions(date=datetime(2026, 1, 1)))
    with pytest.raises(Invalid, match="time zone"):
        list(shop.ref("main").log(since=datetime(2026, 1, 1)))
    with pytest.raises(Invalid, match="if_match is empty"):
        shop.branch("main").delete_if("README.md", "")
    shop.rename("store")
    assert shop.show().name == "store"
    shop.delete()
    assert list(lake.repositories()) == []


def test_handles_are_cheap_and_say_what_they_are(lake: lochan.Lake) -> None:
    assert repr(lake.repository("a").branch("main")) == "<Branch a@main>"
    assert repr(lake.pool("p").ref("main~2")) == "<Ref p@main~2>"
    assert repr(lake) == f"<Lake {lake.url}>"


def test_a_record_has_one_spelling(shop: lochan.Repository) -> None:
    found = shop.branch("main").stat("README.md").as_json()
    assert list(found) == ["path", "size", "mtime", "checksum", "etag", "content_type", "metadata"]
    assert found["mtime"].endswith("Z")


def test_stopping_early_closes_the_source() -> None:
    closed = []

    async def numbers() -> AsyncIterator[int]:
        try:
            for number in range(10):
                yield number
        finally:
            closed.append(True)

    runtime = Runtime()
    found = runtime.iterate(numbers())
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined]
    assert closed == [True]
    runtime.stop()
    runtime.stop()


def test_advice_names_the_repository(shop: lochan.Repository, lake: lochan.Lake) -> None:
    with pytest.raises(NotFound, match="`lochan branch list shop`"):
        shop.ref("nowhere").resolve()
    lake.create_pool("logs", key="ts")
    with pytest.raises(LochanError, match="`lochan branch list logs`"):
        lake.query("from logs@nowhere")
    with pytest.raises(LochanError, match="`lochan branch list logs`"):
        lake.pool("logs").load([{"ts": 1}], branch="nowhere")
