"""Starts, shows and cancels imports. An import runs in the background of the server until it is done."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from lochan.api.branch import Branch
from lochan.api.imports import ImportSource
from lochan.api.options import CommitOptions
from lochan.api.repository import Repository
from lochan.api.results import Commit, moment
from lochan.api.wrappers.proxy import try_call
from lochan.clock import Clock
from lochan.errors import LochanError, NotFound
from lochan.ids import Ids
from lochan.server.api.errors import HttpError
from lochan.server.rest.import_tasks import ImportTask
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.wire import (
    ErrorMessage,
    ImportCreation,
    ImportCreationResponse,
    ImportLocation,
    ImportStatus,
    WireCommit,
)

RESOURCE = Resource("import")
_IMPORT = "/repositories/{repository}/branches/{branch}/import"


class ImportQuery(msgspec.Struct, frozen=True):
    id: str


@RESOURCE.operation("POST", _IMPORT, {202: ImportCreationResponse}, body=ImportCreation)
async def import_start(call: RestCall) -> Answer:
    """Start to import folders and files from outside the lake, without a copy, as one commit."""
    wanted: ImportCreation = call.body
    sources = [_source(each) for each in wanted.paths]
    options = CommitOptions(message=wanted.commit.message, metadata=wanted.commit.metadata or {}, key=call.key)
    repository = call.lake.repository(call.name("repository"))
    branch = repository.branch(call.name("branch"))
    await try_call(branch, "import_files", sources, options)
    await branch.show()
    clock = call.api.clock
    id = Ids().ksuid(clock.wall())
    found = ImportTask(_place(call), call.user, _now(clock))
    call.api.imports.start(id, found, _run(repository, branch, sources, options, found, clock))
    return ImportCreationResponse(id=id)


@RESOURCE.operation("GET", _IMPORT, {200: ImportStatus}, query=ImportQuery)
async def import_status(call: RestCall) -> Answer:
    """Get how far an import is."""
    found = _find(call)
    error, made = "", None
    if found.task.done():
        error, made = _outcome(found.task)
    return ImportStatus(
        completed=made is not None,
        update_time=found.updated,
        ingested_objects=found.files,
        metarange_id=None if made is None else made.tree,
        commit=None if made is None else WireCommit.of(made),
        error=ErrorMessage(message=error) if error else None,
    )


@RESOURCE.operation("DELETE", _IMPORT, {204: None}, query=ImportQuery)
async def import_cancel(call: RestCall) -> Answer:
    """Cancel an import. One that has ended cannot be cancelled."""
    found = _find(call)
    if found.task.done():
        raise HttpError(409, "the import has ended already")
    found.task.cancel()
    with suppress(asyncio.CancelledError, LochanError):
        await found.task
    return None


async def _run(
    repository: Repository,
    branch: Branch,
    sources: list[ImportSource],
    options: CommitOptions,
    found: ImportTask,
    clock: Clock,
) -> Commit:
    def progress(count: int) -> None:
        found.files += count
        found.updated = _now(clock)

    made = await branch.import_files(sources, options, progress=progress)
    found.updated = _now(clock)
    assert made.commit is not None, "it was not only tried"
    return await repository.ref(made.commit).resolve()


def _outcome(task: asyncio.Task[Commit]) -> tuple[str, Commit | None]:
    """Returns what went wrong, or the commit."""
    if task.cancelled():
        return "the import was cancelled", None
    error = task.exception()
    if error is None:
        return "", task.result()
    return (str(error) if isinstance(error, LochanError) else "the server has failed; its log says more"), None


def _source(wanted: ImportLocation) -> ImportSource:
    return ImportSource(wanted.path, wanted.destination, file=wanted.type == "object")


def _find(call: RestCall) -> ImportTask:
    """Returns the import. Raises NotFound, also for an import of another user."""
    found = call.api.imports.tasks.get(call.query.id)
    if found is None or found.user != call.user or found.place != _place(call):
        raise NotFound(f"no import {call.query.id!r} on this branch")
    return found


def _place(call: RestCall) -> tuple[str, str]:
    return call.name("repository"), call.name("branch")


def _now(clock: Clock) -> datetime:
    return moment(clock.wall()).astimezone(UTC)
