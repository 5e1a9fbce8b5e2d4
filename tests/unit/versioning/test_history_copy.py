"""A bare repository has no branch and no commit, until the history of another one is copied into it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import lochan
from lochan.errors import Invalid, LochanError, NotFound, Refused
from lochan.formats.events import change
from lochan.formats.repository_events import RepositoryOpened
from lochan.lake import Lake as OpenLake
from lochan.store.local import LocalStore
from lochan.versioning import history_copy
from tests.unit.versioning.folded_events import FIRST


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lochan.Lake]:
    asyncio.run(_made(LocalStore(str(tmp_path / "lake"), create=True)))
    with lochan.connect(tmp_path / "lake", user="ann") as found:
        yield found


async def _made(store: LocalStore) -> None:
    await (await OpenLake.create(store)).close()


def _forked(lake: lochan.Lake) -> lochan.Repository:
    made = lake.create_repository("shop")
    main = made.branch("main")
    for number in range(20):
        main.put(f"a/{number}", b"%d" % number * 10)
    main.commit("first", lochan.CommitOptions(metadata={"team": "x"}))
    dev = made.create_branch("dev", main)
    dev.put("d", b"d" * 100_000)
    dev.delete("a/3")
    dev.commit("on dev")
    main.put("m", b"m")
    main.commit("on main")
    made.create_tag("v1")
    main.merge(dev)
    return made


def _heads(repository: lochan.Repository) -> tuple[dict[str, str], dict[str, str]]:
    return {each.name: each.head for each in repository.branches()}, {
        each.name: each.commit for each in repository.tags()
    }


def _contents(ref: lochan.Ref) -> dict[str, bytes]:
    return {each.path: ref.read(each.path) for each in ref.list()}


def test_a_bare_repository_has_nothing_and_breaks_nothing(lake: lochan.Lake, tmp_path: Path) -> None:
    bare = lake.create_repository("bare", bare=True)
    assert bare.is_bare()
    assert (list(bare.branches()), list(bare.tags()), bare.snapshots()) == ([], [], [])
    for attempt in (
        lambda: list(bare.ref().log()),
        lambda: bare.branch("main").put("a", b"1"),
        lambda: bare.create_branch("dev"),
        lambda: bare.overview(),
        lambda: list(bare.compare_branches()),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert bare.is_empty()
    assert bare.gc.preview() is not None
    bare.gc.plan()
    assert not lake.fsck().findings
    assert [each.name for each in lake.repositories()] == ["bare"]
    bare.delete()
    lake.restore_repository("bare")
    assert lake.repository("bare").is_bare()


@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_copied_history_is_the_same(lake: lochan.Lake, in_pieces: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if in_pieces:
        monkeypatch.setattr(history_copy, "_EVENT_BYTES", 1)
        monkeypatch.setattr(history_copy, "_AT_ONCE", 3)
    shop, bare = _forked(lake), lake.create_repository("again", bare=True)
    bare.restore_history("shop", *_heads(shop))
    assert not bare.is_bare()
    assert _heads(bare) == _heads(shop), "equal commits have equal ids"
    for name in ("main", "dev", "v1", "main~1"):
        assert list(bare.ref(name).log()) == list(shop.ref(name).log())
        assert _contents(bare.ref(name)) == _contents(shop.ref(name))
    before = _heads(shop)[0]["main"]
    shop.delete()
    assert bare.branch("main").read("d") == b"d" * 100_000, "it has bytes of its own"
    bare.branch("main").put("new", b"1")
    assert bare.branch("main").commit("goes on").parents == (before,)
    assert not lake.fsck().findings


def test_only_a_bare_repository_takes_a_history(lake: lochan.Lake) -> None:
    shop = _forked(lake)
    branches, _ = _heads(shop)
    other = lake.create_repository("other")
    with pytest.raises(Refused, match="bare"):
        other.restore_history("shop", branches)
    bare = lake.create_repository("again", bare=True)
    with pytest.raises(NotFound):
        bare.restore_history("shop", {"main": "f" * 64})
    with pytest.raises(Invalid):
        bare.restore_history("shop", {"a/b": branches["main"]})
    with pytest.raises(LochanError):
        bare.restore_history("shop", {"main": branches["main"]}, {"main": branches["dev"]})
    assert bare.is_bare(), "nothing of it stays"
    bare.restore_history("shop", {"main": branches["dev"]}, {"v2": branches["main"]})
    assert _heads(bare) == ({"main": branches["dev"]}, {"v2": branches["main"]})


def test_only_a_bare_repository_takes_the_new_version() -> None:
    assert change(RepositoryOpened("files", "main", FIRST)).version == 1
    assert change(RepositoryOpened("files", "main", FIRST, bare=True)).version == 2
