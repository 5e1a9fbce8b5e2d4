"""Rules and graces with numbers that nothing can be reckoned with are refused, and change nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.api.retention import KeepRule, RetentionInfo, parse_drop, parse_keep
from lochan.errors import Corrupt, Invalid
from lochan.formats.collection_events import RetentionSet
from lochan.formats.record import Actor
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore
from lochan.versioning.collection.retention import expirable
from tests.run import run


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    async def made() -> None:
        await (await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))).close()

    asyncio.run(made())
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        found.create_repository("demo")
        yield found


@pytest.mark.parametrize(
    "rules, words",
    [
        (RetentionInfo(undo_days=1e308), "1e\\+308 days is too long"),
        (RetentionInfo(undo_days=float("nan")), "is no number"),
        (RetentionInfo(undo_days=float("inf")), "has no end"),
        (RetentionInfo(blocks_days=2e6), "2e\\+06 days is too long"),
        (RetentionInfo(rules=(KeepRule(pattern="main", commits=10**30),)), "commits are too many"),
        (RetentionInfo(rules=(KeepRule(pattern="main", days=1e300),)), "too long"),
        (RetentionInfo(rules=(KeepRule(pattern="", days=1),)), "has no pattern"),
        (RetentionInfo(rules=(parse_keep("main=1d"), parse_keep("main=2d"))), "two rules are about 'main'"),
    ],
)
def test_rules(lake: lochan.Lake, rules: RetentionInfo, words: str) -> None:
    for set_rules in (lake.repository("demo").gc.set_rules, lake.set_default_rules):
        with pytest.raises(Invalid, match=words):
            set_rules(rules)
    assert lake.repository("demo").gc.rules().undo_days == 30
    assert lake.repository("demo").gc.expire().commits == ()


def test_a_drop_at_once_is_a_mistake() -> None:
    with pytest.raises(Invalid, match="0d is no time at all"):
        parse_drop("main=unwritten 0d")


@pytest.mark.parametrize("hours", [-1, float("nan"), float("inf"), 1e300])
def test_graces(lake: lochan.Lake, hours: float) -> None:
    gc = lake.repository("demo").gc
    for act in (gc.plan, gc.sweep, gc.preview, gc.run):
        with pytest.raises(Invalid, match="is no grace"):
            act(hours)
    assert gc.status().plan == 0


def test_rules_that_an_older_version_has_set_do_no_harm(tmp_path: Path) -> None:
    async def play() -> None:
        lake = await OpenLake.create(LocalStore(str(tmp_path / "lake"), create=True))
        ann = Actor("ann", "test", "here")
        await lake.create_repository("demo", actor=ann)
        repository = await lake.open_repository("demo")
        await repository.submit(ann, RetentionSet(undo_days=1e308))
        refs, _ = await repository.refs()
        assert expirable(refs, lake.clock.wall()).commits == ()
        await repository.close()
        await lake.close()

    run(play())


def test_a_plan_whose_list_is_gone(lake: lochan.Lake, tmp_path: Path) -> None:
    gc = lake.repository("demo").gc
    gc.plan(0)
    [head] = (tmp_path / "lake").glob("*/plans/*.json")
    head.unlink()
    with pytest.raises(Corrupt, match="is gone"):
        gc.sweep(0)
    assert gc.abandon()
