"""Handles branches and tags."""

from __future__ import annotations

import msgspec
from starlette.responses import PlainTextResponse

from lochan.api.branch import Branch
from lochan.api.options import CommitOptions
from lochan.server.api.errors import HttpError
from lochan.server.rest.differences import DiffQuery, diff_page
from lochan.server.rest.operation import PLAIN_TEXT, Answer, Resource, RestCall
from lochan.server.rest.pages import PageQuery, page_by_name
from lochan.server.rest.wire import (
    BranchCreation,
    CherryPickCreation,
    CommitOverrides,
    DiffList,
    RefList,
    ResetCreation,
    RevertCreation,
    TagCreation,
    WireCommit,
    WireDiff,
    WireRef,
)

RESOURCE = Resource("branches")
TAGS = Resource("tags")

_BRANCHES = "/repositories/{repository}/branches"
_BRANCH = f"{_BRANCHES}/{{branch}}"
_TAGS = "/repositories/{repository}/tags"


class BranchesQuery(PageQuery, frozen=True):
    show_hidden: bool = False


class RefForceQuery(msgspec.Struct, frozen=True):
    force: bool = False


class HardResetQuery(msgspec.Struct, frozen=True):
    ref: str
    force: bool = False


@RESOURCE.operation("GET", _BRANCHES, {200: RefList}, query=BranchesQuery)
async def list_branches(call: RestCall) -> Answer:
    """List branches. Those that were created as hidden are left out unless `show_hidden` is true."""
    query: BranchesQuery = call.query
    repository = call.lake.repository(call.name("repository"))
    found = repository.branches(query.prefix, query.after, show_hidden=query.show_hidden)
    page, pagination = await page_by_name(found, lambda each: each.name, call.query)
    return RefList(pagination=pagination, results=[WireRef(id=each.name, commit_id=each.head) for each in page])


@RESOURCE.operation("POST", _BRANCHES, {201: PLAIN_TEXT}, body=BranchCreation)
async def create_branch(call: RestCall) -> Answer:
    """Create a branch. The answer is the id of its commit."""
    wanted: BranchCreation = call.body
    repository = call.lake.repository(call.name("repository"))
    made = await repository.create_branch(wanted.name, wanted.source, hidden=wanted.hidden, key=call.key)
    return PlainTextResponse(made.made_at, 201)


@RESOURCE.operation("GET", _BRANCH, {200: WireRef})
async def get_branch(call: RestCall) -> Answer:
    """Get a branch."""
    found = await _branch(call).show()
    return WireRef(id=found.name, commit_id=found.head)


@RESOURCE.operation("DELETE", _BRANCH, {204: None}, query=RefForceQuery)
async def delete_branch(call: RestCall) -> Answer:
    """Delete a branch, with what is staged on it."""
    await call.lake.repository(call.name("repository")).delete_branch(call.name("branch"), key=call.key)
    return None


@RESOURCE.operation("PUT", _BRANCH, {204: None}, body=ResetCreation)
async def reset_branch(call: RestCall) -> Answer:
    """Drop all that is staged on a branch, or what is staged at one path or below one prefix."""
    wanted: ResetCreation = call.body
    branch = _branch(call)
    if wanted.type == "reset":
        await branch.reset(key=call.key)
    elif not wanted.path:
        raise HttpError(400, f"in the body: `path` is needed for a reset of type {wanted.type!r}")
    elif wanted.type == "object":
        await branch.reset(paths=(wanted.path,), key=call.key)
    else:
        await branch.reset(prefix=wanted.path, key=call.key)
    return None


@RESOURCE.operation("PUT", f"{_BRANCH}/hard_reset", {204: None}, query=HardResetQuery)
async def hard_reset_branch(call: RestCall) -> Answer:
    """Move a branch to another commit, and drop what is staged on it."""
    await _branch(call).reset(call.query.ref, key=call.key)
    return None


@RESOURCE.operation("POST", f"{_BRANCH}/revert", {204: None}, body=RevertCreation)
async def revert_branch(call: RestCall) -> Answer:
    """Undo a commit by another one."""
    wanted: RevertCreation = call.body
    options = _options(call, wanted.commit_overrides)
    await _branch(call).revert(wanted.ref, options, parent=wanted.parent_number or 1)
    return None


@RESOURCE.operation("POST", f"{_BRANCH}/cherry-pick", {201: WireCommit}, body=CherryPickCreation)
async def cherry_pick(call: RestCall) -> Answer:
    """Repeat the changes of a commit on a branch."""
    wanted: CherryPickCreation = call.body
    options = _options(call, wanted.commit_overrides)
    made = await _branch(call).cherry_pick(wanted.ref, options, parent=wanted.parent_number or 1)
    return WireCommit.of(made)


@RESOURCE.operation("GET", f"{_BRANCH}/diff", {200: DiffList}, query=DiffQuery)
async def diff_branch(call: RestCall) -> Answer:
    """List what is staged on a branch; with a delimiter, folders that hold something staged count once."""
    query: DiffQuery = call.query
    staged = _branch(call).status(query.prefix, query.after)
    return await diff_page((WireDiff.of_object(each.path, each.kind, each.size) async for each in staged), query)


@TAGS.operation("GET", _TAGS, {200: RefList}, query=PageQuery)
async def list_tags(call: RestCall) -> Answer:
    """List tags."""
    query: PageQuery = call.query
    found = call.lake.repository(call.name("repository")).tags(query.prefix, query.after)
    page, pagination = await page_by_name(found, lambda each: each.name, call.query)
    return RefList(pagination=pagination, results=[WireRef(id=each.name, commit_id=each.commit) for each in page])


@TAGS.operation("POST", _TAGS, {201: WireRef}, body=TagCreation)
async def create_tag(call: RestCall) -> Answer:
    """Create a tag."""
    wanted: TagCreation = call.body
    made = await call.lake.repository(call.name("repository")).create_tag(wanted.id, wanted.ref, key=call.key)
    return WireRef(id=wanted.id, commit_id=made.made_at)


@TAGS.operation("GET", f"{_TAGS}/{{tag}}", {200: WireRef})
async def get_tag(call: RestCall) -> Answer:
    """Get a tag."""
    found = await call.lake.repository(call.name("repository")).show_tag(call.name("tag"))
    return WireRef(id=found.name, commit_id=found.commit)


@TAGS.operation("DELETE", f"{_TAGS}/{{tag}}", {204: None}, query=RefForceQuery)
async def delete_tag(call: RestCall) -> Answer:
    """Delete a tag."""
    await call.lake.repository(call.name("repository")).delete_tag(call.name("tag"), key=call.key)
    return None


def _branch(call: RestCall) -> Branch:
    return call.lake.repository(call.name("repository")).branch(call.name("branch"))


def _options(call: RestCall, overrides: CommitOverrides | None) -> CommitOptions:
    given = overrides or CommitOverrides()
    return CommitOptions(message=given.message, metadata=given.metadata, key=call.key)
