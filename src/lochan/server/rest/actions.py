"""Handles runs of hooks, as the published client knows them. Hook files, runs by hand and signing secrets have their
own routes, from the table of verbs."""

from __future__ import annotations

from datetime import datetime

import msgspec
from starlette.responses import Response

from lochan.api.hooks import HookResult, HookRunInfo
from lochan.formats.hook_run import PASSED, SKIPPED
from lochan.server.api.errors import HttpError
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import AMOUNT, Amount, page_limit, pagination
from lochan.server.rest.wire import Pagination, WireValue

RESOURCE = Resource("actions")

_RUNS = "/repositories/{repository}/actions/runs"
_RUN = f"{_RUNS}/{{run_id}}"
_FINE = (PASSED, SKIPPED)


class ActionRun(WireValue, frozen=True, kw_only=True):
    run_id: str
    branch: str
    start_time: datetime
    end_time: datetime
    event_type: str
    status: str  # completed, failed
    commit_id: str


class ActionRunList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[ActionRun]


class WireHookRun(WireValue, frozen=True, kw_only=True):
    hook_run_id: str
    action: str
    hook_id: str
    start_time: datetime
    end_time: datetime
    status: str


class WireHookRunList(WireValue, frozen=True, kw_only=True):
    pagination: Pagination
    results: list[WireHookRun]


class HookRunsQuery(msgspec.Struct, frozen=True):
    after: str = ""
    amount: Amount = AMOUNT

    @property
    def limit(self) -> int:
        return page_limit(self.amount)


class ActionRunsQuery(HookRunsQuery, frozen=True):
    branch: str = ""
    commit: str = ""


@RESOURCE.operation("GET", _RUNS, {200: ActionRunList}, query=ActionRunsQuery)
async def list_repository_runs(call: RestCall) -> Answer:
    """List runs of hooks, the newest first; those about a `branch` or a `commit`."""
    query: ActionRunsQuery = call.query
    found: list[HookRunInfo] = []
    next = ""
    async for each in call.lake.repository(call.name("repository")).hook_runs(query.branch, after=query.after):
        if query.commit and each.commit != query.commit:
            continue
        if len(found) == query.limit:
            next = found[-1].id
            break
        found.append(each)
    return ActionRunList(pagination=pagination(len(found), next), results=[_run(each) for each in found])


@RESOURCE.operation("GET", _RUN, {200: ActionRun})
async def get_run(call: RestCall) -> Answer:
    """Get a run of hooks."""
    return _run(await _find_run(call))


@RESOURCE.operation("GET", f"{_RUN}/hooks", {200: WireHookRunList}, query=HookRunsQuery)
async def list_run_hooks(call: RestCall) -> Answer:
    """List what each hook of a run came to."""
    query: HookRunsQuery = call.query
    results = (await _find_run(call)).results
    begin = _number(query.after) + 1 if query.after else 0
    page = results[begin : begin + query.limit]
    next = str(begin + len(page) - 1) if begin + len(page) < len(results) else ""
    hooks = [_hook(number, each) for number, each in enumerate(page, begin)]
    return WireHookRunList(pagination=pagination(len(page), next), results=hooks)


@RESOURCE.operation("GET", f"{_RUN}/hooks/{{hook_run_id}}/output", {200: bytes}, media="application/octet-stream")
async def get_run_hook_output(call: RestCall) -> Answer:
    """Get why a hook of a run refused, and what it printed."""
    results, number = (await _find_run(call)).results, _number(call.name("hook_run_id"))
    if number >= len(results):
        raise HttpError(404, "the run has no such hook")
    hook = results[number]
    text = "\n".join(each for each in (hook.reason, hook.output) if each)
    return Response(text.encode(), media_type="application/octet-stream")


async def _find_run(call: RestCall) -> HookRunInfo:
    return await call.lake.repository(call.name("repository")).hook_run(call.name("run_id"))


def _number(text: str) -> int:
    """Returns the number of a hook, which is its place in the run."""
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise HttpError(404, "the run has no such hook")
    return int(text)


def _run(found: HookRunInfo) -> ActionRun:
    return ActionRun(
        run_id=found.id,
        branch=found.branch,
        start_time=found.started,
        end_time=found.ended,
        event_type=found.event,
        status="completed" if found.state == PASSED else "failed",
        commit_id=found.commit,
    )


def _hook(number: int, found: HookResult) -> WireHookRun:
    return WireHookRun(
        hook_run_id=str(number),
        action=found.name,
        hook_id=found.hook,
        start_time=found.started,
        end_time=found.ended,
        status="completed" if found.state in _FINE else "failed",
    )
