"""Handles commits, and what refs lead to: logs, diffs and merges."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Literal, cast

import msgspec
from starlette.responses import Response

from lochan.api.object_results import has_conflicts
from lochan.api.options import CommitOptions
from lochan.api.results import Commit
from lochan.errors import LochanError
from lochan.server.api.errors import HttpError
from lochan.server.rest.differences import DiffQuery, diff_page
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import AMOUNT, Amount, page_limit, pagination
from lochan.server.rest.wire import (
    CommitCreation,
    CommitList,
    DiffList,
    MergeBaseResult,
    MergeReference,
    MergeRequest,
    WireCommit,
    WireDiff,
)

RESOURCE = Resource("commits")
REFS = Resource("refs")

_REPOSITORY = "/repositories/{repository}"
_MERGE = f"{_REPOSITORY}/refs/{{sourceRef}}/merge/{{destinationBranch}}"


class CommitQuery(msgspec.Struct, frozen=True):
    source_metarange: str = ""


class LogQuery(msgspec.Struct, frozen=True):
    after: str = ""
    amount: Amount = AMOUNT
    objects: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    limit: bool = False
    first_parent: bool = False
    since: datetime | None = None
    stop_at: str = ""


class RefDiffQuery(DiffQuery, frozen=True):
    include_right_stats: bool = False
    type: Literal["two_dot", "three_dot"] = "three_dot"


@RESOURCE.operation(
    "POST",
    f"{_REPOSITORY}/branches/{{branch}}/commits",
    {201: WireCommit},
    query=CommitQuery,
    body=CommitCreation,
)
async def commit(call: RestCall) -> Answer:
    """Commit what is staged on a branch."""
    wanted: CommitCreation = call.body
    if call.query.source_metarange:
        raise HttpError(400, "source_metarange is not supported: stage the objects, or import them")
    date = None if wanted.date is None else _moment(wanted.date)
    options = CommitOptions(message=wanted.message, metadata=wanted.metadata or {}, date=date, key=call.key)
    branch = call.lake.repository(call.name("repository")).branch(call.name("branch"))
    return WireCommit.of(await branch.commit(options=options, allow_empty=wanted.allow_empty))


@RESOURCE.operation("GET", f"{_REPOSITORY}/commits/{{commitId}}", {200: WireCommit})
async def get_commit(call: RestCall) -> Answer:
    """Get a commit, by its id or by any other ref."""
    return WireCommit.of(await call.lake.repository(call.name("repository")).ref(call.name("commitId")).resolve())


@REFS.operation("GET", f"{_REPOSITORY}/refs/{{ref}}/commits", {200: CommitList}, query=LogQuery)
async def log_commits(call: RestCall) -> Answer:
    """List the commits behind a ref, the youngest first; with objects or prefixes, those that changed one of them."""
    query: LogQuery = call.query
    limit, found = page_limit(query.amount), list[Commit]()
    log = (
        call.lake.repository(call.name("repository"))
        .ref(call.name("ref"))
        .log(
            path=query.objects,
            prefix=query.prefixes,
            since=query.since,
            first_parent=query.first_parent,
            after=query.after,
        )
    )
    # The log is closed at once, because the next page continues where it is closed.
    async with aclosing(cast("AsyncGenerator[Commit, None]", log)) as commits:
        async for each in commits:
            if len(found) == limit:
                return _log_page(found, "" if query.limit else found[-1].id)
            found.append(each)
            if query.stop_at and each.id.startswith(query.stop_at):
                break
    return _log_page(found, "")


@REFS.operation("GET", f"{_REPOSITORY}/refs/{{leftRef}}/diff/{{rightRef}}", {200: DiffList}, query=RefDiffQuery)
async def diff_refs(call: RestCall) -> Answer:
    """List what differs between two refs; with a delimiter, folders that hold differences count once."""
    query: RefDiffQuery = call.query
    repository, right = call.lake.repository(call.name("repository")), call.name("rightRef")
    stats_at = None
    if query.include_right_stats:  # at one commit, whatever happens to the ref meanwhile
        right = (await repository.ref(right).resolve()).id
        stats_at = repository.ref(right)
    left, three_dot = repository.ref(call.name("leftRef")), query.type == "three_dot"
    changes = left.diff(right, prefix=query.prefix, three_dot=three_dot, after=query.after)
    return await diff_page((WireDiff.of(each) async for each in changes), query, stats_at)


@REFS.operation("POST", _MERGE, {200: MergeReference, 409: MergeReference}, body=MergeRequest)
async def merge_into_branch(call: RestCall) -> Answer:
    """Merge a ref into a branch. Changes that are staged on the source are left alone."""
    wanted: MergeRequest = call.body
    branch = call.lake.repository(call.name("repository")).branch(call.name("destinationBranch"))
    options = CommitOptions(message=wanted.message, metadata=wanted.metadata or {}, key=call.key)
    try:
        made = await branch.merge(
            call.name("sourceRef"),
            options,
            strategy=wanted.strategy or "default",
            squash=wanted.squash_merge,
            leave_staged=True,
        )
    except LochanError as error:
        if not has_conflicts(error):
            raise
        body = {"reference": "", "message": error.message}
        return Response(msgspec.json.encode(body), 409, media_type="application/json")
    return MergeReference(reference=made.id)


@REFS.operation("GET", _MERGE, {200: MergeBaseResult})
async def find_merge_base(call: RestCall) -> Answer:
    """Find the commit on which a merge of two refs would be computed."""
    repository = call.lake.repository(call.name("repository"))
    source, target = call.name("sourceRef"), call.name("destinationBranch")
    base = await repository.merge_base(source, target)
    return MergeBaseResult(
        source_commit_id=(await repository.ref(source).resolve()).id,
        destination_commit_id=(await repository.ref(target).resolve()).id,
        base_commit_id="" if base is None else base.id,
    )


def _log_page(found: list[Commit], next: str) -> CommitList:
    return CommitList(pagination=pagination(len(found), next), results=list(map(WireCommit.of, found)))


def _moment(seconds: int) -> datetime:
    """Returns the time. Raises 400."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        raise HttpError(400, f"in the body: `date` is no time in seconds since 1970: {seconds}") from None
