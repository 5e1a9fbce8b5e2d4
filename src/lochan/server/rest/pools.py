"""Creates, lists, renames and drops pools, and loads, deletes and compacts their rows. Each change is one commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from lochan.api.options import CommitOptions, EngineOptions
from lochan.api.pool import Pool
from lochan.api.results import DeleteResult, LoadResult, PoolSummary, RepositoryInfo
from lochan.api.upkeep import CompactGroup, CompactOptions, CompactResult
from lochan.errors import NotFound
from lochan.server.rest.commit_headers import COMMIT_HEADERS, commit_options, plain_metadata
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import PageQuery, page_by_name
from lochan.server.rest.pool_rows import FORMATS, load_options
from lochan.server.rest.wire import Pagination, WireRequest, WireValue

RESOURCE = Resource("pools")
_POOL = "/pools/{pool}"
_ROWS = ", ".join(FORMATS)

BranchName = Annotated[str, msgspec.Meta(description="empty: the default branch")]


class PoolCreation(WireRequest, frozen=True, kw_only=True):
    name: str
    key: tuple[str, ...] = ()  # what rows are sorted by, such as `ts:time`, `id:desc`; the whole row if empty
    times: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    nulls: Literal["first", "last"] = "last"
    size_bytes: Annotated[int, msgspec.Meta(gt=0)] | None = None
    default_branch: str = "main"
    metadata: Mapping[str, str] = {}


class PoolList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[RepositoryInfo]


class PoolRename(WireRequest, frozen=True, kw_only=True):
    to: str


class CommitBody(WireRequest, frozen=True, kw_only=True):
    """What a request says about the commit that it makes."""

    message: str = ""
    author: str = ""
    metadata: Mapping[str, Any] = {}

    def options(self, key: str) -> CommitOptions:
        metadata = plain_metadata(self.metadata)
        return CommitOptions(message=self.message, author=self.author, metadata=metadata, key=key)


class BranchCommitBody(CommitBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    branch: str = ""  # the default branch if empty


class RowDeletion(BranchCommitBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    where: str  # an expression, such as `status < 400`


class ObjectDeletion(BranchCommitBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ids: list[str]


class PoolCompaction(BranchCommitBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ids: tuple[str, ...] = ()
    up_to: str = ""
    upkeep: bool = False
    engine: Literal["auto", "duckdb", "spark"] = "auto"

    @property
    def which(self) -> CompactOptions:
        return CompactOptions(ids=self.ids, up_to=self.up_to, upkeep=self.upkeep)


class HeadId(WireValue, frozen=True, kw_only=True):
    head: str


class LoadQuery(msgspec.Struct, frozen=True):
    branch: BranchName = ""
    format: Annotated[str, msgspec.Meta(description="instead of what Content-Type says")] = ""
    on_error: Literal["fail", "skip", "keep"] = "fail"
    row_tag: Annotated[str, msgspec.Meta(description="of XML: the elements that are rows")] = ""


class BranchQuery(msgspec.Struct, frozen=True):
    branch: BranchName = ""


@RESOURCE.operation("GET", "/pools", {200: PoolList}, query=PageQuery)
async def list_pools(call: RestCall) -> Answer:
    """List pools."""
    page, pagination = await page_by_name(call.lake.pools(), lambda each: each.name, call.query)
    return {"pagination": pagination, "results": [each.as_json() for each in page]}


@RESOURCE.operation("POST", "/pools", {201: RepositoryInfo}, body=PoolCreation)
async def create_pool(call: RestCall) -> Answer:
    """Create a pool."""
    wanted: PoolCreation = call.body
    made = await call.lake.create_pool(
        wanted.name,
        key=wanted.key,
        times=wanted.times,
        primary_key=wanted.primary_key,
        nulls=wanted.nulls,
        size_bytes=wanted.size_bytes,
        default_branch=wanted.default_branch,
        metadata=wanted.metadata,
        request_key=call.key,
    )
    return await made.show()


@RESOURCE.operation("GET", _POOL, {200: RepositoryInfo})
async def get_pool(call: RestCall) -> Answer:
    """Get a pool."""
    return await _pool_info(call)


@RESOURCE.operation("DELETE", _POOL, {204: None})
async def delete_pool(call: RestCall) -> Answer:
    """Drop a pool. It can be restored for a while."""
    await _pool_info(call)
    await _pool(call).delete(key=call.key)
    return None


@RESOURCE.operation("POST", f"{_POOL}/rename", {200: RepositoryInfo}, body=PoolRename)
async def rename_pool(call: RestCall) -> Answer:
    """Rename a pool."""
    wanted: PoolRename = call.body
    await _pool(call).rename(wanted.to, key=call.key)
    return await call.lake.pool(wanted.to).show()


@RESOURCE.operation("POST", f"{_POOL}/rows", {200: LoadResult}, query=LoadQuery, media=_ROWS, headers=COMMIT_HEADERS)
async def load_rows(call: RestCall) -> Answer:
    """Load rows, of the format that Content-Type names, or that the first bytes tell. The answer comes when they are
    durable.

    All of the body is loaded or nothing. Small loads that come within a moment of each other, with the same message,
    share a commit.
    """
    query: LoadQuery = call.query
    reading = load_options(call.request, query.format, query.on_error, query.row_tag)
    options = commit_options(call.request, call.key)
    body = call.request.stream()
    return await _pool(call).load(body, options=options, branch=query.branch, load_options=reading, shared=True)


@RESOURCE.operation("POST", f"{_POOL}/rows/delete", {200: DeleteResult}, body=RowDeletion)
async def delete_rows(call: RestCall) -> Answer:
    """Delete the rows for which an expression is true."""
    wanted: RowDeletion = call.body
    return await _pool(call).delete_rows(wanted.where, wanted.options(call.key), branch=wanted.branch)


@RESOURCE.operation("POST", f"{_POOL}/objects/delete", {200: HeadId}, body=ObjectDeletion)
async def delete_data_objects(call: RestCall) -> Answer:
    """Delete data objects by their ids, or the beginnings of these."""
    wanted: ObjectDeletion = call.body
    head = await _pool(call).delete_objects(wanted.ids, wanted.options(call.key), branch=wanted.branch)
    return HeadId(head=head)


@RESOURCE.operation("POST", f"{_POOL}/compact", {200: CompactResult}, body=PoolCompaction)
async def compact_pool(call: RestCall) -> Answer:
    """Merge data objects that overlap or are small. The rows stay the same."""
    wanted: PoolCompaction = call.body
    engine = EngineOptions(engine=wanted.engine)
    return await _pool(call).compact(wanted.which, wanted.options(call.key), engine, branch=wanted.branch)


@RESOURCE.operation("POST", f"{_POOL}/compact/try", {200: list[CompactGroup]}, body=PoolCompaction)
async def try_compact_pool(call: RestCall) -> Answer:
    """Get what a compaction would merge. Nothing is changed."""
    wanted: PoolCompaction = call.body
    return [each.as_json() for each in await _pool(call).try_compact(wanted.which, branch=wanted.branch)]


@RESOURCE.operation("GET", f"{_POOL}/summary", {200: PoolSummary}, query=BranchQuery)
async def get_pool_summary(call: RestCall) -> Answer:
    """Get what a branch holds: objects, rows, bytes, and the span of its keys."""
    return await _pool(call).summary(call.query.branch)


@RESOURCE.operation("GET", f"{_POOL}/fields", {200: list[str]})
async def get_pool_fields(call: RestCall) -> Answer:
    """Get the fields of the rows on the default branch."""
    return await _pool(call).fields()


def _pool(call: RestCall) -> Pool:
    return call.lake.pool(call.name("pool"))


async def _pool_info(call: RestCall) -> RepositoryInfo:
    """Returns the pool. Raises NotFound, also for a repository of files."""
    found = await _pool(call).show()
    if found.kind != "pool":
        raise NotFound(f"no pool {found.name!r} in this lake", hint="there is a repository of files of that name")
    return found
