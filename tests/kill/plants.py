"""Bugs to plant into a child. Each is of a kind that somebody once shipped. The harness must catch every one."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

from lochan.errors import AlreadyExists
from lochan.failpoints import fp
from lochan.formats.record import SealedRecord
from lochan.formats.segment import Segment
from lochan.journal import group, rules, trim
from lochan.journal.append import Appender
from lochan.journal.journal import Journal
from lochan.store import local, local_files


def plant(name: str) -> None:
    if name:
        PLANTS[name]()


def _acknowledges_before_the_append() -> None:
    append = Appender.append
    pending: set[asyncio.Task[bool]] = set()

    async def early(self: Appender, sealed: SealedRecord, deadline: float, *, in_doubt: bool = False) -> bool:
        task = asyncio.create_task(append(self, sealed, deadline, in_doubt=in_doubt))
        pending.add(task)
        task.add_done_callback(pending.discard)
        return True

    _replace(Appender, "append", early)


def _links_before_writing() -> None:
    """The temporary file gets its final name first, and its bytes after that."""

    def create(self: local.LocalStore, path: str, data: bytes) -> None:
        name = self._writable(path)
        with self._temp(path) as file:
            if not self._publish(name, file.link):
                raise AlreadyExists(path)
            file.write(data)
            fp("local.temp_written")
            file.seal()
            fp("local.after_temp_sync")

    _replace(local.LocalStore, "put_if_absent_now", create)


def _skips_writing() -> None:
    """Sometimes the bytes are not written, as on a full disk whose error was ignored."""
    write = local_files.TemporaryFile.write
    written = count(1)

    def skipping(self: local_files.TemporaryFile, data: bytes) -> None:
        if next(written) % 4:
            write(self, data)

    _replace(local_files.TemporaryFile, "write", skipping)


def _creates_over_what_is_there() -> None:
    """Put-if-absent that is a plain put."""

    def link(self: local_files.TemporaryFile, final: bytes) -> None:
        with suppress(FileNotFoundError):
            os.unlink(final)  # noqa: PTH108
        os.link(self._name, final)

    _replace(local_files.TemporaryFile, "link", link)


def _deletes_slots_before_the_segment() -> None:
    put_segment = trim.Trimmer._put_segment

    async def reversed_order(self: trim.Trimmer, segment: Segment) -> None:
        for number in range(segment.first, segment.first + len(segment.records)):
            await self._slots.delete_many([number])
        await put_segment(self, segment)

    _replace(trim.Trimmer, "_put_segment", reversed_order)


def _forgets_keys() -> None:
    _replace(rules.JournalRules, "checks_keys_at_append", lambda self: False)
    _replace(rules.JournalRules, "checks_keys_in_fold", lambda self: False)


def _checkpoints_what_is_not_folded() -> None:
    """The state is kept under the number of a record that is not in it."""

    async def ahead(self: Journal) -> int:
        state = self.schema.empty(self.journal)
        last = self.tail.state
        async for sealed in self.records():
            if sealed.record.number < last.number:
                state.fold(sealed)
        state.number, state.digest = last.number, last.digest
        await self.checkpoints.write(state.checkpoint())
        return state.number

    _replace(Journal, "checkpoint", ahead)


def _names_a_repository_before_it_is_opened() -> None:
    submit = Journal.submit
    late: dict[str, tuple[Journal, group.AppendRequest]] = {}

    async def other_order(self: Journal, request: group.AppendRequest) -> Any:
        who = request.actor.source
        if self.journal != "_lake":
            late[who] = self, request
            return None
        result = await submit(self, request)
        if who in late:
            fp("repository.named")
            await submit(*late.pop(who))
        return result

    _replace(Journal, "submit", other_order)


def _replace(owner: type, name: str, by: Callable[..., Any]) -> None:
    assert hasattr(owner, name), f"{owner.__name__} has no {name} any more, and nothing was planted"
    setattr(owner, name, by)


PLANTS: dict[str, Callable[[], None]] = {
    "acknowledges before the append": _acknowledges_before_the_append,
    "links before writing": _links_before_writing,
    "skips writing": _skips_writing,
    "creates over what is there": _creates_over_what_is_there,
    "deletes slots before the segment": _deletes_slots_before_the_segment,
    "forgets keys": _forgets_keys,
    "checkpoints what is not folded": _checkpoints_what_is_not_folded,
    "names a repository before it is opened": _names_a_repository_before_it_is_opened,
}
