"""Creates, lists, deletes and merges branches of pools, and reverts commits on them. Logs, diffs and tags of a pool are
those of its repository, which has the same name."""

from __future__ import annotations

from typing import Literal

from lochan.api.results import BranchInfo, Commit
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import PageQuery, page_by_name
from lochan.server.rest.pools import CommitBody
from lochan.server.rest.wire import Pagination, WireRequest, WireValue

RESOURCE = Resource("pools")
_BRANCHES = "/pools/{pool}/branches"


class PoolBranchCreation(WireRequest, frozen=True, kw_only=True):
    name: str
    source: str = ""  # any ref; the default branch if empty


class PoolBranchList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[BranchInfo]


class PoolMerge(CommitBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    strategy: Literal["default", "source-wins", "dest-wins"] = "default"
    squash: bool = False


class PoolRevert(CommitBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ref: str
    parent: int = 1  # for a merge, the parent to compare with


@RESOURCE.operation("GET", _BRANCHES, {200: PoolBranchList}, query=PageQuery)
async def list_pool_branches(call: RestCall) -> Answer:
    """List the branches of a pool."""
    query: PageQuery = call.query
    found = call.lake.pool(call.name("pool")).branches(query.prefix, query.after)
    page, pagination = await page_by_name(found, lambda each: each.name, call.query)
    return {"pagination": pagination, "results": [each.as_json() for each in page]}


@RESOURCE.operation("POST", _BRANCHES, {201: BranchInfo}, body=PoolBranchCreation)
async def create_pool_branch(call: RestCall) -> Answer:
    """Create a branch of a pool. Nothing is copied."""
    wanted: PoolBranchCreation = call.body
    made = await call.lake.pool(call.name("pool")).create_branch(wanted.name, wanted.source, key=call.key)
    return await made.show()


@RESOURCE.operation("DELETE", f"{_BRANCHES}/{{branch}}", {204: None})
async def delete_pool_branch(call: RestCall) -> Answer:
    """Delete a branch of a pool."""
    await call.lake.pool(call.name("pool")).delete_branch(call.name("branch"), key=call.key)
    return None


@RESOURCE.operation("POST", f"{_BRANCHES}/{{branch}}/merge", {200: Commit}, body=PoolMerge)
async def merge_pool_branch(call: RestCall) -> Answer:
    """Bring what another branch, tag or commit has changed into a branch of a pool."""
    wanted: PoolMerge = call.body
    branch = call.lake.pool(call.name("pool")).branch(call.name("branch"))
    options = wanted.options(call.key)
    return await branch.merge(wanted.source, options, strategy=wanted.strategy, squash=wanted.squash)


@RESOURCE.operation("POST", f"{_BRANCHES}/{{branch}}/revert", {200: Commit}, body=PoolRevert)
async def revert_pool_commit(call: RestCall) -> Answer:
    """Take back what a commit has changed, by another commit on a branch of a pool."""
    wanted: PoolRevert = call.body
    branch = call.lake.pool(call.name("pool")).branch(call.name("branch"))
    return await branch.revert(wanted.ref, wanted.options(call.key), parent=wanted.parent)
