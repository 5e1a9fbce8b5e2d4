"""Commits say what was read before them, at which commits, and which program made them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.api.wire.lineage import HEADER_BYTES_MAX, decode_trace, request_header
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore
from lochan.versioning import lineage
from lochan.versioning.lineage import INPUTS, INPUTS_MAX, LineageInput, inputs_text, parsed_inputs


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    async def made() -> None:
        await (await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))).close()

    asyncio.run(made())
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        shop = found.create_repository("shop")
        shop.branch("main").put("raw/a.csv", b"n\n1\n")
        shop.branch("main").put("raw/b.csv", b"n\n2\n")
        shop.branch("main").commit("raw")
        found.create_pool("logs", key="n").load([{"n": 1}, {"n": 2}])
        yield found


def inputs(commit: lochan.Commit | str, lake: lochan.Lake | None = None) -> list[dict[str, Any]]:
    metadata = commit.metadata if isinstance(commit, lochan.Commit) else {}
    found: list[dict[str, Any]] = json.loads(metadata.get(INPUTS, "[]"))
    return found


def head(lake: lochan.Lake, name: str) -> lochan.Commit:
    found = lake.pool(name) if name in ("logs", "out") else lake.repository(name)
    return found.ref("main").resolve()


def test_what_was_read_is_noted_with_the_commit_that_follows(lake: lochan.Lake) -> None:
    shop, main = lake.repository("shop"), lake.repository("shop").branch("main")
    before, rows = head(lake, "shop").id, head(lake, "logs").id
    with lochan.trace() as trace:
        main.read("raw/a.csv")
        main.read("raw/a.csv")
        list(lake.query("from logs | count()").rows())
        list(lake.query("from shop/raw/*.csv | count()").rows())
        with pytest.raises(lochan.LochanError):
            main.read("raw/nothing.csv")
        assert len(trace.inputs) == 3
        main.put("out.csv", b"3")
        made = main.commit("out")
        lake.create_pool("out", key="n").load([{"n": 3}])
    expected = [
        {"repository": "shop", "commit": before, "path": "raw/a.csv"},
        {"repository": "shop", "commit": before, "path": "raw/*.csv"},
        {"repository": "logs", "commit": rows, "path": ""},
    ]
    assert inputs(made) == expected
    assert inputs(head(lake, "out")) == expected
    main.put("later.csv", b"4")
    assert inputs(main.commit("later")) == [], "the trace has ended"
    assert shop.branch("main").read("out.csv") == b"3"


def test_a_branch_with_staged_changes_is_marked(lake: lochan.Lake) -> None:
    main = lake.repository("shop").branch("main")
    before = head(lake, "shop").id
    main.put("raw/a.csv", b"n\n5\n")
    with lochan.trace():
        assert main.read("raw/a.csv") == b"n\n5\n", "a trace does not change what is read"
        made = main.commit("it")
    assert inputs(made) == [{"repository": "shop", "commit": before, "path": "raw/a.csv", "staged": True}]


def test_copies_downloads_and_snapshots(lake: lochan.Lake, tmp_path: Path) -> None:
    main, other = lake.repository("shop").branch("main"), lake.create_repository("other").branch("main")
    before = head(lake, "shop").id
    snapshot = main.snapshot()
    main.put("raw/a.csv", b"changed")
    main.commit("changed")
    after = head(lake, "shop").id
    with lochan.trace() as trace:
        assert snapshot.read("raw/a.csv") == b"n\n1\n"
        main.download("raw/b.csv", tmp_path / "b.csv")
        main.download_folder("raw/", tmp_path / "raw")
        other.copy(main, "raw/b.csv", "b.csv")
        made = other.commit("copied")
    assert [(each.commit, each.path) for each in trace.inputs] == [
        (before, "raw/a.csv"),
        (after, "raw/b.csv"),
        (after, "raw/"),
    ]
    assert len(inputs(made)) == 3


def test_a_query_that_ends_in_load_says_what_it_has_read(lake: lochan.Lake) -> None:
    rows = head(lake, "logs").id
    lake.create_pool("out", key="n")
    lake.query("from logs | n > 1 | load out")
    assert inputs(head(lake, "out")) == [{"repository": "logs", "commit": rows, "path": ""}]


def test_traces_of_threads_know_nothing_of_each_other(lake: lochan.Lake) -> None:
    from concurrent.futures import ThreadPoolExecutor

    repositories = [lake.create_repository(f"repo{number}") for number in range(4)]
    for each in repositories:
        each.branch("main").put("in", each.name.encode())
        each.branch("main").commit("in")

    def work(repository: lochan.Repository) -> lochan.Commit:
        branch = repository.branch("main")
        with lochan.trace():
            for number in range(5):
                branch.read("in")
                branch.put(f"out{number}", b"x")
                made = branch.commit("out")
            return made

    with ThreadPoolExecutor(4) as threads:
        for repository, made in zip(repositories, threads.map(work, repositories), strict=True):
            assert {each["repository"] for each in inputs(made)} == {repository.name}


def test_hooks_read_for_themselves(lake: lochan.Lake) -> None:
    main = lake.repository("shop").branch("main")
    main.put(
        "_lochan/hooks/q.yaml", b"on: pre-commit\nhooks: [{id: a, kind: query, query: 'from shop:entries | false'}]"
    )
    main.commit("hooks")
    with lochan.trace() as trace:
        main.put("x", b"x")
        assert inputs(main.commit("x")) == []
        assert trace.inputs == ()


def test_the_program_is_named_unless_that_is_switched_off(lake: lochan.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    main = lake.repository("shop").branch("main")
    monkeypatch.setattr(lineage, "_find_origin", [lambda: {"lineage.job": "nightly\x1b[2J\n7", "password": "secret"}])
    main.put("x", b"x")
    made = main.commit("x", lochan.CommitOptions(metadata={"mine": "kept"}))
    assert made.metadata == {"lineage.job": "nightly [2J 7", "mine": "kept"}
    main.put("y", b"y")
    assert main.commit("y", lochan.CommitOptions(metadata={"lineage.job": "my own"})).metadata == {
        "lineage.job": "my own"
    }
    lineage.set_origin(None)
    main.put("z", b"z")
    assert main.commit("z").metadata == {}


def test_lineage_is_a_source(lake: lochan.Lake) -> None:
    main, before = lake.repository("shop").branch("main"), head(lake, "shop").id
    with lochan.trace():
        main.read("raw/a.csv")
        lake.create_pool("out", key="n").load([{"n": 3}])
    made = head(lake, "out").id
    [row] = lake.query("from out:lineage | cut commit, input, input_commit, input_path, staged").rows()
    assert row == {"commit": made, "input": "shop", "input_commit": before, "input_path": "raw/a.csv", "staged": False}
    downstream = lake.query('from :lineage | input=="shop" | cut repository, commit').rows()
    assert list(downstream) == [{"repository": "out", "commit": made}]
    assert list(lake.query("from shop:lineage").rows()) == []
    main.put("forged", b"x")
    for text in ("no json", "{}", "[1]", '[{"repository": 7}]', "[" * 10_000):
        main.put("forged", text.encode())
        main.commit("forged", lochan.CommitOptions(metadata={INPUTS: text}))
    assert list(lake.query("from shop:lineage").rows()) == [], "what is no lineage is none, and no error"


def test_a_commit_never_holds_too_many_inputs() -> None:
    several = tuple(LineageInput("shop", "c", f"raw/2026/{number}.csv") for number in range(500))
    assert json.loads(inputs_text(several)) == [{"repository": "shop", "commit": "c", "path": "raw/2026/"}]
    apart = tuple(LineageInput("shop", f"{number}", f"{path}") for number in range(10) for path in range(20))
    assert json.loads(inputs_text(apart)) == [
        {"repository": "shop", "commit": f"{number}", "path": ""} for number in range(10)
    ]
    many = tuple(LineageInput("shop", f"{number}", "a") for number in range(INPUTS_MAX + 7))
    rows = parsed_inputs({INPUTS: inputs_text(many)})
    assert len(rows) == INPUTS_MAX + 1 and rows[-1] == {"left_out": 7}


def test_over_http_it_is_a_header_of_bounded_size() -> None:
    with lineage.trace(lineage.Trace({"lineage.job": "j"})) as trace:
        trace.add(LineageInput("shop", "c", "ä"))
        found = decode_trace(request_header())
        assert found is not None and found.inputs == trace.inputs and found.origin == {"lineage.job": "j"}
        for number in range(200):
            trace.add(LineageInput("shop", f"{number:064}", "x" * 900))
        assert len(request_header()) <= HEADER_BYTES_MAX
        assert decode_trace(request_header()) is not None
    assert request_header() == ""
    for hostile in ("", "%", "bm8=", "WzFd", "x" * 100_000):
        assert decode_trace(hostile) is None
