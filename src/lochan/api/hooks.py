"""Hooks of a repository and their runs, as verbs return them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING

from lochan.api.results import Result, moment
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.session import Session
    from lochan.formats.hook_run import HookResultRecord, HookRunRecord
    from lochan.hooks.hook_file import HookFile


class HookInfo(Result, frozen=True, kw_only=True):
    file: str
    name: str  # the file's name
    id: str
    kind: str  # query, webhook, python
    events: tuple[str, ...]
    about: str  # the query, the address or the module


class HookResult(Result, frozen=True, kw_only=True):
    file: str
    name: str
    hook: str
    kind: str
    state: str  # passed, refused, failed; skipped in a dry run
    reason: str
    output: str
    started: datetime
    ended: datetime

    @classmethod
    def of(cls, found: HookResultRecord) -> HookResult:
        own = {name: getattr(found, name) for name in ("file", "name", "hook", "kind", "state", "reason", "output")}
        return cls(**own, started=moment(found.started), ended=moment(found.ended))


class HookRunInfo(Result, frozen=True, kw_only=True):
    id: str
    event: str
    state: str  # passed, failed
    branch: str  # the branch, or the tag
    commit: str
    base: str
    hooks_commit: str  # the commit that the hook files were read from
    user: str
    client: str
    source: str
    started: datetime
    ended: datetime
    manual: bool
    results: tuple[HookResult, ...]

    @classmethod
    def of(cls, run: HookRunRecord) -> HookRunInfo:
        own = {name: getattr(run, name) for name in _SAME}
        results = tuple(HookResult.of(each) for each in run.results)
        return cls(**own, started=moment(run.started), ended=moment(run.ended), results=results)


_SAME = ("id", "event", "state", "branch", "commit", "base", "hooks_commit", "user", "client", "source", "manual")


async def hooks_of(session: Session, name: str, branch: str) -> AsyncIterator[HookInfo]:
    async with session.opened(name) as repository:
        sets = await session.lake.hooks_of(repository).branch_files(branch or repository.repository.default_branch)
    for each in sets:
        for file in each.files:
            for info in infos(file):
                yield info


def infos(file: HookFile) -> list[HookInfo]:
    events = tuple(file.events)
    return [
        HookInfo(
            file=file.path,
            name=file.name,
            id=hook.id,
            kind=hook.kind,
            events=events,
            about=hook.query or hook.url or f"{hook.module}.{hook.function}",
        )
        for hook in file.hooks
    ]


def checked_file(text: str, path: str) -> list[HookInfo]:
    from lochan.hooks.hook_file import parse_hook_file

    return infos(parse_hook_file(text.encode(), path))


async def run_by_hand(session: Session, name: str, event: str, branch: str, dry_run: bool) -> HookRunInfo:
    from lochan.hooks.hook_file import EVENTS

    if event not in EVENTS:
        raise Invalid(f"there is no event {event!r}", hint=f"one of {', '.join(EVENTS)}")
    async with session.opened(name) as repository:
        gate = session.lake.hooks_of(repository)
        at = branch or repository.repository.default_branch
        return HookRunInfo.of(await gate.run_by_hand(event, at, session.actor, dry=dry_run))


async def runs_of(session: Session, name: str, branch: str, after: str) -> AsyncIterator[HookRunInfo]:
    from lochan.hooks.runs import list_runs

    async with session.opened(name) as repository:
        async for each in list_runs(repository.store, repository.repository.id, after):
            if not branch or each.branch == branch:
                yield HookRunInfo.of(each)


async def run_of(session: Session, name: str, id: str) -> HookRunInfo:
    from lochan.hooks.runs import get_run

    async with session.opened(name) as repository:
        return HookRunInfo.of(await get_run(repository.store, repository.repository.id, id))


async def secret_of(session: Session, name: str, url: str) -> str:
    from lochan.hooks.webhook import check_url, signing_secret

    check_url(url)
    found = await session.repository(name)
    return signing_secret(await session.lake.webhook_key(), found.id, url)
