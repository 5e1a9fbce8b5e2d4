"""Lists of what there is, of which some are wanted: by their beginning, by a text in them, and part by part."""

from __future__ import annotations

from pathlib import Path

import pytest

import lochan
from lochan.versioning.name_filter import NameFilter
from tests.unit.cli.invoke import lochan as command

NAMES = ["dev", "Release-1", "release-2", "the-release", "x"]


@pytest.mark.parametrize(
    "wanted, fit",
    [
        pytest.param(NameFilter(), NAMES, id="all"),
        pytest.param(NameFilter(contains="RELEASE"), NAMES[1:4], id="any case, anywhere"),
        pytest.param(NameFilter(prefix="release"), ["release-2"], id="a prefix has its case"),
        pytest.param(NameFilter(contains="straße"), [], id="a text that no name has"),
        pytest.param(NameFilter(after="release-2"), NAMES[3:], id="after a name"),
        pytest.param(NameFilter("r", "a", "-2"), ["release-2"], id="all three"),
    ],
)
def test_names_that_fit(wanted: NameFilter, fit: list[str]) -> None:
    assert [each for each in NAMES if wanted.fits(each)] == fit


def test_every_list_of_names_can_be_searched(tmp_path: Path) -> None:
    assert command("init", str(tmp_path / "lake")).exit_code == 0
    with lochan.connect(tmp_path / "lake") as lake:
        for name in ("alpha", "alpha-raw", "raw"):
            lake.create_repository(name)
        lake.create_pool("rawlogs", key="n")
        assert [each.name for each in lake.repositories(contains="RAW")] == ["alpha-raw", "raw", "rawlogs"]
        assert [each.name for each in lake.repositories("raw", after="raw")] == ["rawlogs"]
        assert [each.name for each in lake.pools(contains="raw")] == ["rawlogs"]
        assert [each.name for each in lake.pools(after="rawlogs")] == []
        alpha = lake.repository("alpha")
        for name in ("dev", "dev-2", "hotfix"):
            alpha.create_branch(name)
            alpha.create_tag(f"v-{name}")
        assert [each.name for each in alpha.branches(contains="EV")] == ["dev", "dev-2"]
        assert [each.name for each in alpha.branches(after="dev", contains="ev")] == ["dev-2"]
        assert [each.name for each in alpha.compare_branches(contains="fix")] == ["hotfix"]
        assert [each.name for each in alpha.tags(contains="EV-")] == ["v-dev-2"]
        for name in ("ann", "joanna", "teo"):
            lake.access.create_user(name)
            lake.access.create_group(f"{name}s")
        assert [each.name for each in lake.access.users(contains="ANN")] == ["ann", "joanna"]
        assert [each.name for each in lake.access.groups(contains="ann", after="anns")] == ["joannas"]
        statement = b'{"statements": [{"effect": "allow", "actions": ["fs:Read*"], "resources": ["*"]}]}'
        for name in ("ShopReader", "ShopWriter"):
            lake.access.put_policy(name, statement)
        assert [each.name for each in lake.access.policies(contains="READ")] == ["ShopReader"]
        assert [each.name for each in lake.access.policies("Shop")] == ["ShopReader", "ShopWriter"]
        assert [each.name for each in lake.access.policies("Ad")] == ["Admin"]


def test_differences_go_on_behind_a_path(tmp_path: Path) -> None:
    assert command("init", str(tmp_path / "lake")).exit_code == 0
    with lochan.connect(tmp_path / "lake") as lake:
        shop = lake.create_repository("shop")
        main, dev = shop.branch("main"), shop.create_branch("dev")
        for name in ("a/1", "a/2", "a/3", "b/1"):
            dev.put(name, name)
        dev.commit("four")
        whole = [each.path for each in main.diff(dev)]
        parts = [next(iter(main.diff(dev, after=after))).path for after in ("", *whole[:-1])]
        assert parts == whole == ["a/1", "a/2", "a/3", "b/1"]
        assert [each.path for each in main.diff(dev, prefix="a/", after="a/1")] == ["a/2", "a/3"]
        assert list(main.diff(dev, after="b/1", three_dot=True)) == []
