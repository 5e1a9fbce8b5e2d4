"""Pull requests over a server, by users who try what they may not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

import lochan
from lochan.access.rights import Denied
from lochan.errors import Conflict, Invalid, LochanError, NotFound, Refused, RulesUnmet
from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server

HOSTILE = "<img src=x onerror=alert(1)> \u202e ${7*7} '; --"


class Place(NamedTuple):
    server: LochanServer
    keys: dict[str, Any]

    def connect(self, user: str) -> lochan.Lake:
        key = self.keys[user]
        return lochan.connect(
            f"http://{self.server.api}", access_key=key.access_key_id, secret_key=key.secret_access_key
        )


def policy(*statements: tuple[str, list[str], list[str]]) -> bytes:
    written = [{"effect": effect, "actions": actions, "resources": on} for effect, actions, on in statements]
    return json.dumps({"statements": written}).encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with lochan_server(tmp_path_factory.mktemp("pulls") / "lake") as server:
        keys: dict[str, Any] = {}
        with lochan.connect(server.lake, user="root") as lake:
            main = lake.create_repository("demo").branch("main")
            main.put("a", b"1")
            main.commit("first")
            branch = "repository/demo/branch"
            seen = ["fs:ReadPullRequest", "fs:ReadBranch", "fs:ReadCommit", "fs:ReviewPullRequest"]
            lake.access.put_policy("reviewer", policy(("allow", seen, [f"{branch}/*"])))
            lake.access.put_policy(
                "blind", policy(("allow", ["fs:*"], ["repository/*"]), ("deny", ["fs:*"], [f"{branch}/secret*"]))
            )
            for user, name in {"ann": "Developer", "bob": "Developer", "rae": "reviewer", "eve": "blind"}.items():
                lake.access.create_user(user)
                lake.access.attach(name, user)
                keys[user] = lake.access.create_key(user)
        yield Place(server, keys)
        assert not server.traceback(), server.traceback()


def proposed(place: Place, branch: str, user: str = "ann", target: str = "main") -> str:
    with place.connect(user) as lake:
        repository = lake.repository("demo")
        made = repository.create_branch(branch, "main")
        made.put(f"{branch}.txt", branch.encode())
        made.commit(branch)
        return repository.create_pull(branch, target, title=f"from {branch}").id


def test_a_reviewer_with_few_rights_does_no_more(place: Place) -> None:
    id = proposed(place, "few")
    with place.connect("rae") as lake:
        pull = lake.repository("demo").pull(id)
        pull.review("approve", "fine")
        for act in (
            lambda: pull.merge(),
            lambda: pull.comment("x"),
            lambda: pull.update(title="x"),
            lambda: pull.close(),
            lambda: pull.check("quality", "success"),
            lambda: pull.dismiss_review("rae"),
            lambda: pull.resolve([lochan.Resolution(path="a", take="ours")]),
            lambda: lake.repository("demo").protect("main", []),
            lambda: lake.repository("demo").branch("main").merge("few"),
        ):
            with pytest.raises(Denied):
                act()
        assert pull.show().status == "open"


def test_a_request_about_a_hidden_branch_does_not_exist(place: Place) -> None:
    hidden = proposed(place, "secret-plans")
    with place.connect("ann") as lake:
        lake.repository("demo").create_branch("secret-target", "main")
        other = lake.repository("demo").create_pull("main", "secret-target", title="x").id
    with place.connect("eve") as lake:
        repository = lake.repository("demo")
        ids = [each.id for each in repository.pulls("all")]
        assert ids and hidden not in ids and other not in ids
        texts = set()
        for id in (hidden, other, "99999"):
            for act in (repository.pull(id).show, repository.pull(id).close, repository.pull(id).merge):
                with pytest.raises(LochanError) as caught:
                    act()
                assert isinstance(caught.value, Denied) and "secret" not in str(caught.value)
            texts.add(str(caught.value))
        assert len(texts) == 1, "nobody can tell which of them exists"
        for source, target in (("secret-plans", "main"), ("main", "secret-target"), ("secret-none", "main")):
            with pytest.raises(Denied):
                repository.create_pull(source, target, title="x")
    client = Client(place.server.api, place.keys["eve"].access_key_id, place.keys["eve"].secret_access_key)
    assert b"secret" not in client.ask("GET", "/api/v1/repositories/demo/pulls?amount=1000").body
    assert client.ask("GET", f"/api/v1/repositories/demo/pulls/{hidden}").status == 401


def test_the_approval_of_a_disabled_user_does_not_count(place: Place) -> None:
    id = proposed(place, "disabled", target="main")
    with lochan.connect(place.server.lake, user="root") as lake:
        lake.repository("demo").protect("main", approvals=1)
        try:
            with place.connect("rae") as raes:
                raes.repository("demo").pull(id).review("approve")
            lake.access.set_disabled("rae", True)
            with place.connect("ann") as anns:
                pull = anns.repository("demo").pull(id)
                assert [each.active for each in pull.show().reviews] == [False]
                with pytest.raises(RulesUnmet, match="0 of 1 approvals"):
                    pull.merge()
                lake.access.set_disabled("rae", False)
                assert pull.merge(way="squash").parents
        finally:
            lake.access.set_disabled("rae", False)
            lake.repository("demo").unprotect("main")


def test_reviews_by_path_are_refused(place: Place) -> None:
    id = proposed(place, "by-path")
    with lochan.connect(place.server.lake, user="bob") as lake, pytest.raises(Refused, match="through a server"):
        lake.repository("demo").pull(id).review("approve")


def test_two_merges_at_once(place: Place) -> None:
    id = proposed(place, "twice")

    def merge(user: str) -> str:
        with place.connect(user) as lake:
            try:
                return lake.repository("demo").pull(id).merge().id
            except (Conflict, Refused):
                return ""

    with ThreadPoolExecutor(4) as threads:
        done = [each for each in threads.map(merge, ["ann", "bob"] * 2) if each]
    assert len(done) == 1
    with place.connect("ann") as lake:
        assert lake.repository("demo").pull(id).show().commit == done[0]


def test_a_source_that_is_reset_or_deleted_under_an_approval(place: Place) -> None:
    id = proposed(place, "moving")
    with lochan.connect(place.server.lake, user="root") as lake:
        lake.repository("demo").protect("main", approvals=1)
    try:
        with place.connect("bob") as bobs, place.connect("ann") as anns:
            branch = anns.repository("demo").branch("moving")
            reviewed = branch.resolve().id
            bobs.repository("demo").pull(id).review("approve", commit=reviewed)
            branch.put("sneaked", b"in")
            branch.commit("after the approval")
            pull = anns.repository("demo").pull(id)
            with pytest.raises(RulesUnmet, match="earlier commits"):
                pull.merge()
            with pytest.raises(Conflict):
                bobs.repository("demo").pull(id).review("approve", commit=reviewed)
            anns.repository("demo").delete_branch("moving")
            with pytest.raises(LochanError):
                pull.merge()
            assert pull.show().unmet == ("its source 'moving' is gone",)
            anns.repository("demo").create_branch("moving", reviewed)
            pull.merge()  # exactly what was approved
    finally:
        with lochan.connect(place.server.lake, user="root") as lake:
            lake.repository("demo").unprotect("main")


def test_hostile_texts_are_data_and_huge_ones_are_refused(place: Place) -> None:
    id = proposed(place, "texts")
    with place.connect("ann") as lake:
        pull = lake.repository("demo").pull(id)
        pull.update(title="<script>alert(1)</script>", description=HOSTILE)
        comment = pull.comment(HOSTILE, path="<b>.txt")
        assert pull.show().description == HOSTILE
        assert [each.text for each in pull.comments()] == [HOSTILE]
        for act in (
            lambda: pull.comment("x" * 65_537),
            lambda: pull.update(description="x" * 65_537),
            lambda: pull.update(title="x" * 257),
            lambda: pull.update(title="two\nlines"),
            lambda: pull.edit_comment(comment, "x" * 65_537),
        ):
            with pytest.raises(Invalid):
                act()
        with pytest.raises(NotFound):
            pull.edit_comment("none", "x")
    client = Client(place.server.api, place.keys["ann"].access_key_id, place.keys["ann"].secret_access_key)
    route = f"/api/v1/repos/demo/pulls/{id}"
    answer = client.ask("GET", f"/api/v1/repositories/demo/pulls/{id}")
    assert answer.headers["content-type"].startswith("application/json")
    body = json.dumps({"text": "x" * (17 << 20)}).encode()
    assert client.ask("POST", f"{route}/comments", body, content_type="application/json").status == 413
    for sent in (b"[]", b"{", b'{"text": 1}', b'{"text": "x", "nobody": 1}', b"\xff"):
        assert client.ask("POST", f"{route}/comments", sent, content_type="application/json").status == 400
