"""What an agent is answered: the protocol, its tools, and the limits of where it writes."""

import io
import json
from typing import Any

import pytest

from lochan.api.lake import Lake
from lochan.api.options import QueryOptions
from lochan.api.session import Session
from lochan.formats.record import Actor
from lochan.lake import Lake as EngineLake
from lochan.mcp.messages import MESSAGE_BYTES_MAX
from lochan.mcp.own_branch import check_own, new_branch, own_prefix
from lochan.mcp.pipe import serve_pipe
from lochan.mcp.server import VERSIONS, answer
from lochan.mcp.tools import TOOLS, AgentContext, query_with
from lochan.store.memory import MemoryStore
from tests.run import run

ANN = Actor("ann", "test", "here")


async def agent() -> AgentContext:
    lake = Lake(Session(await EngineLake.create(MemoryStore()), ANN))
    repository = await lake.create_repository("demo")
    await repository.branch("main").put("a/one.txt", b"one")
    await repository.branch("main").commit("first")
    await lake.create_pool("logs", key="ts")
    return AgentContext(lake, "ann", query_with(QueryOptions(reads_only=True)))


async def send(there: AgentContext, method: str, params: dict[str, Any] | None = None) -> Any:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
    answered = await answer(there, json.dumps(message).encode())
    assert answered is not None
    found = json.loads(answered)
    assert (found["jsonrpc"], found["id"]) == ("2.0", 7)
    return found.get("result") or found.get("error")


async def call(there: AgentContext, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether it failed, and what it said."""
    result = await send(there, "tools/call", {"name": tool, "arguments": arguments})
    [content] = result["content"]
    failed = result["isError"]
    return failed, content["text"] if failed else json.loads(content["text"])


@pytest.mark.parametrize(
    ("asked", "given"),
    [(VERSIONS[-1], VERSIONS[-1]), ("1999-01-01", VERSIONS[0]), (None, VERSIONS[0]), (7, VERSIONS[0])],
)
def test_the_version_of_the_client_is_spoken_where_it_is_known(asked: Any, given: str) -> None:
    async def play() -> None:
        found = await send(await agent(), "initialize", {"protocolVersion": asked})
        assert found["protocolVersion"] == given
        assert found["serverInfo"]["name"] == "lochan"

    run(play())


def test_every_tool_is_described() -> None:
    async def play() -> None:
        tools = (await send(await agent(), "tools/list"))["tools"]
        assert [each["name"] for each in tools] == list(TOOLS)
        for each in tools:
            assert each["description"].endswith(".")
            assert each["inputSchema"]["type"] == "object"
            assert each["inputSchema"]["additionalProperties"] is False

    run(play())


def test_an_agent_reads() -> None:
    async def play() -> None:
        there = await agent()
        assert await call(there, "list_repositories") == (
            False,
            [{"name": "demo", "kind": "files"}, {"name": "logs", "kind": "pool"}],
        )
        _, page = await call(there, "list_objects", repository="demo")
        assert (page["objects"], page["folders"], page["next"]) == ([], ["a/"], None)
        _, page = await call(there, "list_objects", repository="demo", recursive=True)
        assert [each["path"] for each in page["objects"]] == ["a/one.txt"]
        read = {"repository": "demo", "path": "a/one.txt"}
        assert await call(there, "read_object", **read) == (False, {"size": 3, "start": 0, "text": "one"})
        assert await call(there, "read_object", **read, start=1, length=1) == (
            False,
            {"size": 3, "start": 1, "text": "n"},
        )
        assert await call(there, "read_object", **read, start=9) == (False, {"size": 3, "start": 9, "text": ""})
        _, commits = await call(there, "log", repository="demo", limit=1)
        assert [each["message"] for each in commits] == ["first"]
        _, found = await call(there, "diff", repository="demo", left="main~1", right="main")
        assert (found["changes"], found["count"]["added"]) == ([{"path": "a/one.txt", "kind": "added"}], 1)

    run(play())


def test_an_agent_writes_to_its_own_branch_alone() -> None:
    async def play() -> None:
        there = await agent()
        _, made = await call(there, "start_branch", repository="demo", topic="Prices: fix!")
        assert made["branch"].startswith("agent.ann.prices-fix-")
        for branch in ("main", "agent.bob.work-1", "agent.ann", "agent.anna.x"):
            for tool, given in (
                ("put_object", {"path": "b", "text": "x"}),
                ("delete_objects", {"paths": ["a/one.txt"]}),
            ):
                failed, words = await call(there, tool, repository="demo", branch=branch, **given)
                assert failed, (tool, branch)
                assert "does not write to" in words
            failed, words = await call(there, "load_rows", pool="logs", branch=branch, rows=[{"ts": 1}])
            assert failed, branch
        own = {"repository": "demo", "branch": made["branch"]}
        assert await call(there, "put_object", **own, path="b", text="ß") == (False, {"path": "b", "size": 2})
        assert await call(there, "put_object", **own, path="c", base64="/w==") == (False, {"path": "c", "size": 1})
        assert await call(there, "read_object", repository="demo", ref=made["branch"], path="c") == (
            False,
            {"size": 1, "start": 0, "base64": "/w=="},
        )
        assert await call(there, "delete_objects", **own, paths=["a/one.txt"]) == (False, {"deleted": ["a/one.txt"]})
        main = there.lake.repository("demo").ref("main")
        assert [each.path async for each in main.list()] == ["a/one.txt"]

    run(play())


def test_an_agent_proposes() -> None:
    async def play() -> None:
        there = await agent()
        _, own = await call(there, "start_branch", repository="demo")
        failed, words = await call(there, "propose", **own, title="Nothing")
        assert failed
        assert "changes nothing" in words
        await call(there, "put_object", **own, path="b", text="x")
        failed, made = await call(there, "propose", **own, title="Add b", description="because")
        assert not failed
        found = await there.lake.repository("demo").pull(made["pull_request"]).show()
        assert (found.title, found.source, found.target) == ("Add b", own["branch"], "main")
        assert [each.path async for each in there.lake.repository("demo").ref("main").list()] == ["a/one.txt"]
        failed, words = await call(there, "propose", repository="demo", branch="main", title="Mine")
        assert failed
        assert "does not write to" in words
        _, pool = await call(there, "start_branch", repository="logs")
        await call(there, "load_rows", pool="logs", branch=pool["branch"], rows=[{"ts": 1}])
        failed, made = await call(there, "propose", **pool, title="A row")
        assert not failed, made

    run(play())


def test_an_agent_loads_and_queries() -> None:
    async def play() -> None:
        there = await agent()
        _, made = await call(there, "start_branch", repository="logs")
        _, done = await call(there, "load_rows", pool="logs", branch=made["branch"], rows=[{"ts": 1}, {"ts": 2}])
        assert done["rows"] == 2
        text = f"from logs@{made['branch']} | sort ts"
        assert await call(there, "query", query=text) == (False, {"rows": [{"ts": 1}, {"ts": 2}], "more": False})
        assert await call(there, "query", query=text, limit=1) == (False, {"rows": [{"ts": 1}], "more": True})
        failed, words = await call(there, "query", query="from logs | load logs")
        assert failed
        assert "may only read" in words
        failed, words = await call(there, "query", query="from logs | nonsense(")
        assert failed
        assert "nonsense" in words

    run(play())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "missing required field `repository`"),
        ({"repository": "demo", "branch": "agent.ann.x", "path": "b"}, "as text or as base64"),
        (
            {"repository": "demo", "branch": "agent.ann.x", "path": "b", "text": "", "base64": ""},
            "as text or as base64",
        ),
        ({"repository": "demo", "branch": "agent.ann.x", "path": "b", "base64": "?"}, "base64"),
        ({"repository": "demo", "branch": "agent.ann.x", "path": "b", "text": "x", "no": 1}, "unknown field `no`"),
        ({"repository": "demo", "branch": "agent.ann.x", "path": "b", "text": "x"}, "agent.ann.x"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    async def play() -> None:
        failed, said = await call(await agent(), "put_object", **arguments)
        assert failed
        assert words in said

    run(play())


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"nonsense", -32700),
        (b"\xff", -32700),
        (b"[" * 5_000, -32700),
        (b"[]", -32600),
        (b"{}", -32600),
        (b'{"method": "ping", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "method": 3, "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "method": "resources/list", "id": 1}', -32601),
        (b'{"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": {"name": "rm"}}', -32602),
        (b'{"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": {"name": []}}', -32602),
    ],
)
def test_what_is_no_request_is_an_error(message: bytes, code: int) -> None:
    async def play() -> None:
        answered = await answer(await agent(), message)
        assert answered is not None
        assert json.loads(answered)["error"]["code"] == code

    run(play())


@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "list_repositories"}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
    ],
)
def test_what_wants_no_answer_gets_none(message: bytes) -> None:
    async def play() -> None:
        assert await answer(await agent(), message) is None

    run(play())


def test_no_two_users_share_their_branches() -> None:
    users = ["ann", "anna", "ann.", "ann.x", "Ann", "ann@example.org", "änn", "x" * 200, "X", ""]
    prefixes = [own_prefix(user) for user in users]
    assert len(set(prefixes)) == len(users)
    for user, prefix in zip(users, prefixes, strict=True):
        branch = new_branch(user, "a topic / with ../ everything" * 9, "0123456789")
        check_own(user, branch)
        assert [each for each in prefixes if branch.startswith(each)] == [prefix]


def test_a_pipe_has_a_message_on_each_line() -> None:
    long = b"x" * (MESSAGE_BYTES_MAX + 5)
    incoming, outgoing = io.BytesIO(b"one\n\n" + long + b"\nquiet\ntwo"), io.BytesIO()
    serve_pipe(incoming, outgoing, lambda data: None if data == b"quiet\n" else b"<" + data.strip() + b">")
    first, error, last = outgoing.getvalue().splitlines()
    assert (first, last) == (b"<one>", b"<two>")
    assert json.loads(error)["error"]["code"] == -32600
