"""The tools that an agent can call: a table in which each tool is a few calls of the lake's verbs. An agent reads what
its key allows, writes to branches of its own (`own_branch.py`), and ends its work with a pull request, which people
review."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, NamedTuple

import msgspec

from lochan.api.lake import Lake
from lochan.api.options import EngineOptions
from lochan.errors import Invalid, NothingToDo
from lochan.mcp.own_branch import check_own, new_branch

FILES = "files"  # the kind of a repository that is no pool
ROWS_MAX = 1_000
READ_BYTES_MAX = 1 << 20
_Count = Annotated[int, msgspec.Meta(ge=1, le=ROWS_MAX)]
RunQuery = Callable[[Lake, str, int], Awaitable[list[Any]]]


@dataclass(frozen=True)
class AgentContext:
    """The user that the tools work for, and their lake."""

    lake: Lake  # the lake, with the rights of the user
    user: str
    run_query: RunQuery


class _Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class NoArguments(_Arguments):
    pass


class ListArguments(_Arguments):
    repository: str
    ref: Annotated[str, msgspec.Meta(description="A branch, tag or commit; default: the default branch")] = ""
    prefix: str = ""
    recursive: Annotated[bool, msgspec.Meta(description="Also list what is in the folders below")] = False
    after: Annotated[str, msgspec.Meta(description="The `next` of the page before")] = ""
    limit: _Count = 100


class ReadArguments(_Arguments):
    repository: str
    path: str
    ref: str = ""
    start: Annotated[int, msgspec.Meta(ge=0, description="The first byte")] = 0
    length: Annotated[int, msgspec.Meta(ge=1, le=READ_BYTES_MAX)] = 65_536


class QueryArguments(_Arguments):
    query: Annotated[
        str, msgspec.Meta(description="SQL, or a pipe such as: from logs | status >= 500 | count() by host")
    ]
    limit: _Count = 100


class LogArguments(_Arguments):
    repository: str
    ref: str = ""
    limit: _Count = 20


class DiffArguments(_Arguments):
    repository: str
    left: str
    right: str
    prefix: str = ""
    limit: _Count = 200


class StartArguments(_Arguments):
    repository: str
    topic: Annotated[str, msgspec.Meta(description="A word or two for the branch's name")] = ""
    source: Annotated[str, msgspec.Meta(description="What to begin at; default: the default branch")] = ""


class PutArguments(_Arguments):
    repository: str
    branch: Annotated[str, msgspec.Meta(description="A branch that start_branch has made")]
    path: str
    text: str | None = None
    base64: Annotated[str | None, msgspec.Meta(description="The bytes, instead of a text")] = None


class DeleteArguments(_Arguments):
    repository: str
    branch: str
    paths: Annotated[list[str], msgspec.Meta(min_length=1, max_length=ROWS_MAX)]


class LoadArguments(_Arguments):
    pool: str
    branch: str
    rows: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1, max_length=10_000)]
    message: str = ""


class ProposeArguments(_Arguments):
    repository: str
    branch: str
    title: Annotated[str, msgspec.Meta(min_length=1)]
    description: str = ""
    target: Annotated[str, msgspec.Meta(description="Where it is to be merged; default: the default branch")] = ""


async def list_repositories(agent: AgentContext, given: NoArguments) -> Any:
    """List the repositories (files) and pools (records) of the lake that you may see."""
    return [{"name": each.name, "kind": each.kind} async for each in agent.lake.repositories()]


async def list_objects(agent: AgentContext, given: ListArguments) -> Any:
    """List the objects below a prefix of a repository, and the folders there."""
    page = (
        await agent.lake.repository(given.repository)
        .ref(given.ref)
        .list_page(given.prefix, delimiter="" if given.recursive else "/", after=given.after, limit=given.limit)
    )
    objects = [{"path": each.path, "size": each.size, "modified": each.mtime} for each in page.objects]
    return {"objects": objects, "folders": page.prefixes, "next": page.next}


async def read_object(agent: AgentContext, given: ReadArguments) -> Any:
    """Read an object, or a part of it: as text where it is UTF-8, otherwise as base64."""
    ref = agent.lake.repository(given.repository).ref(given.ref)
    size = (await ref.stat(given.path)).size
    stop = min(size, given.start + given.length)
    data = await ref.read(given.path, given.start, stop) if given.start < stop else b""
    return {"size": size, "start": given.start, **_content(data)}


def _content(data: bytes) -> dict[str, str]:
    """Returns the bytes as text, or as base64 if they are not UTF-8. A part may begin or end within a character; then
    it is base64."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


async def query(agent: AgentContext, given: QueryArguments) -> Any:
    """Query pools, files (`from 'repository@ref/path/*.parquet'`) and metadata. Nothing is changed."""
    rows = await agent.run_query(agent.lake, given.query, given.limit + 1)
    return {"rows": rows[: given.limit], "more": len(rows) > given.limit}


async def log(agent: AgentContext, given: LogArguments) -> Any:
    """Show the history of a ref, the newest commit first."""
    commits = []
    async for each in agent.lake.repository(given.repository).ref(given.ref).log():
        commits.append(each.as_json())
        if len(commits) == given.limit:
            break
    return commits


async def diff(agent: AgentContext, given: DiffArguments) -> Any:
    """Compare two refs of a repository: which paths were added, changed or removed from left to right."""
    ref = agent.lake.repository(given.repository).ref(given.left)
    count = await ref.diff_count(given.right, prefix=given.prefix)
    changes = []
    async for each in ref.diff(given.right, prefix=given.prefix):
        changes.append({"path": each.path, "kind": each.kind})
        if len(changes) == given.limit:
            break
    return {"count": count.as_json(), "changes": changes}


async def start_branch(agent: AgentContext, given: StartArguments) -> Any:
    """Make a branch of your own to work on. You can write to no other."""
    name = new_branch(agent.user, given.topic, agent.lake.new_key())
    await agent.lake.repository(given.repository).create_branch(name, given.source)
    return {"repository": given.repository, "branch": name}


async def put_object(agent: AgentContext, given: PutArguments) -> Any:
    """Write an object to your branch, as text or as base64. It is committed when you propose the branch."""
    check_own(agent.user, given.branch)
    branch = agent.lake.repository(given.repository).branch(given.branch)
    done = await branch.put(given.path, _given_bytes(given))
    return {"path": done.path, "size": done.size}


def _given_bytes(given: PutArguments) -> bytes:
    """Returns the bytes to write. Raises Invalid."""
    if (given.text is None) == (given.base64 is None):
        raise Invalid("an object is given as text or as base64", hint="give one of the two")
    if given.text is not None:
        try:
            return given.text.encode()
        except UnicodeEncodeError:
            raise Invalid(
                "the text has a character that is none: half of a surrogate pair", hint="use base64"
            ) from None
    try:
        return b64decode(given.base64 or "", validate=True)
    except (NotBase64, ValueError) as error:
        raise Invalid(f"base64: {error}", hint="give the bytes in standard base64, or a text") from None


async def delete_objects(agent: AgentContext, given: DeleteArguments) -> Any:
    """Delete objects on your branch."""
    check_own(agent.user, given.branch)
    branch = agent.lake.repository(given.repository).branch(given.branch)
    return {"deleted": await branch.delete(*given.paths)}


async def load_rows(agent: AgentContext, given: LoadArguments) -> Any:
    """Load records into your branch of a pool, in one commit."""
    check_own(agent.user, given.branch)
    done = await agent.lake.pool(given.pool).load(given.rows, given.message, branch=given.branch)
    return done.as_json()


async def propose(agent: AgentContext, given: ProposeArguments) -> Any:
    """Commit what is staged on your branch, and open a pull request for people to review."""
    check_own(agent.user, given.branch)
    repository = agent.lake.repository(given.repository)
    if (await repository.show()).kind == FILES:  # a pool stages nothing
        with suppress(NothingToDo):  # everything was committed before
            await repository.branch(given.branch).commit(given.title)
    changes = repository.ref(given.target).diff(given.branch, three_dot=True)
    if await anext(aiter(changes), None) is None:
        raise NothingToDo(f"{given.branch} changes nothing", hint="write to it with put_object or load_rows first")
    made = await repository.create_pull(given.branch, given.target, title=given.title, description=given.description)
    return {"repository": given.repository, "pull_request": made.id}


class Tool(NamedTuple):
    name: str
    call: Callable[[AgentContext, Any], Awaitable[Any]]
    arguments: type[_Arguments]
    reads_only: bool = True
    destroys: bool = False

    def described(self) -> dict[str, Any]:
        (schema,), parts = msgspec.json.schema_components([self.arguments])
        own = parts[self.arguments.__name__] if "$ref" in schema else schema
        return {
            "name": self.name,
            "description": " ".join((self.call.__doc__ or "").split()),
            "inputSchema": {key: value for key, value in own.items() if key != "title"},
            "annotations": {
                "readOnlyHint": self.reads_only,
                "destructiveHint": self.destroys,
                "openWorldHint": False,
            },
        }


def query_with(options: EngineOptions) -> RunQuery:
    """Runs queries as verbs of the lake. The rows are read on a thread: those behind a server wait for the loop."""

    async def run(lake: Lake, text: str, limit: int) -> list[Any]:
        result = await lake.query(text, options)
        return await asyncio.to_thread(_first_rows, result, limit)

    return run


def _first_rows(result: Any, limit: int) -> list[Any]:
    with result:
        return list(islice(result.rows(), limit))


TOOLS: Mapping[str, Tool] = {
    each.name: each
    for each in (
        Tool("list_repositories", list_repositories, NoArguments),
        Tool("list_objects", list_objects, ListArguments),
        Tool("read_object", read_object, ReadArguments),
        Tool("query", query, QueryArguments),
        Tool("log", log, LogArguments),
        Tool("diff", diff, DiffArguments),
        Tool("start_branch", start_branch, StartArguments, reads_only=False),
        Tool("put_object", put_object, PutArguments, reads_only=False),
        Tool("delete_objects", delete_objects, DeleteArguments, reads_only=False, destroys=True),
        Tool("load_rows", load_rows, LoadArguments, reads_only=False),
        Tool("propose", propose, ProposeArguments, reads_only=False),
    )
}
