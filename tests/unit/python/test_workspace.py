"""A workspace from Python: a private place over a branch, committed once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lochan
from lochan.errors import ConcurrentCommit, NotFound, Refused


@pytest.fixture
def main(shop: lochan.Repository) -> lochan.Branch:
    return shop.branch("main")


def paths(ref: lochan.Ref | lochan.Branch) -> list[str]:
    return [each.path for each in ref.list()]


def test_other_programs_write_to_its_path(main: lochan.Branch) -> None:
    workspace = main.workspace("a job")
    place = Path(workspace.path("another/location"))
    place.mkdir(parents=True)
    (place / "part-0.parquet").write_bytes(b"rows")
    assert workspace.read("another/location/part-0.parquet") == b"rows"
    workspace.all()
    made = workspace.commit("commit everything!")
    assert made.message == "commit everything!" and main.read("another/location/part-0.parquet") == b"rows"


def test_only_what_was_added_is_committed(main: lochan.Branch) -> None:
    workspace = main.workspace()
    for name in ("a.parquet", "b.json", "c.tmp"):
        workspace.put(name, b"x")
    assert workspace.add("**/*.parquet", "**/*.json") == ("**/*.parquet", "**/*.json")
    workspace.commit("only some of the stuff")
    assert paths(main) == ["README.md", "a.parquet", "b.json", "raw/fruit.csv"]


def test_all_of_it_is_committed(main: lochan.Branch) -> None:
    for act in (lambda it: it.all(), lambda it: None):
        workspace = main.workspace()
        workspace.put("a", str(act).encode())
        act(workspace)
        workspace.commit("all")
    workspace = main.workspace()
    workspace.put("b", b"")
    workspace.put("c", b"")
    workspace.add("b")
    workspace.commit("all the same", added=False)
    assert {"a", "b", "c"} <= set(paths(main))


def test_what_is_reverted_is_not_committed(main: lochan.Branch) -> None:
    workspace = main.workspace()
    workspace.put("a", b"")
    workspace.delete("README.md")
    assert workspace.revert() == 2
    assert paths(main) == [each.path for each in workspace.list()] == ["README.md", "raw/fruit.csv"]


AFTER: dict[str, Callable[[lochan.Workspace], Any]] = {
    "path": lambda it: it.path(),
    "all": lambda it: it.all(),
    "add": lambda it: it.add("*"),
    "commit": lambda it: it.commit("again"),
    "revert": lambda it: it.revert(),
    "put": lambda it: it.put("b", b""),
    "delete": lambda it: it.delete("a"),
    "read": lambda it: it.read("a"),
    "list": lambda it: list(it.list()),
    "changes": lambda it: list(it.changes()),
    "drop": lambda it: it.drop(),
}


@pytest.mark.parametrize("act", AFTER.values(), ids=AFTER)
def test_after_its_commit_it_is_refused(main: lochan.Branch, act: Callable[[lochan.Workspace], Any]) -> None:
    workspace = main.workspace()
    workspace.put("a", b"")
    workspace.commit("once")
    with pytest.raises((Refused, NotFound), match="was committed as"):
        act(workspace)


def test_it_is_a_ref_and_sees_the_branch_below(shop: lochan.Repository, main: lochan.Branch) -> None:
    workspace = main.workspace()
    workspace.put("new.txt", b"new")
    seen = shop.ref(workspace.name)
    assert seen.read("README.md") == b"# Shop\n" and seen.read("new.txt") == b"new"
    assert paths(seen) == ["README.md", "new.txt", "raw/fruit.csv"]


def test_a_transaction_does_not_disturb_others(main: lochan.Branch, shop: lochan.Repository) -> None:
    main.put("of another", b"staged")
    with main.transaction("mine") as tx:
        tx.put("mine", b"1")
        assert "mine" not in paths(main)
    assert [each.path for each in main.status()] == ["of another"]
    with pytest.raises(ZeroDivisionError), main.transaction("nothing") as tx:
        tx.put("lost", b"1")
        raise ZeroDivisionError
    with pytest.raises(ConcurrentCommit), main.transaction("too late") as tx:
        tx.put("mine", b"2")
        with main.transaction("first") as other:
            other.put("mine", b"3")
    assert main.read("mine") == b"3" and "lost" not in paths(main) and not list(shop.workspaces())
