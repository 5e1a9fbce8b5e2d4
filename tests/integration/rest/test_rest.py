"""The REST API as any HTTP client sees it: statuses, pages, conditions, bad input."""

import json
from typing import Any

import pytest

from tests.integration.api.client import Answer, Client

BASE = "/api/v1"
HERE = f"{BASE}/repositories/plain"


def send(client: Client, method: str, path: str, value: Any = None, **headers: str) -> Answer:
    body = None if value is None else json.dumps(value).encode()
    return client.ask(
        method, path, body, **({"content-type": "application/json"} if value is not None else {}), **headers
    )


@pytest.fixture(scope="module", autouse=True)
def plain(admin: Client) -> None:
    made = send(admin, "POST", f"{BASE}/repositories", {"name": "plain", "storage_namespace": "x"})
    assert made.status == 201, made.body


def put(admin: Client, path: str, data: bytes, **headers: str) -> Answer:
    return admin.ask("POST", f"{HERE}/branches/main/objects?path={path}", data, **headers)


def test_a_name_that_is_taken(admin: Client) -> None:
    again = send(admin, "POST", f"{BASE}/repositories", {"name": "plain", "storage_namespace": "x"})
    assert (again.status, again.message) == (
        409,
        "there is a repository 'plain' already (take another name, or delete it)",
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param({"storage_namespace": "x"}, "missing required field `name`", id="a field is missing"),
        pytest.param({"name": 1}, "Expected `str`, got `int` - at `$.name`", id="a wrong type"),
        pytest.param({"name": "No"}, "'No'", id="a name that cannot be"),
        pytest.param(
            {"name": "fine", "sampled": True}, "Object contains unknown field `sampled`", id="an unknown field"
        ),
        pytest.param([], "Expected `object`, got `array`", id="no object"),
    ],
)
def test_a_body_that_is_wrong(admin: Client, value: Any, words: str) -> None:
    answer = send(admin, "POST", f"{BASE}/repositories", value)
    assert answer.status == 400
    assert words in answer.message


def test_an_unknown_field_inside(admin: Client) -> None:
    value = {"ref": "main", "parent_number": 0, "commit_overrides": {"mesage": "x"}}
    answer = send(admin, "POST", f"{HERE}/branches/main/revert", value)
    assert (answer.status, answer.message) == (
        400,
        "in the body: Object contains unknown field `mesage` - at `$.commit_overrides`",
    )


def test_metadata_of_a_repository(admin: Client) -> None:
    path = f"{HERE}/metadata"
    before = json.loads(admin.ask("GET", path).body)
    assert send(admin, "POST", path, {"metadata": {"team": "search", "owner": "ada"}}).status == 201
    assert send(admin, "DELETE", path, {"keys": ["team", "none"]}).status == 204
    assert json.loads(admin.ask("GET", path).body) == {**before, "owner": "ada"}
    assert send(admin, "POST", path, {"metadata": {"a": "\0"}}).status == 400
    assert send(admin, "POST", f"{BASE}/repositories/none/metadata", {"metadata": {}}).status == 404


def test_bodies_that_are_no_json(admin: Client) -> None:
    path = f"{BASE}/repositories"
    assert admin.ask("POST", path, b"{", **{"content-type": "application/json"}).status == 400
    assert admin.ask("POST", path, b"[" * 100_000, **{"content-type": "application/json"}).status == 400
    assert admin.ask("POST", path, b"name=x", **{"content-type": "text/plain"}).status == 400
    assert admin.ask("POST", path, b" " * (17 << 20), **{"content-type": "application/json"}).status == 413


def test_bytes_in_and_out(admin: Client) -> None:
    made = put(admin, "f/one.bin", b"0123456789", **{"content-type": "text/x", "x-lakefs-meta-note": "a"})
    assert (made.status, json.loads(made.body)["size_bytes"]) == (201, 10)
    read = f"{HERE}/refs/main/objects?path=f/one.bin"
    whole = admin.ask("GET", read)
    assert (whole.status, whole.body, whole.headers["content-type"]) == (200, b"0123456789", "text/x")
    assert whole.headers["x-lakefs-meta-note"] == "a"
    assert whole.headers["content-security-policy"] == "sandbox"
    part = admin.ask("GET", read, range="bytes=2-4")
    assert (part.status, part.body, part.headers["content-range"]) == (206, b"234", "bytes 2-4/10")
    assert admin.ask("GET", read, range="bytes=-3").body == b"789"
    beyond = admin.ask("GET", read, range="bytes=10-")
    assert (beyond.status, beyond.headers["content-range"]) == (416, "bytes */10")
    assert send(admin, "GET", read, **{"if-none-match": whole.headers["etag"]}).status == 304
    head = admin.ask("HEAD", read)
    assert (head.status, head.headers["content-length"], head.body) == (200, "10", b"")


def test_a_form(admin: Client) -> None:
    body = (
        b'--limit\r\ncontent-disposition: form-data; name="other"\r\n\r\nno\r\n'
        b'--limit\r\ncontent-disposition: form-data; name="content"; filename="a"\r\ncontent-type: text/csv\r\n\r\n'
        b"a,--limi\r\n--lim\r\nb\r\n--limit--\r\n"
    )
    made = put(admin, "form", body, **{"content-type": "multipart/form-data; boundary=limit"})
    assert made.status == 201, made.body
    found = admin.ask("GET", f"{HERE}/refs/main/objects?path=form")
    assert (found.body, found.headers["content-type"]) == (b"a,--limi\r\n--lim\r\nb", "text/csv")
    for wrong in (b"", b"--limit--\r\n", body.replace(b'"content"', b'"else"'), body[:-14]):
        refused = put(admin, "half", wrong, **{"content-type": "multipart/form-data; boundary=limit"})
        assert refused.status == 400, wrong
    assert admin.ask("GET", f"{HERE}/refs/main/objects?path=half").status == 404


def test_conditions(admin: Client) -> None:
    assert put(admin, "once", b"1", **{"if-none-match": "*"}).status == 201
    assert put(admin, "once", b"2", **{"if-none-match": "*"}).status == 412
    etag = json.loads(admin.ask("GET", f"{HERE}/refs/main/objects/stat?path=once").body)["checksum"]
    assert put(admin, "once", b"3", **{"if-match": "0" * 32}).status == 412
    assert put(admin, "once", b"3", **{"if-match": etag}).status == 201


def test_conditions_on_what_is_linked(admin: Client) -> None:
    """As on what is uploaded; an address whose link was refused can be linked still."""
    kept = json.loads(put(admin, "kept.txt", b"kept").body)["checksum"]
    at = f"{HERE}/branches/main/staging/backing?path="

    def staged(path: str) -> dict[str, Any]:
        given = json.loads(admin.ask("GET", f"{at}{path}&presign=true").body)
        taken = admin.ask("PUT", given["presigned_url"].partition(admin.address)[2], b"new")
        assert taken.status == 200, taken.body
        return {"staging": given, "checksum": taken.headers["etag"].strip('"'), "size_bytes": 3}

    value = staged("kept.txt")
    for refused in ({"if-none-match": "*"}, {"if-match": "none"}, {"if-none-match": f'"x", "{kept}"'}):
        answer = send(admin, "PUT", f"{at}kept.txt", value, **refused)
        assert (answer.status, "kept.txt" in answer.message) == (412, True)
    both = {"if-match": f'"{kept}"', "if-none-match": "*"}
    assert send(admin, "PUT", f"{at}kept.txt", value, **both).status == 412, "neither of two conditions is ignored"
    assert admin.ask("GET", f"{HERE}/refs/main/objects?path=kept.txt").body == b"kept"
    assert send(admin, "PUT", f"{at}kept.txt", value, **{"if-match": f'"{kept}"'}).status == 200
    assert admin.ask("GET", f"{HERE}/refs/main/objects?path=kept.txt").body == b"new"
    assert send(admin, "PUT", f"{at}linked.txt", staged("linked.txt"), **{"if-none-match": "*"}).status == 200
    assert send(admin, "PUT", f"{at}absent.txt", staged("absent.txt"), **{"if-match": "*"}).status == 412


def test_several_conditions_on_an_upload(admin: Client) -> None:
    first = json.loads(put(admin, "two.txt", b"1").body)["checksum"]
    assert put(admin, "two.txt", b"2", **{"if-match": first, "if-none-match": f'"{first}"'}).status == 412
    assert put(admin, "two.txt", b"2", **{"if-match": f'"none", "{first}"'}).status == 201
    assert put(admin, "two.txt", b"3", **{"if-match": f'W/"{first}"'}).status == 412


def test_differences_by_folder_and_with_what_is_on_the_right(admin: Client) -> None:
    here = f"{BASE}/repositories/folders"
    assert send(admin, "POST", f"{BASE}/repositories", {"name": "folders", "storage_namespace": "x"}).status == 201
    for path in ("a/1", "a/2", "b/c/1", "gone"):
        admin.ask("POST", f"{here}/branches/main/objects?path={path}", b"x")
    assert send(admin, "POST", f"{here}/branches/main/commits", {"message": "first"}).status == 201
    admin.ask("DELETE", f"{here}/branches/main/objects?path=gone")
    for path in ("a/1", "a/3", "b/c/2", "top"):
        head = {"content-type": "text/csv", "x-lakefs-meta-k": path}
        assert admin.ask("POST", f"{here}/branches/main/objects?path={path}", b"yy", **head).status == 201

    def listed(where: str) -> list[Any]:
        found: list[Any] = json.loads(admin.ask("GET", f"{here}/{where}").body)["results"]
        return found

    def names(where: str) -> list[tuple[str, str]]:
        return [(each["type"], each["path"]) for each in listed(where)]

    folders = [("prefix_changed", "a/"), ("prefix_changed", "b/"), ("removed", "gone"), ("added", "top")]
    assert names("branches/main/diff?delimiter=/") == folders
    assert names("branches/main/diff?delimiter=/&prefix=b/") == [("prefix_changed", "b/c/")]
    assert names("branches/main/diff?delimiter=/&amount=1&after=a/") == folders[1:2]
    assert len(names("branches/main/diff")) == 5
    assert send(admin, "POST", f"{here}/branches/main/commits", {"message": "second"}).status == 201
    assert names("refs/main~1/diff/main?delimiter=/") == folders
    plain = listed("refs/main~1/diff/main")
    assert not any("right" in each for each in plain)
    told = listed("refs/main~1/diff/main?include_right_stats=true")
    assert [{name: value for name, value in each.items() if name != "right"} for each in told] == plain
    right = {each["path"]: each.get("right") for each in told}
    assert right["gone"] is None
    stat = json.loads(admin.ask("GET", f"{here}/refs/main/objects/stat?path=a/3").body)
    names_of = ("checksum", "mtime", "content_type", "metadata")
    assert right["a/3"] == {name: stat[name] for name in names_of}
    assert (right["a/3"]["content_type"], right["a/3"]["metadata"]) == ("text/csv", {"k": "a/3"})


def test_a_request_that_is_sent_twice(admin: Client) -> None:
    put(admin, "keyed", b"1")
    value = {"message": "once"}
    first, again = [
        send(admin, "POST", f"{HERE}/branches/main/commits", value, **{"idempotency-key": "a-key-of-a-test"})
        for _ in range(2)
    ]
    assert (first.status, again.status) == (201, 201)
    assert json.loads(first.body)["id"] == json.loads(again.body)["id"]


def test_pages(admin: Client) -> None:
    for name in ("p1", "p2", "p3"):
        assert send(admin, "POST", f"{HERE}/branches", {"name": name, "source": "main"}).status == 201
    page = json.loads(admin.ask("GET", f"{HERE}/branches?prefix=p&amount=2").body)
    assert ([each["id"] for each in page["results"]], page["pagination"]["has_more"]) == (["p1", "p2"], True)
    rest = json.loads(admin.ask("GET", f"{HERE}/branches?prefix=p&after={page['pagination']['next_offset']}").body)
    assert ([each["id"] for each in rest["results"]], rest["pagination"]["has_more"]) == (["p3"], False)
    assert admin.ask("GET", f"{HERE}/branches?amount=many").status == 400


def test_a_reset_of_a_path_and_of_a_prefix(admin: Client) -> None:
    assert send(admin, "POST", f"{HERE}/branches", {"name": "undone", "source": "main"}).status == 201
    branch = f"{HERE}/branches/undone"
    for name in ("one", "two", "in/three", "in/four"):
        assert admin.ask("POST", f"{branch}/objects?path={name}", b"x").status == 201

    def staged() -> list[str]:
        return [each["path"] for each in json.loads(admin.ask("GET", f"{branch}/diff").body)["results"]]

    assert send(admin, "PUT", branch, {"type": "object", "path": "one"}).status == 204
    assert staged() == ["in/four", "in/three", "two"]
    assert send(admin, "PUT", branch, {"type": "common_prefix", "path": "in/"}).status == 204
    assert staged() == ["two"]
    assert send(admin, "PUT", branch, {"type": "object", "path": "one"}).status == 400
    assert send(admin, "PUT", branch, {"type": "object"}).status == 400
    assert send(admin, "PUT", branch, {"type": "reset"}).status == 204
    assert staged() == []


def test_rules_are_replaced_only_as_they_were_read(admin: Client) -> None:
    path = f"{HERE}/settings/branch_protection"
    before = admin.ask("GET", path)
    assert send(admin, "PUT", path, [{"pattern": "release-*"}], **{"if-match": before.headers["etag"]}).status == 204
    assert send(admin, "PUT", path, [], **{"if-match": before.headers["etag"]}).status == 412
    assert json.loads(admin.ask("GET", path).body) == [{"pattern": "release-*"}]


def test_rules_of_garbage_collection(admin: Client) -> None:
    path = f"{HERE}/settings/gc_rules"
    assert admin.ask("GET", path).status == 404
    rules = {"default_retention_days": 30, "branches": [{"branch_id": "main", "retention_days": 90}]}
    made = send(admin, "PUT", path, rules)
    assert made.status == 204, made.body
    assert json.loads(admin.ask("GET", path).body) == rules
    assert send(admin, "PUT", path, {**rules, "default_retention_days": 0}).status == 400
    assert admin.ask("DELETE", path).status == 204
    assert admin.ask("GET", path).status == 404


def test_tags(admin: Client) -> None:
    for name in ("v1", "v1.1", "v2"):
        assert send(admin, "POST", f"{HERE}/tags", {"id": name, "ref": "main"}).status == 201
    for name in ("v1", "v2"):
        assert json.loads(admin.ask("GET", f"{HERE}/tags/{name}").body)["id"] == name
    assert admin.ask("GET", f"{HERE}/tags/v").status == 404
    page = json.loads(admin.ask("GET", f"{HERE}/tags?prefix=v1&after=v1").body)
    assert [each["id"] for each in page["results"]] == ["v1.1"]


def test_who_has_no_key(admin: Client) -> None:
    stranger = Client(admin.address, "LKIANOBODY", "wrong")
    assert stranger.ask("GET", f"{BASE}/repositories").status == 401
    assert stranger.ask("GET", f"{BASE}/openapi.json").status == 200


def test_what_is_not_there(admin: Client) -> None:
    for path in ("repositories/none", "repositories/plain/branches/none", "repositories/plain/tags/none"):
        assert admin.ask("GET", f"{BASE}/{path}").status == 404, path
    assert admin.ask("GET", f"{HERE}/refs/main/objects").status == 400  # without a path
    assert admin.ask("GET", f"{BASE}/nothing").status == 404


@pytest.mark.parametrize("url", ["file:///etc/", "/etc/", "FILE:///etc/passwd", "memory://x/"])
def test_files_of_the_server_cannot_be_named(admin: Client, url: str) -> None:
    value = {"physical_address": url, "checksum": "", "size_bytes": 1}
    refused = send(admin, "PUT", f"{HERE}/branches/main/objects?path=stolen", value)
    assert refused.status == 400
    assert "files of the machine that serves the lake" in refused.message
    paths = [{"type": "common_prefix", "path": url, "destination": "in/"}]
    begun = send(admin, "POST", f"{HERE}/branches/main/import", {"paths": paths, "commit": {"message": "x"}})
    assert begun.status == 400
    assert "files of the machine that serves the lake" in begun.message
