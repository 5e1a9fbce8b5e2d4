"""Dumps of refs bring back what is gone, and never move what is there."""

import json
from itertools import count
from typing import Any

import pytest

from tests.integration.api.client import Answer, Client
from tests.run import run
from tests.servers.lochan import LochanServer
from tests.until import until

BASE = "/api/v1/repositories"
_NUMBERS = count(1)


def send(client: Client, method: str, path: str, value: Any = None) -> Answer:
    body = None if value is None else json.dumps(value).encode()
    return client.ask(method, f"{BASE}/{path}", body, **({} if value is None else {"content-type": "application/json"}))


def refs(client: Client, repository: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in ("branches", "tags"):
        listed = json.loads(send(client, "GET", f"{repository}/{kind}").body)["results"]
        found |= {f"{kind}/{each['id']}": each["commit_id"] for each in listed}
    return found


def dump(client: Client, repository: str) -> dict[str, str]:
    answer = send(client, "PUT", f"{repository}/refs/dump")
    assert answer.status == 201, answer.body
    found: dict[str, str] = json.loads(answer.body)
    return found


@pytest.fixture
def shop(server: LochanServer, admin: Client) -> str:
    name = f"dumped-{next(_NUMBERS)}"
    server.lochan("repo", "create", name)
    for branch in ("dev", "other"):
        assert send(admin, "POST", f"{name}/branches", {"name": branch, "source": "main"}).status == 201
    admin.ask("POST", f"{BASE}/{name}/branches/dev/objects?path=a.txt", b"a")
    assert send(admin, "POST", f"{name}/branches/dev/commits", {"message": "a"}).status == 201
    assert send(admin, "POST", f"{name}/tags", {"id": "v1", "ref": "dev"}).status == 201
    return name


def task(client: Client, repository: str, what: str, value: Any = None) -> dict[str, Any]:
    begun = send(client, "POST", f"{repository}/{what}", value)
    assert begun.status == 202, begun.body
    at = f"{repository}/{what}?task_id={json.loads(begun.body)['id']}"

    def status() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(send(client, "GET", at).body)
        return found

    run(until(lambda: status()["done"] is True))
    return status()


def test_what_is_gone_comes_back(admin: Client, shop: str) -> None:
    before = refs(admin, shop)
    dumped = task(admin, shop, "dump")
    assert dumped["refs"] == dump(admin, shop)
    for gone in ("branches/dev", "branches/other", "tags/v1"):
        assert send(admin, "DELETE", f"{shop}/{gone}").status == 204
    assert send(admin, "POST", f"{shop}/branches", {"name": "new", "source": "main"}).status == 201
    assert task(admin, shop, "restore", dumped["refs"]).get("error") is None
    assert refs(admin, shop) == {**before, "branches/new": before["branches/main"]}
    assert admin.ask("GET", f"{BASE}/{shop}/refs/v1/objects?path=a.txt").body == b"a"
    assert send(admin, "PUT", f"{shop}/refs/restore", dumped["refs"]).status == 200, "there is nothing left to do"


def test_what_stands_elsewhere_is_not_moved(admin: Client, shop: str) -> None:
    dumped = dump(admin, shop)
    assert send(admin, "DELETE", f"{shop}/tags/v1").status == 204
    assert send(admin, "DELETE", f"{shop}/branches/dev").status == 204
    assert send(admin, "POST", f"{shop}/branches", {"name": "dev", "source": "main"}).status == 201
    before = refs(admin, shop)
    for method, where in (("POST", "restore"), ("PUT", "refs/restore")):
        answer = send(admin, method, f"{shop}/{where}", dumped)
        assert (answer.status, "'dev' stand elsewhere" in answer.message) == (409, True)
    assert refs(admin, shop) == before


def test_a_dump_of_another_repository(server: LochanServer, admin: Client, shop: str) -> None:
    server.lochan("repo", "create", f"{shop}-2")
    answer = send(admin, "PUT", f"{shop}-2/refs/restore", dump(admin, shop))
    assert (answer.status, f"not of repository '{shop}-2'" in answer.message) == (409, True)


def make_bare(client: Client, name: str) -> None:
    made = client.ask(
        "POST", f"{BASE}?bare=true", json.dumps({"name": name}).encode(), **{"content-type": "application/json"}
    )
    assert made.status == 201, made.body


def test_a_dump_of_another_repository_into_a_bare_one(admin: Client, shop: str) -> None:
    for number, restore in enumerate(("task", "request")):
        bare = f"{shop}-bare-{number}"
        make_bare(admin, bare)
        assert refs(admin, bare) == {}
        dumped = dump(admin, shop)
        if restore == "task":
            assert task(admin, bare, "restore", dumped).get("error") is None
        else:
            assert send(admin, "PUT", f"{bare}/refs/restore", dumped).status == 200
        assert refs(admin, bare) == refs(admin, shop)
        assert admin.ask("GET", f"{BASE}/{bare}/refs/dev/objects?path=a.txt").body == b"a"
        assert send(admin, "PUT", f"{bare}/refs/restore", dumped).status == 409, "it is not bare any more"


def test_only_who_may_read_all_of_it_copies_a_repository(server: LochanServer, admin: Client, shop: str) -> None:
    bare, who = f"{shop}-of-other", f"copier-{shop}"
    make_bare(admin, bare)
    allowed = [{"effect": "allow", "actions": ["fs:*"], "resources": [f"repository/{bare}*"]}]
    text = json.dumps({"statements": allowed}).encode()
    server.lochan("auth", "users", "create", who)
    server.lochan("auth", "policies", "put", who, "-", stdin=text)
    server.lochan("auth", "attach", who, who)
    made = json.loads(server.lochan("auth", "keys", "create", who, "-f", "json"))
    other = Client(server.api, made["access_key_id"], made["secret_access_key"])
    answer = send(other, "PUT", f"{bare}/refs/restore", dump(admin, shop))
    assert answer.status in (401, 409), answer.body
    heads = {each.removeprefix("branches/"): id for each, id in refs(admin, shop).items() if each.startswith("b")}
    direct = other.ask(
        "POST",
        f"/api/v1/repos/{bare}/history",
        json.dumps({"source": shop, "branches": heads}).encode(),
        **{"content-type": "application/json"},
    )
    assert direct.status == 401, direct.body
    assert refs(admin, bare) == {}


def test_parts_of_different_dumps(admin: Client, shop: str) -> None:
    bare = f"{shop}-mixed"
    make_bare(admin, bare)
    mixed = {**dump(admin, shop), "tags_meta_range_id": dump(admin, bare)["tags_meta_range_id"]}
    assert send(admin, "PUT", f"{bare}/refs/restore", mixed).status == 400


@pytest.mark.parametrize("field", ["commits", "branches", "tags"])
def test_a_dump_that_was_changed(admin: Client, shop: str, field: str) -> None:
    dumped, name = dump(admin, shop), f"{field}_meta_range_id"
    kind, body, digest = dumped[name].split(":")
    other = dumped["tags_meta_range_id" if field != "tags" else "branches_meta_range_id"]
    for text in ("", "x" * 64, f"{kind}:{body[:-4]}:{digest}", f"{kind}:{body}:", f"{kind}:é:{digest}", other):
        answer = send(admin, "PUT", f"{shop}/refs/restore", {**dumped, name: text})
        assert (answer.status, name in answer.message) == (400, True), text


def test_tasks_of_others(server: LochanServer, admin: Client, shop: str) -> None:
    server.lochan("auth", "users", "create", f"reader-{shop}")
    server.lochan("auth", "attach", f"reader-{shop}", "Developer")
    made = json.loads(server.lochan("auth", "keys", "create", f"reader-{shop}", "-f", "json"))
    other = Client(server.api, made["access_key_id"], made["secret_access_key"])
    id = json.loads(send(admin, "POST", f"{shop}/dump").body)["id"]
    assert send(admin, "GET", f"{shop}/dump?task_id={id}").status == 200
    assert send(other, "GET", f"{shop}/dump?task_id={id}").status == 404
    assert send(admin, "GET", f"{shop}/restore?task_id={id}").status == 404, "it is no restore"
    assert send(admin, "GET", f"{shop}/dump").status == 400
