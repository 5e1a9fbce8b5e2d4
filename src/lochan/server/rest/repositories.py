"""Repositories, and their settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256

import msgspec
from starlette.responses import Response

from lochan.api.repository import PROTECTED
from lochan.api.results import RepositoryInfo
from lochan.server.api.errors import HttpError
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import PageQuery, page_by_name
from lochan.server.rest.wire import BranchProtectionRule, RepositoryCreation, RepositoryList, WireRepository

RESOURCE = Resource("repositories")


class RepositoriesQuery(PageQuery, frozen=True):
    search: str = ""


class CreateQuery(msgspec.Struct, frozen=True):
    bare: bool = False


class RepositoryForceQuery(msgspec.Struct, frozen=True):
    force: bool = False


@RESOURCE.operation("GET", "/repositories", {200: RepositoryList}, query=RepositoriesQuery)
async def list_repositories(call: RestCall) -> Answer:
    """List repositories."""
    query: RepositoriesQuery = call.query

    async def found() -> AsyncIterator[RepositoryInfo]:
        async for each in call.lake.repositories():
            if query.search in each.name:
                yield each

    page, pagination = await page_by_name(found(), lambda each: each.name, query)
    results = [WireRepository.of(each, call.lake.url) for each in page]
    return RepositoryList(pagination=pagination, results=results)


@RESOURCE.operation("POST", "/repositories", {201: WireRepository}, query=CreateQuery, body=RepositoryCreation)
async def create_repository(call: RestCall) -> Answer:
    """Create a repository.

    Its bytes lie in the lake: `storage_namespace` is accepted for the sake of clients, and the answer has the real one.
    """
    wanted: RepositoryCreation = call.body
    if call.query.bare:
        raise HttpError(400, "bare repositories are not supported: leave out `bare`")
    made = await call.lake.create_repository(
        wanted.name, default_branch=wanted.default_branch or "main", metadata=wanted.metadata, key=call.key
    )
    if wanted.read_only:
        await made.set_read_only()
    return WireRepository.of(await made.show(), call.lake.url, wanted.read_only)


@RESOURCE.operation("GET", "/repositories/{repository}", {200: WireRepository})
async def get_repository(call: RestCall) -> Answer:
    """Get a repository."""
    found = call.lake.repository(call.name("repository"))
    return WireRepository.of(await found.show(), call.lake.url, await found.is_read_only())


@RESOURCE.operation("DELETE", "/repositories/{repository}", {204: None}, query=RepositoryForceQuery)
async def delete_repository(call: RestCall) -> Answer:
    """Delete a repository."""
    await call.lake.repository(call.name("repository")).delete(key=call.key)
    return None


@RESOURCE.operation("GET", "/repositories/{repository}/metadata", {200: dict[str, str]})
async def get_repository_metadata(call: RestCall) -> Answer:
    """Get the metadata of a repository."""
    return dict((await call.lake.repository(call.name("repository")).show()).metadata)


@RESOURCE.operation("GET", "/repositories/{repository}/settings/branch_protection", {200: list[BranchProtectionRule]})
async def get_branch_protection_rules(call: RestCall) -> Answer:
    """Get the rules that protect branches. The answer's ETag is for `setBranchProtectionRules`."""
    rules = await _rules(call)
    return Response(msgspec.json.encode(rules), media_type="application/json", headers={"etag": _etag(rules)})


@RESOURCE.operation(
    "PUT",
    "/repositories/{repository}/settings/branch_protection",
    {204: None},
    body=list[BranchProtectionRule],
)
async def set_branch_protection_rules(call: RestCall) -> Answer:
    """Replace the rules that protect branches: what fits a pattern takes no writes and no commits.

    With If-Match, only if the rules are still those that were read.
    """
    wanted: list[BranchProtectionRule] = call.body
    repository = call.lake.repository(call.name("repository"))
    expected = call.request.headers.get("if-match")
    before = await _rules(call)
    if expected is not None and expected != _etag(before):
        raise HttpError(412, "the rules have changed since they were read: read them again")
    patterns = {each.pattern for each in wanted}
    for each in before:
        if each.pattern not in patterns:
            await repository.unprotect(each.pattern)
    for pattern in sorted(patterns - {each.pattern for each in before}):
        await repository.protect(pattern, PROTECTED)
    return None


async def _rules(call: RestCall) -> list[BranchProtectionRule]:
    found = await call.lake.repository(call.name("repository")).protections()
    return [BranchProtectionRule(pattern=each.pattern) for each in found]


def _etag(rules: list[BranchProtectionRule]) -> str:
    return f'"{sha256(msgspec.json.encode(sorted(each.pattern for each in rules))).hexdigest()[:32]}"'
