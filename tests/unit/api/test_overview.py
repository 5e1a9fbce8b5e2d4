"""A repository at a glance, and the queries that a user keeps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import lochan
from lochan.api.lake import Lake as ApiLake
from lochan.api.options import CommitOptions
from lochan.errors import Invalid, NotFound, Refused
from lochan.versioning.state.saved_queries import QUERIES_MAX
from tests.unit.cli.invoke import lochan as command


@pytest.fixture
def place(tmp_path: Path) -> Path:
    assert command("init", str(tmp_path / "lake")).exit_code == 0
    return tmp_path / "lake"


def test_what_a_repository_holds(place: Path) -> None:
    with lochan.connect(place) as lake:
        shop = lake.create_repository("shop")
        empty = shop.overview(7)
        assert (empty.objects, empty.bytes, empty.rows, empty.commits) == (0, 0, None, (0,) * 7)
        main = shop.branch()
        main.put("a", b"12345")
        main.commit("first", CommitOptions(date=datetime.now(UTC) - timedelta(days=2)))
        main.put("b", b"1")
        main.commit("second")
        shop.create_branch("dev").put("c", b"")
        shop.branch("dev").commit("third")
        found = shop.overview(7)
        assert (found.branch, found.objects, found.bytes, found.branches, found.tags) == ("main", 2, 6, 2, 0)
        assert found.commits == (0, 0, 0, 0, 1, 0, 2)
        assert found.message == "third"
        with pytest.raises(Invalid, match="number of days"):
            shop.overview(0)


def test_how_branches_have_parted(place: Path) -> None:
    with lochan.connect(place) as lake:
        shop = lake.create_repository("shop")
        shop.create_branch("dev")
        for name, branch in (("a", "main"), ("b", "dev"), ("c", "dev")):
            shop.branch(branch).put(name, b"1")
            shop.branch(branch).commit(name)
        assert [(each.name, each.ahead, each.behind, each.objects) for each in shop.compare_branches()] == [
            ("dev", 2, 1, 2),
            ("main", 0, 0, 1),
        ]
        assert [(each.name, each.ahead, each.behind) for each in shop.compare_branches("dev", after="dev")] == [
            ("main", 1, 2)
        ]
        shop.branch().merge("dev")
        assert [(each.ahead, each.behind) for each in shop.compare_branches(prefix="dev")] == [(0, 2)]
        with pytest.raises(NotFound):
            list(shop.compare_branches("nowhere"))


def test_rows_of_a_pool(place: Path) -> None:
    with lochan.connect(place) as lake:
        logs = lake.create_pool("logs", key="ts")
        logs.load([{"ts": 1}, {"ts": 2}])
        assert (logs.overview().rows, logs.overview().objects) == (2, 1)
        assert [each.rows for each in logs.compare_branches()] == [2]


def test_queries_are_kept(place: Path) -> None:
    with lochan.connect(place) as lake:
        lake.save_query("hosts", "from logs | count() by host")
        lake.save_query("all", "from logs")
        lake.save_query("all", "from logs | head")
    with lochan.connect(place) as lake:
        found = lake.saved_queries()
        assert [(each.name, each.text) for each in found] == [
            ("all", "from logs | head"),
            ("hosts", "from logs | count() by host"),
        ]
        lake.delete_query("hosts")
        with pytest.raises(NotFound):
            lake.delete_query("hosts")
        assert [each.name for each in lake.saved_queries()] == ["all"]
        for name, text in (("", "from logs"), ("a\nb", "from logs"), ("x" * 201, "from logs"), ("x", " ")):
            with pytest.raises(Invalid):
                lake.save_query(name, text)


def test_a_user_keeps_so_many(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert QUERIES_MAX >= 100
    monkeypatch.setattr("lochan.versioning.state.saved_queries.QUERIES_MAX", 2)
    with lochan.connect(place) as lake:
        lake.save_query("a", "from logs")
        lake.save_query("b", "from logs")
        lake.save_query("b", "from others")
        with pytest.raises(Refused, match="the most"):
            lake.save_query("c", "from logs")


def test_nobody_sees_the_queries_of_others(place: Path) -> None:
    with lochan.connect(place) as lake:
        lake.save_query("mine", "from logs")
        bob = ApiLake(lake._noun._session.acting_as("bob", "test"))
        assert lake._runtime.wait(bob.saved_queries()) == []
        with pytest.raises(NotFound):
            lake._runtime.wait(bob.delete_query("mine"))
        assert [each.name for each in lake.saved_queries()] == ["mine"]
