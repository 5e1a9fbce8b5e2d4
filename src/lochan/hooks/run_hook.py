"""Runs one hook for one event, and returns the result. It never raises an error of the hook: a hook that cannot be run
has failed, with the reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lochan.errors import LochanError, Retry
from lochan.formats import hook_run
from lochan.formats.hook_run import HookResultRecord
from lochan.hooks.hook_file import PYTHON, QUERY, REF_VERBS, Hook, HookFile
from lochan.hooks.python_hook import PythonLimits, run_module
from lochan.versioning.lineage import without_trace

if TYPE_CHECKING:
    from lochan.engines.query_context import QueryContext
    from lochan.formats.commit import Commit
    from lochan.formats.record import Actor
    from lochan.hooks.webhook import WebhookAnswer, WebhookRequest
    from lochan.versioning.open_repository import OpenRepository

_TEXT_MAX = 2_000
_ROWS_MAX = 16_000  # of the rows that a query shows, which are cut before
_SECOND = 1_000_000
_AGENT = "lochan-hooks"


class HookOptions(NamedTuple):
    """The settings for hooks, from the program that opened the lake."""

    allowed_hosts: tuple[str, ...] = ()
    python: PythonLimits = PythonLimits("")
    keep_days: float = 90.0


class HookLake(NamedTuple):
    """What hooks need of their lake."""

    queries: Callable[[], QueryContext]
    open_repository: Callable[[str], Awaitable[OpenRepository]]
    webhook_key: Callable[[], Awaitable[bytes]]
    options: HookOptions = HookOptions()


class HookEvent(NamedTuple):
    """What is about to happen, or has happened."""

    verb: str
    branch: str  # or the tag
    base: str
    commit_id: str
    commit: Commit | None
    actor: Actor
    source: str = ""  # of a merge: a commit; of a pull request: a branch
    pull: str = ""  # the id of a pull request

    @property
    def moves_a_head(self) -> bool:
        return self.verb not in REF_VERBS


class RunningHook(NamedTuple):
    file: HookFile
    hook: Hook


class _Outcome(NamedTuple):
    state: str
    reason: str = ""
    output: str = ""


_PASSED = _Outcome(hook_run.PASSED)


class HookRunner:
    def __init__(self, repository: OpenRepository, lake: HookLake) -> None:
        self._repository = repository
        self._lake = lake

    async def run(self, running: RunningHook, name: str, event: HookEvent, run: str) -> HookResultRecord:
        hook, started = running.hook, self._repository.clock.wall()
        try:
            done = await self._run(hook, name, event, run)
        except LochanError as error:
            done = _Outcome(hook_run.FAILED, _cut(f"{error.message} ({error.hint})" if error.hint else error.message))
        ended = self._repository.clock.wall()
        file = running.file
        return HookResultRecord(
            file.path, hook.id, hook.kind, done.state, done.reason, done.output, started, ended, file.name
        )

    async def _run(self, hook: Hook, name: str, event: HookEvent, run: str) -> _Outcome:
        if hook.kind == QUERY:
            return await self._query(hook, event)
        about = event_json(name, event, run, self._repository)
        if hook.kind == PYTHON:
            return await self._python(hook, {**about, "arguments": dict(hook.arguments)})
        return await self._webhook(hook, about)

    async def _query(self, hook: Hook, event: HookEvent) -> _Outcome:
        from lochan.hooks.query_hook import judge

        if event.commit is None:
            return _Outcome(hook_run.FAILED, "there is no commit to query")
        with without_trace():
            found = await judge(self._lake.queries(), self._repository, event.commit, hook.query, hook.timeout_s)
        if not found.rows:
            return _PASSED
        count = f"{'more than ' if found.more else ''}{found.rows} row{'' if found.rows == 1 else 's'}"
        reason = f"{hook.message} ({count})" if hook.message else f"the query has {count}, and must have none"
        return _Outcome(hook_run.REFUSED, _cut(reason), _cut(found.shown, _ROWS_MAX))

    async def _python(self, hook: Hook, about: dict[str, object]) -> _Outcome:
        from lochan.engines.duckdb.session import run_on_thread

        limits = self._lake.options.python
        said = await run_on_thread(lambda: run_module(limits, hook.module, hook.function, about, hook.timeout_s))
        if said.failed:
            return _Outcome(hook_run.FAILED, said.failed, _cut(said.output))
        if said.refusal is None:
            return _PASSED._replace(output=_cut(said.output))
        return _Outcome(hook_run.REFUSED, _cut(said.refusal), _cut(said.output))

    async def _webhook(self, hook: Hook, about: dict[str, object]) -> _Outcome:
        """Sends the event. It tries again if the receiver does not answer, or answers with a server error; never after
        a refusal."""
        from lochan.engines.duckdb.session import run_on_thread
        from lochan.hooks.webhook import send

        body = msgspec.json.encode(about)
        trouble = ""
        for _ in range(hook.retries + 1):
            request = await self.signed(hook, body)
            try:
                answer = await run_on_thread(partial(send, request, self._repository.clock.boot))
            except Retry as error:
                trouble = error.message
                continue
            if answer.status < 500:
                return _webhook_outcome(answer)
            trouble = f"the webhook has answered {answer.status}"
        return _Outcome(hook_run.FAILED, _cut(trouble))

    async def signed(self, hook: Hook, body: bytes) -> WebhookRequest:
        from lochan.hooks.webhook import WebhookRequest, signature, signing_secret

        key = await self._lake.webhook_key()
        secret = signing_secret(key, self._repository.repository.id, hook.url)
        now = self._repository.clock.wall() // _SECOND
        headers = {
            **dict(hook.headers),
            "Content-Type": "application/json",
            "User-Agent": _AGENT,
            "X-Lochan-Time": str(now),
            "X-Lochan-Signature": signature(secret, now, body),
        }
        return WebhookRequest(hook.url, body, headers, hook.timeout_s, self._lake.options.allowed_hosts)


def _webhook_outcome(answer: WebhookAnswer) -> _Outcome:
    text = _cut(answer.body.decode(errors="replace"))
    if 200 <= answer.status < 300:
        return _PASSED._replace(output=text)
    said = _cut(" ".join(text.split()), 300)
    return _Outcome(hook_run.REFUSED, f"the webhook has answered {answer.status}{said and ': '}{said}", text)


def event_json(name: str, event: HookEvent, run: str, repository: OpenRepository) -> dict[str, object]:
    """Returns what is sent to a webhook or a module. It contains no value of a row, and no path."""
    commit, about = event.commit, repository.repository
    return {
        "event": name,
        "run": run,
        "repository": about.name,
        "default_branch": about.default_branch,
        "branch": event.branch,
        "base": event.base,
        "commit": event.commit_id,
        "source": event.source,
        "pull_request": event.pull,
        "user": event.actor.user,
        "message": "" if commit is None else commit.message,
        "author": "" if commit is None else commit.author,
        "metadata": {} if commit is None else dict(commit.metadata),
    }


def _cut(text: str, most: int = _TEXT_MAX) -> str:
    """Shortens the text and replaces control characters, because it is shown on terminals."""
    plain = "".join(each if each.isprintable() or each == "\n" else " " for each in text)
    return plain if len(plain) <= most else f"{plain[:most]}…"
