"""Every act that changes a branch, under every rule, through every door. What must be refused is written down here by
hand, and is not taken from the code that refuses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

import lochan
from tests.integration.api.client import Client
from tests.integration.protection.acts import (
    FILES,
    POOL,
    SOURCE,
    Act,
    CommandDoor,
    Prepared,
    PythonDoor,
    RestDoor,
    S3Door,
)
from tests.servers.lochan import LochanServer, lochan_server

RULES: dict[str, dict[str, Any]] = {
    "stage": {"blocked": ["stage"]},
    "commit": {"blocked": ["commit"]},
    "revert": {"blocked": ["revert"]},
    "merge": {"blocked": ["merge"]},
    "rewrite": {"blocked": ["rewrite"]},
    "mergers": {"blocked": [], "mergers": ["somebody-else"]},
    "linear": {"blocked": [], "linear": True},
    "pull": {"blocked": [], "pull": True},
    "approvals": {"blocked": [], "approvals": 1},
    "checks": {"blocked": [], "checks": ["quality"]},
}
BY_REQUESTS = {"pull", "approvals", "checks"}  # rules that let nothing in but merged requests

REFUSED_BY: dict[str, set[str]] = {
    "put": {"stage"},
    "put large": {"stage"},
    "copy": {"stage"},
    "move": {"stage"},
    "delete": {"stage"},
    "delete many": {"stage"},
    "complete": {"stage"},
    "form": {"stage"},
    "link": {"stage"},
    "pop": {"stage"},
    "commit": {"commit"},
    "import": {"commit"},
    "workspace": {"commit"},
    "workspace put": set(),  # nothing comes to the branch before its commit
    "load": {"commit"},
    "delete rows": {"commit"},
    "compact": set(),  # changes no row
    "revert": {"revert"},
    "cherry-pick": {"revert"},
    "merge": {"merge", "mergers", "linear"},
    "squash": {"merge", "mergers"},
    "commit and merge": {"commit", "merge", "mergers", "linear"},
    "commit and squash": {"commit", "merge", "mergers"},
    "commit and revert": {"commit", "revert"},
    "commit and pick": {"commit", "revert"},
    "reset": {"rewrite"},
    "unstage": set(),  # what was staged before the rule can be dropped
    "rebase": {"rewrite"},
    "rename": {"rewrite"},
    "delete branch": {"rewrite"},
    "pull": {"merge", "mergers", "linear", "approvals", "checks"},
    "squashed pull": {"merge", "mergers", "approvals", "checks"},
    "fast pull": {"merge", "mergers", "approvals", "checks"},
}
PULLS = {"pull", "squashed pull", "fast pull"}
for _act, _rules in REFUSED_BY.items():
    if _rules and _act not in PULLS:
        _rules |= BY_REQUESTS
OF_POOLS = {"load", "delete rows", "compact"}
NEEDS_STAGED = {
    *("commit", "unstage", "commit and merge", "commit and squash", "commit and revert", "commit and pick"),
}
DOORS = ("python", "remote", "s3", "rest", "cli")
_numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("protected") / "lake") as running:
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


@pytest.fixture(scope="module")
def lake(server: LochanServer) -> Iterator[lochan.Lake]:
    with lochan.connect(server.lake, user="ann") as found:
        main = found.create_repository(FILES).branch("main")
        for each in ("a", "b"):
            main.put(each, each.encode())
            main.commit(each)
        dev = found.repository(FILES).create_branch(SOURCE)
        main.put("c", b"c")
        dev.put("d", b"d")
        dev.commit("d")
        pool = found.create_pool(POOL)
        pool.load([{"x": 1}])
        pool.load([{"x": 2}])
        yield found


@pytest.fixture(scope="module")
def doors(server: LochanServer, lake: lochan.Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("files")
    (folder / "rows.ndjson").write_text('{"x": 9}\n')
    s3 = server.boto3(signature_version="s3v4")
    with lochan.connect(f"http://{server.api}", access_key=server.access_key, secret_key=server.secret_key) as remote:
        yield {
            "python": PythonDoor(lake, folder).acts(),
            "remote": PythonDoor(remote, None).acts(),
            "s3": S3Door(s3).acts(),
            "rest": RestDoor(Client(server.api, server.access_key, server.secret_key)).acts(),
            "cli": CommandDoor(server.lake, folder).acts(),
        }
    s3.close()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("door", DOORS)
def test_what_each_rule_refuses(lake: lochan.Lake, doors: dict[str, dict[str, Act]], door: str, rule: str) -> None:
    found, expected = {}, {}
    for name, act in doors[door].items():
        on = prepared(lake, name)
        lake.repository(POOL if name in OF_POOLS else FILES).protect(on.branch, **RULES[rule])
        found[name] = act(on)
        expected[name] = rule in REFUSED_BY[name]
        lake.repository(POOL if name in OF_POOLS else FILES).unprotect(on.branch)
    assert found == expected


def test_every_act_is_tried_somewhere(doors: dict[str, dict[str, Act]]) -> None:
    assert {name for acts in doors.values() for name in acts} == set(REFUSED_BY)


def test_a_branch_that_is_made_again_keeps_its_rules(lake: lochan.Lake) -> None:
    """Nobody can delete it; a branch of another name that takes its place comes under the rule by its new name."""
    repository = lake.repository(FILES)
    on = prepared(lake, "merge")
    repository.create_branch(f"{on.branch}-other").put("staged", b"x")
    repository.delete_branch(on.branch)
    repository.protect(on.branch, pull=True)
    with pytest.raises(lochan.errors.Protected):
        repository.branch(f"{on.branch}-other").rename(on.branch)
    repository.restore_branch(on.branch)
    with pytest.raises(lochan.errors.Protected):
        repository.delete_branch(on.branch)
    with pytest.raises(lochan.errors.Protected):
        repository.branch(on.branch).put("new", b"x")
    repository.unprotect(on.branch)


def test_whoever_is_named_may_merge(server: LochanServer, lake: lochan.Lake) -> None:
    on = prepared(lake, "merge")
    lake.repository(FILES).protect(on.branch, mergers=["admin"])
    with lochan.connect(
        f"http://{server.api}", access_key=server.access_key, secret_key=server.secret_key, user="ann"
    ) as remote:
        remote.repository(FILES).branch(on.branch).merge(SOURCE)


def prepared(lake: lochan.Lake, act: str) -> Prepared:
    name = f"on-{next(_numbers)}"
    if act in OF_POOLS:
        lake.repository(POOL).create_branch(name)
        return Prepared(name, "", "")
    repository = lake.repository(FILES)
    second = repository.ref("main").resolve()
    branch = repository.create_branch(name, second.id)
    first = second.parents[0]
    match act:
        case "pull" | "squashed pull" | "fast pull":
            work = repository.create_branch(f"{name}-work", name)
            work.put("worked", b"x")
            work.commit("work")
            return Prepared(name, first, second.id, pull=repository.create_pull(work, name, title="work").id)
        case "complete":
            upload = branch.create_upload("large")
            upload.put_part(1, b"part")
            return Prepared(name, first, second.id, upload=upload.id)
        case "link":
            address = branch.address("linked")
            branch.put_address("linked", address.token, b"x")
            return Prepared(name, first, second.id, token=address.token)
        case "pop":
            branch.put("aside", b"x")
            return Prepared(name, first, second.id, stash=branch.stash())
        case "workspace" | "workspace put":
            workspace = branch.workspace()
            workspace.put("w", b"x")
            workspace.all()
            return Prepared(name, first, second.id, workspace=workspace.name.rpartition("+")[2])
    if act in NEEDS_STAGED:
        branch.put("staged", b"x")
    return Prepared(name, first, second.id)
