"""Selects the events of a subscription."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from lochan.formats.lake_events import UpkeepStarted
from lochan.versioning.names import fitting_paths

if TYPE_CHECKING:
    from lochan.formats.lake_events import EventFilter
    from lochan.journal.feed import EventLine

TURN = "subscriptions"  # the name of a server's turn at sending
PullTarget = Callable[[str, str], Awaitable[str]]  # from ids of a repository and a pull request to its target branch
_OF_BRANCHES = ("branch-created", "branch-deleted", "branch-restored", "branch-renamed")


async def is_wanted(line: EventLine, filter: EventFilter, target_of: PullTarget) -> bool:
    if line.type == UpkeepStarted.type and line.payload.get("task") == TURN:
        return False  # it records that events are being sent, and sending it would need another one
    if filter.types and not _fits(line.type, filter.types):
        return False
    if filter.prefix and not any(path.startswith(filter.prefix) for path in _paths(line.payload)):
        return False
    return not filter.branches or _fits(await _branch(line, target_of), filter.branches)


async def _branch(line: EventLine, target_of: PullTarget) -> str:
    """Returns the branch of an event, or an empty text if it has none."""
    payload = line.payload
    if line.type in _OF_BRANCHES:
        return str(payload["name"])
    if line.type == "pull-opened":
        return str(payload["target"])
    if line.type.startswith("pull-"):
        return await target_of(line.repository, str(payload["pull"]))
    return str(payload.get("branch") or "")


def _paths(payload: dict[str, Any]) -> Iterator[str]:
    for each in payload.get("puts") or ():
        if isinstance(each, dict) and isinstance(each.get("path"), str):
            yield each["path"]
    for each in payload.get("deletes") or ():
        if isinstance(each, str):
            yield each
    if isinstance(payload.get("path"), str):
        yield payload["path"]


def _fits(text: str, patterns: tuple[str, ...]) -> bool:
    return bool(text) and bool(fitting_paths([text], patterns))
