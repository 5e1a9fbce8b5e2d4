"""The audit: who, when, from where, what, and whether it was allowed, through every door; and no secret in it, or in
anything else that is written down."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

import lochan
from tests.integration.api.client import Client
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.receiver import Receiver, receiver

BASE = "/api/v1"
OPTIONS = ("-s", "usage.flush_s=0.1", "-s", "logging.level=DEBUG", "-s", "hooks.allowed_hosts=127.0.0.1")
JSON = {"content-type": "application/json"}
CANARY = "canary-of-the-audit"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with lochan_server(tmp_path_factory.mktemp("audit") / "lake", options=OPTIONS) as running:
        running.lochan("repo", "create", "shop")
        running.lochan("repo", "create", "other")
        yield running
        traceback = running.traceback()
    assert not traceback, traceback


@pytest.fixture(scope="module")
def admin(server: LochanServer) -> Client:
    return Client(server.api, server.access_key, server.secret_key)


def person(server: LochanServer, name: str, *policies: str, **statements: list[dict[str, str]]) -> Client:
    server.lochan("auth", "users", "create", name)
    for policy, content in statements.items():
        text = json.dumps({"statements": content}).encode()
        server.lochan("auth", "policies", "put", policy, "-", stdin=text)
    for policy in (*policies, *statements):
        server.lochan("auth", "attach", name, policy)
    key = json.loads(server.lochan("auth", "keys", "create", name, "-f", "json"))
    return Client(server.api, key["access_key_id"], key["secret_access_key"])


def rows(server: LochanServer, **wanted: object) -> list[dict[str, Any]]:
    """Of the whole lake, as its owner reads it."""
    text = server.lochan("query", "from :audit", "-f", "ndjson")
    found = [json.loads(line) for line in text.splitlines()]
    return [each for each in found if all(each[name] == value for name, value in wanted.items())]


def one_row(server: LochanServer, **wanted: object) -> dict[str, Any]:
    """Of a request, whose row is written a moment later."""
    deadline = time.monotonic() + 60
    while True:
        found = rows(server, **wanted)
        if found:
            return found[0]
        assert time.monotonic() < deadline, (wanted, rows(server))
        time.sleep(0.1)


def call(tool: str, **arguments: str) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def test_what_was_done_and_what_was_denied_through_every_door(server: LochanServer, admin: Client) -> None:
    bob = person(server, "bob", "Analyst")
    here = {"source": "127.0.0.1"}
    with closing(server.boto3()) as s3, closing(server.boto3(key=bob.key, secret=bob.secret)) as of_bob:
        s3.put_object(Bucket="shop", Key="main/a.csv", Body=b"1")
        with pytest.raises(ClientError):
            of_bob.put_object(Bucket="shop", Key="main/b.csv", Body=b"2")
    at = {"repository": "shop", "ref": "main", **here, "client": "s3", "action": "PutObject"}
    assert one_row(server, **at, path="a.csv")["outcome"] == "allowed"
    denied = one_row(server, **at, path="b.csv")
    assert (denied["user"], denied["outcome"], denied["status"], denied["access_key"]) == (
        "bob",
        "denied",
        403,
        bob.key,
    )
    assert one_row(server, **at, path="a.csv")["access_key"] == server.access_key

    created = bob.ask("POST", f"{BASE}/access/users", json.dumps({"name": "mallory"}).encode(), **JSON)
    assert created.status == 401
    denied = one_row(server, user="bob", action="Access.create_user")
    assert (denied["outcome"], denied["client"], denied["source"]) == ("denied", "rest", "127.0.0.1")
    assert (denied["status"], denied["access_key"]) == (created.status, bob.key)
    assert denied["about"] == "name='mallory'"
    made = admin.ask("POST", f"{BASE}/access/users", json.dumps({"name": "carol"}).encode(), **JSON)
    assert made.status == 200, made.body
    assert one_row(server, user="admin", action="Access.create_user", about="name='carol'")["outcome"] == "allowed"

    deleted = bob.ask("DELETE", f"{BASE}/repositories/shop/branches/main/objects?path=a.csv")
    assert deleted.status == 401, deleted.body
    assert one_row(server, user="bob", action="WritableRef.delete", about="paths=('a.csv',)")["outcome"] == "denied"
    absent = admin.ask("GET", f"{BASE}/repositories/shop/branches/nowhere")
    assert absent.status == 404
    failed = one_row(server, user="admin", action="Branch.show", repository="shop")
    assert (failed["outcome"], failed["status"], failed["access_key"]) == ("failed", 404, admin.key)
    again = admin.ask("POST", f"{BASE}/repositories", json.dumps({"name": "other"}).encode(), **JSON)
    assert again.status == 409
    assert one_row(server, user="admin", action="Lake.create_repository", about="name='other'")["status"] == 409

    assert bob.query("from shop:journal").status == 401
    assert one_row(server, user="bob", action="Lake.query")["outcome"] == "denied"
    answered = bob.ask("POST", "/mcp", call("start_branch", repository="shop"))
    assert answered.status == 200
    assert one_row(server, user="bob", client="mcp", action="Repository.create_branch")["outcome"] == "denied"

    server.lochan("branch", "create", "shop@by-command")
    assert one_row(server, client="cli", action="branch-created", repository="shop")["outcome"] == "allowed"
    with lochan.connect(server.lake, user="ann") as lake:
        lake.repository("shop").branch("main").commit("by Python")
        assert lake.repository("shop").branch("main").read("a.csv") == b"1"
    assert one_row(server, client="python", action="committed")["repository"] == "shop"
    assert one_row(server, client="python", action="Read")["path"] == "a.csv"


def test_who_is_not_let_in_has_rows_too(server: LochanServer) -> None:
    with closing(server.boto3(secret="w" * 40)) as s3, pytest.raises(ClientError):
        s3.list_objects_v2(Bucket="shop")
    stranger = one_row(server, user="", client="s3", action="ListObjectsV2")
    assert (stranger["outcome"], stranger["source"]) == ("denied", "127.0.0.1")
    body = json.dumps({"access_key_id": server.access_key, "secret_access_key": "wrong"}).encode()
    assert Client(server.api, "", "").ask("POST", f"{BASE}/auth/login", body, **JSON).status == 401
    assert one_row(server, user="", client="rest", action="login")["outcome"] == "denied"
    body = json.dumps({"access_key_id": server.access_key, "secret_access_key": server.secret_key}).encode()
    assert Client(server.api, "", "").ask("POST", f"{BASE}/auth/login", body, **JSON).status == 200
    assert one_row(server, user="admin", client="login")["source"] == "127.0.0.1"
    assert not server.lochan("query", "from :usage | user == ''", "-f", "ndjson")


def test_strangers_make_no_log_grow_without_end() -> None:
    from lochan.usage.log import STRANGERS_MAX

    log = _Log()
    for _ in range(3 * STRANGERS_MAX):
        log.usage.add_stranger(log.row)
    assert len(log.usage._rows._rows) == STRANGERS_MAX


class _Log:
    def __init__(self) -> None:
        from lochan.clock import SystemClock
        from lochan.store.memory import MemoryStore
        from lochan.usage.log import UsageLog, UsageRow

        self.row = UsageRow(0, "", "ListBuckets", "", "", "", 0, 403, "s3", "10.0.0.1")
        self.usage = UsageLog(MemoryStore(), SystemClock(), "p", flush_s=60)


def test_who_sees_the_audit(server: LochanServer, admin: Client) -> None:
    """Rows name objects: nobody sees those of a repository who may not read all of it."""
    everything = [
        {"effect": "allow", "actions": "fs:*", "resources": each} for each in ("repository/shop", "repository/shop/*")
    ]
    owner = person(server, "owner", OfShop=everything)
    hidden = [{"effect": "deny", "actions": "fs:ReadObject", "resources": "repository/shop/object/secret/*"}]
    most = person(server, "most", "OfShop", NoSecrets=hidden)
    one_row(server, client="cli", action="repository-created")
    text = "from :audit | count() by repository"
    assert {each["repository"] for each in owner.query(text).rows} == {"shop"}
    assert most.query(text).rows == []
    assert {"", "shop", "other"} <= {each["repository"] for each in admin.query(text).rows}
    for each in (owner, most):
        assert each.ask("GET", f"{BASE}/audit").status == 401


def test_a_repository_of_the_same_name_hides_what_was_done_before(server: LochanServer, admin: Client) -> None:
    server.lochan("repo", "create", "twice")
    assert admin.ask("GET", f"{BASE}/repositories/twice/branches/before-it-was-deleted").status == 404
    one_row(server, repository="twice", action="Branch.show")
    server.lochan("repo", "delete", "twice", "--yes")
    server.lochan("repo", "create", "twice")
    everything = [
        {"effect": "allow", "actions": "fs:*", "resources": each} for each in ("repository/twice", "repository/twice/*")
    ]
    owner = person(server, "later", OfTwice=everything)
    found = owner.query("from :audit").rows
    assert {each["repository"] for each in found} == {"twice"}
    assert "Branch.show" not in {each["action"] for each in found}


def test_pages_are_the_whole(server: LochanServer, admin: Client) -> None:
    for number in range(7):
        admin.ask("GET", f"{BASE}/repositories/other/branches/page-{number}")
    one_row(server, repository="other", about="", action="Branch.show")
    path = f"{BASE}/audit?repository=other&outcome=failed&limit="

    def page(limit: int, after: str = "") -> dict[str, Any]:
        answer = admin.ask("GET", f"{path}{limit}{after and '&after='}{after}")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = json.loads(answer.body)
        return found

    deadline = time.monotonic() + 60
    while len(whole := page(1_000)["entries"]) < 7 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [each["time"] for each in whole] == sorted((each["time"] for each in whole), reverse=True)
    pieces, after = [], ""
    while True:
        found = page(2, after)
        pieces += found["entries"]
        after = found["next"]
        if not after:
            break
    assert pieces == whole and len(whole) == 7
    beyond = admin.ask("GET", f"{path}1000&days=1e12")  # more days than there are times
    assert json.loads(beyond.body)["entries"] == whole
    for wrong in ("limit=0", "limit=10001", "outcome=perhaps", "after=x", "days=many", "days=0", "days=-1"):
        assert admin.ask("GET", f"{BASE}/audit?{wrong}").status == 400, wrong


def test_no_secret_is_written_down_anywhere(server: LochanServer, admin: Client, tmp_path: Path) -> None:
    """Secrets of keys, sessions, links, subscriptions and hooks, right and wrong ones, go through every door; then all
    that the server and the lake have written is searched."""
    secrets = {name: f"{CANARY}-{name}-{'x' * 12}" for name in ("key", "wrong", "name", "form", "query")}
    server.lochan("auth", "users", "create", "eve")
    server.lochan("auth", "attach", "eve", "Developer")
    made = server.lochan(
        *("auth", "keys", "create", "eve", "--access-key-id", "LKIACANARY0000000001"),
        *("--secret-access-key", "-", "-f", "json"), stdin=secrets["key"].encode(),
    )  # fmt: skip
    assert json.loads(made)["secret_access_key"] == secrets["key"]
    eve = Client(server.api, "LKIACANARY0000000001", secrets["key"])
    bodies = [
        eve.ask("GET", f"{BASE}/user").body,
        Client(server.api, eve.key, secrets["wrong"]).ask("GET", f"{BASE}/user").body,
        Client(server.api, secrets["name"], secrets["wrong"]).ask("GET", f"{BASE}/user").body,
        eve.ask("GET", f"{BASE}/user", authorization=f"Bearer {secrets['wrong']}").body,
    ]
    for key, secret in ((eve.key, secrets["form"]), (secrets["name"], secrets["form"]), (eve.key, eve.secret)):
        login = json.dumps({"access_key_id": key, "secret_access_key": secret}).encode()
        answer = Client(server.api, "", "").ask("POST", f"{BASE}/auth/login", login, **JSON)
        bodies += [answer.body] if answer.status != 200 else []
    token = json.loads(answer.body)["token"]
    assert Client(server.api, "", "").ask("GET", f"{BASE}/user", authorization=f"Bearer {token}").status == 200
    session = json.loads(eve.ask("POST", f"{BASE}/auth/tokens", b"{}", **JSON).body)
    with (
        closing(server.boto3(key=eve.key, secret=eve.secret, signature_version="s3v4")) as s3,
        closing(_by_session(server, session)) as short,
    ):
        short.put_object(Bucket="shop", Key="main/by-session", Body=b"1")
        link = s3.generate_presigned_url("get_object", Params={"Bucket": "shop", "Key": "main/by-session"})
        assert urllib.request.urlopen(link).read() == b"1"
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(link + secrets["query"])
    told = {"token": token, "session": session["session_token"], "session secret": session["secret_access_key"]}
    told |= {"link": link.partition("X-Amz-Signature=")[2]}
    with receiver() as target:
        subscription = json.loads(
            server.lochan("subscription", "create", target.url, "--repository", "shop", "-f", "json")
        )
        told["subscription"] = subscription["secret"]
        bodies += _refusing_hook(server, target, tmp_path)
        server.lochan("subscription", "delete", subscription["id"])
    all_secrets = {**secrets, **told, "hook": f"{CANARY}-hook", "admin": server.secret_key}
    one_row(server, user="eve", action="GetObject", path="by-session")

    kept = {"audit": server.lochan("query", "from :audit", "-f", "ndjson")}
    kept |= {"pages": server.lochan("audit", "-n", "10000", "-f", "json")}
    kept |= {"events": server.lochan("events", "--all", "-f", "json"), "bodies": b"\n".join(bodies).decode()}
    kept |= {"journal": server.lochan("query", "from shop:journal", "-f", "ndjson")}
    kept |= {"hooks": server.lochan("hooks", "runs", "shop", "-f", "json"), "log": server.log.read_text()}
    for name, text in kept.items():
        assert text, f"{name} is empty, and shows nothing"
        assert not [each for each, secret in all_secrets.items() if secret in text], name
    assert "eve" in kept["audit"] and "by-session" in kept["log"]
    at_rest = {name: secret for name, secret in all_secrets.items() if name != "hook"}  # a file that somebody has put
    for place in Path(server.lake).rglob("*"):
        if place.is_file():
            written = place.read_bytes()
            assert not [name for name, secret in at_rest.items() if secret.encode() in written], place


def _by_session(server: LochanServer, session: dict[str, Any]) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=session["access_key_id"],
        aws_secret_access_key=session["secret_access_key"],
        aws_session_token=session["session_token"],
        region_name="us-east-1",
        config=Config(retries={"max_attempts": 1}),
    )


def _refusing_hook(server: LochanServer, target: Receiver, folder: Path) -> list[bytes]:
    """A webhook with a secret header, whose receiver refuses; what the server says then."""
    target.answer = lambda received: 403 if received.path == "/hook" else 200
    hook = folder / "hook.yaml"
    hook.write_text(
        "name: told\non: pre-commit\nhooks:\n  - id: outside\n    kind: webhook\n"
        f"    url: {target.url}/hook\n    retries: 0\n    headers: {{X-Token: {CANARY}-hook}}\n"
    )
    server.lochan("fs", "upload", str(hook), "shop/_lochan/hooks/told.yaml")
    server.lochan("commit", "shop", "-m", "a hook")
    server.lochan("fs", "upload", str(hook), "shop/more.txt")
    admin = Client(server.api, server.access_key, server.secret_key)
    body = json.dumps({"message": "refused"}).encode()
    refused = admin.ask("POST", f"{BASE}/repositories/shop/branches/main/commits", body, **JSON)
    assert refused.status == 412, refused.body
    by_command = subprocess.run(
        [Path(sys.executable).with_name("lochan"), "--lake", server.lake, "commit", "shop", "-m", "refused too"],
        capture_output=True,
        check=False,
        env=dict(server.env),
    )
    assert by_command.returncode == 5, by_command.stderr
    return [refused.body, by_command.stderr]
