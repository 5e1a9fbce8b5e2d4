"""Handles repositories and their settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256

import msgspec
from starlette.responses import Response

from lochan.api.repository import PROTECTED
from lochan.api.results import ProtectionRule, RepositoryInfo
from lochan.api.retention import KeepRule
from lochan.server.api.errors import HttpError
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import PageQuery, page_by_name
from lochan.server.rest.wire import (
    BranchProtectionRule,
    GarbageCollectionRule,
    GarbageCollectionRules,
    RepositoryCreation,
    RepositoryList,
    RepositoryMetadataKeys,
    RepositoryMetadataSet,
    WireRepository,
)

RESOURCE = Resource("repositories")
_GC_RULES = "/repositories/{repository}/settings/gc_rules"


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
        async for each in call.lake.repositories(query.prefix, query.after):
            if query.search in each.name:
                yield each

    page, pagination = await page_by_name(found(), lambda each: each.name, query)
    results = [WireRepository.of(each, call.lake.url) for each in page]
    return RepositoryList(pagination=pagination, results=results)


@RESOURCE.operation("POST", "/repositories", {201: WireRepository}, query=CreateQuery, body=RepositoryCreation)
async def create_repository(call: RestCall) -> Answer:
    """Create a repository.

    Its bytes lie in the lake, and the answer has the real `storage_namespace`; the one that is given is ignored for the
    sake of clients. With `storage_id`, the name of a profile, it is a storage of the repository's own. A
    `bare` one has no commit and no branch until `restoreSubmit` or `restoreRefs` brings some.
    """
    wanted: RepositoryCreation = call.body
    if wanted.sample_data:
        raise HttpError(400, "in the body: `sample_data`: there is no sample data to fill a repository with")
    made = await call.lake.create_repository(
        wanted.name,
        default_branch=wanted.default_branch or "main",
        metadata=wanted.metadata,
        storage=wanted.storage_namespace if wanted.storage_id else None,
        credentials=wanted.storage_id,
        bare=call.query.bare,
        key=call.key,
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
    """Delete a repository. One that is read-only needs `force`."""
    await call.lake.repository(call.name("repository")).delete(force=call.query.force, key=call.key)
    return None


@RESOURCE.operation("GET", "/repositories/{repository}/metadata", {200: dict[str, str]})
async def get_repository_metadata(call: RestCall) -> Answer:
    """Get the metadata of a repository."""
    return dict((await call.lake.repository(call.name("repository")).show()).metadata)


@RESOURCE.operation("POST", "/repositories/{repository}/metadata", {201: None}, body=RepositoryMetadataSet)
async def set_repository_metadata(call: RestCall) -> Answer:
    """Set some of the metadata of a repository. The others stay."""
    await call.lake.repository(call.name("repository")).set_metadata(call.body.metadata, key=call.key)
    return None


@RESOURCE.operation("DELETE", "/repositories/{repository}/metadata", {204: None}, body=RepositoryMetadataKeys)
async def delete_repository_metadata(call: RestCall) -> Answer:
    """Remove some of the metadata of a repository. They need not be there."""
    await call.lake.repository(call.name("repository")).set_metadata({}, call.body.keys, key=call.key)
    return None


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
    headers={"If-Match": "the ETag of the rules that were read"},
)
async def set_branch_protection_rules(call: RestCall) -> Answer:
    """Replace the rules that protect branches: what fits a pattern takes no writes and no commits.

    With If-Match, only if the rules are still those that were read.
    """
    wanted: list[BranchProtectionRule] = call.body
    repository = call.lake.repository(call.name("repository"))
    expected = call.request.headers.get("if-match")
    before = await repository.protections()
    if expected is not None and expected != _etag([BranchProtectionRule(pattern=each.pattern) for each in before]):
        raise HttpError(412, "the rules have changed since they were read: read them again")
    known = {each.pattern: each for each in before}  # what exactly they block stays the same
    rules = {each.pattern: known.get(each.pattern) or _protection(each.pattern) for each in wanted}
    await repository.set_protections([*rules.values()], expected=before, key=call.key)
    return None


@RESOURCE.operation("GET", _GC_RULES, {200: GarbageCollectionRules})
async def get_gc_rules(call: RestCall) -> Answer:
    """Get for how many days branches keep what they showed. Rules that count commits, or keep them for ever, are shown
    by our own routes only."""
    rules = (await call.lake.repository(call.name("repository")).gc.rules()).rules
    if not rules:
        raise HttpError(404, "no retention rules are set")
    *branches, last = rules
    if last.pattern != "*" or not all(_is_in_days(each) for each in rules):
        raise HttpError(409, "there are rules that cannot be said in days alone: see `lochan gc rules show REPO`")
    return GarbageCollectionRules(
        default_retention_days=int(last.days),
        branches=[GarbageCollectionRule(branch_id=each.pattern, retention_days=int(each.days)) for each in branches],
    )


@RESOURCE.operation("PUT", _GC_RULES, {204: None}, body=GarbageCollectionRules)
async def set_gc_rules(call: RestCall) -> Answer:
    """Replace the rules for how many days branches keep what they showed. Other rules stay."""
    wanted: GarbageCollectionRules = call.body
    given = [(each.branch_id, each.retention_days) for each in wanted.branches]
    rules = [KeepRule(pattern=name, days=days) for name, days in (*given, ("*", wanted.default_retention_days))]
    await _set_rules(call, rules)
    return None


@RESOURCE.operation("DELETE", _GC_RULES, {204: None})
async def delete_gc_rules(call: RestCall) -> Answer:
    """Remove the rules for how long branches keep what they showed: all of it stays."""
    await _set_rules(call, [])
    return None


async def _set_rules(call: RestCall, rules: list[KeepRule]) -> None:
    gc = call.lake.repository(call.name("repository")).gc
    await gc.set_rules(msgspec.structs.replace(await gc.rules(), rules=tuple(rules)), key=call.key)


def _is_in_days(rule: KeepRule) -> bool:
    return not rule.forever and not rule.commits and rule.days == int(rule.days)


def _protection(pattern: str) -> ProtectionRule:
    return ProtectionRule(pattern=pattern, blocked=PROTECTED)


async def _rules(call: RestCall) -> list[BranchProtectionRule]:
    found = await call.lake.repository(call.name("repository")).protections()
    return [BranchProtectionRule(pattern=each.pattern) for each in found]


def _etag(rules: list[BranchProtectionRule]) -> str:
    return f'"{sha256(msgspec.json.encode(sorted(each.pattern for each in rules))).hexdigest()[:32]}"'
