"""Handles pull requests, as the published client knows them. Reviews, comments and checks have their own routes, from
the table of verbs."""

from __future__ import annotations

from typing import Literal

from starlette.responses import JSONResponse

from lochan.api.options import CommitOptions
from lochan.api.pull_request import PullRequest
from lochan.api.pull_results import PullRequestInfo, PullRequestSummary
from lochan.errors import PathsInTheWay
from lochan.server.api.errors import HttpError
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import PageQuery, pagination
from lochan.server.rest.wire import (
    MergeReference,
    PullRequestChanges,
    PullRequestCreation,
    PullRequestCreationResponse,
    PullRequestList,
    WirePullRequest,
)

RESOURCE = Resource("pulls")

_PULLS = "/repositories/{repository}/pulls"
_PULL = f"{_PULLS}/{{pull_request}}"
_STATUSES = {"closed": "ended"}  # the statuses of the published client; `closed` means whatever is no longer open


class PullsQuery(PageQuery, frozen=True):
    status: Literal["open", "closed", "merged", "all"] = "all"
    author: str = ""
    source: str = ""
    destination: str = ""


@RESOURCE.operation("GET", _PULLS, {200: PullRequestList}, query=PullsQuery)
async def list_pull_requests(call: RestCall) -> Answer:
    """List pull requests, the newest first. `status`: open, closed (merged or not), merged, or all; also by `author`,
    `source` and `destination`."""
    query: PullsQuery = call.query
    found: list[PullRequestSummary] = []
    several = call.lake.repository(call.name("repository")).pulls(
        _STATUSES.get(query.status, query.status),
        author=query.author,
        source=query.source,
        target=query.destination,
        after=query.after,
        texts=True,
    )
    next = ""
    async for each in several:
        if not each.id.startswith(query.prefix):
            continue
        if len(found) == query.limit:
            next = found[-1].id
            break
        found.append(each)
    return PullRequestList(pagination=pagination(len(found), next), results=[_wire(each) for each in found])


@RESOURCE.operation("POST", _PULLS, {201: PullRequestCreationResponse}, body=PullRequestCreation)
async def create_pull_request(call: RestCall) -> Answer:
    """Open a pull request."""
    wanted: PullRequestCreation = call.body
    made = await call.lake.repository(call.name("repository")).create_pull(
        wanted.source_branch,
        wanted.destination_branch,
        title=wanted.title,
        description=wanted.description,
        key=call.key,
    )
    return PullRequestCreationResponse(id=made.id)


@RESOURCE.operation("GET", _PULL, {200: WirePullRequest})
async def get_pull_request(call: RestCall) -> Answer:
    """Get a pull request."""
    return _wire(await _pull(call).show())


@RESOURCE.operation("PATCH", _PULL, {204: None}, body=PullRequestChanges)
async def update_pull_request(call: RestCall) -> Answer:
    """Change the title or the description of a pull request, close it, or open it again."""
    wanted: PullRequestChanges = call.body
    pull = _pull(call)
    if wanted.status == "merged":
        raise HttpError(400, "in the body: a pull request is merged by PUT …/merge, not by its status")
    if wanted.title is None and wanted.description is None and wanted.status is None:
        raise HttpError(400, "in the body: nothing was given to change")
    # Each is a separate change, with a key of its own.
    if wanted.title is not None or wanted.description is not None:
        await pull.update(title=wanted.title, description=wanted.description, key=call.key)
    if wanted.status is not None and (await pull.show()).status != wanted.status:
        key = f"{call.key}-status" if call.key else ""
        await (pull.close(key=key) if wanted.status == "closed" else pull.reopen(key=key))
    return None


@RESOURCE.operation("PUT", f"{_PULL}/merge", {200: MergeReference, 409: MergeReference})
async def merge_pull_request(call: RestCall) -> Answer:
    """Merge a pull request. Changes that are staged on the source are left alone."""
    try:
        made = await _pull(call).merge(CommitOptions(key=call.key), leave_staged=True)
    except PathsInTheWay as error:
        return JSONResponse({"message": error.message, "reference": ""}, 409)
    return MergeReference(reference=made.id)


def _pull(call: RestCall) -> PullRequest:
    return call.lake.repository(call.name("repository")).pull(call.name("pull_request"))


def _wire(found: PullRequestSummary | PullRequestInfo) -> WirePullRequest:
    return WirePullRequest(
        id=found.id,
        title=found.title,
        description=found.description or "",
        status=found.status,
        author=found.author,
        source_branch=found.source,
        destination_branch=found.target,
        creation_date=found.created,
        merged_commit_id=found.commit or None,
        closed_date=found.ended,
    )
