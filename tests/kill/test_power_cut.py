"""A power cut on a local disk may lose what was not synced, but nothing that was acknowledged."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from lochan import failpoints
from lochan.access.state import AccessState
from lochan.formats.lake_events import RepositoryCreated
from lochan.formats.record import Actor
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal, Settings
from lochan.journal.rules import JournalRules
from lochan.journal.slots import ObjectSlots
from lochan.journal.state import Schema
from lochan.store.folders import Folders
from lochan.store.local import LocalStore
from lochan.store.local_files import TemporaryFile
from lochan.versioning.repositories import Repositories
from tests.kill.disk import Disk, Remains, build
from tests.kill.oracle import Violation, check, check_answers, check_chain, check_state
from tests.kill.place import CLOCK, GROUP, IDS
from tests.kill.report import DONE, Answered, Line, SentRequest

_STATES_MIN = 100  # fewer, and nothing was lost in most of them


def test_what_was_acknowledged_survives(tmp_path: Path) -> None:
    assert _survives(tmp_path) >= _STATES_MIN


@pytest.mark.parametrize(
    "owner, name, instead",
    [
        pytest.param(Folders, "sync", lambda self, fd, name: None, id="the folder is not synced"),
        pytest.param(Folders, "_sync_chain", lambda self, folder: None, id="the folders above are not synced"),
        pytest.param(TemporaryFile, "seal", lambda self: None, id="the file is not synced"),
    ],
)
def test_a_missing_sync_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, instead: Callable[..., Any]
) -> None:
    monkeypatch.setattr(owner, name, instead)
    with pytest.raises(Violation):
        _survives(tmp_path)


@pytest.mark.parametrize(
    "meanwhile",
    [
        "append",
        "trim",
        "checkpoint",
    ],
)
def test_another_process_builds_on_a_record_that_is_not_synced_yet(tmp_path: Path, meanwhile: str) -> None:
    """A writer has linked its record and not come to sync the folder, and another process has read it already. That one
    may link the next record before it syncs, so here the order of names in a folder must count."""
    disk = Disk(tmp_path / "lake")
    with disk.watched():
        asyncio.run(_work_behind(tmp_path / "lake", disk, meanwhile))
    _judge_all(tmp_path, disk, ordered=True)


async def _work_behind(folder: Path, disk: Disk, meanwhile: str) -> None:
    slow, quick = await _open(folder, create=True), await _open(folder)
    for index in range(GROUP - 2):
        await _send(slow, f"before-{index}", disk.note)
    linked, go_on = Event(), Event()

    def wait(name: str) -> None:
        if name == "local.after_link" and not linked.is_set():
            linked.set()
            go_on.wait()

    failpoints.arm(wait)
    try:
        sending = asyncio.create_task(_send(slow, "slow", disk.note))
        await asyncio.to_thread(linked.wait)
        await quick.fresh()
        match meanwhile:
            case "checkpoint":
                await quick.checkpoint()
            case "append":
                await _send(quick, "quick", disk.note)
            case "trim":
                await quick.trim()
        go_on.set()
        await sending
    finally:
        go_on.set()
        failpoints.arm(None)
        await slow.close()
        await quick.close()


def test_a_trimmer_deletes_no_slot_whose_segment_is_not_synced(tmp_path: Path) -> None:
    """Another trimmer has given the segment its name, and has not come to sync the folder: it can be seen, and lost."""
    disk = Disk(tmp_path / "lake")
    with disk.watched():
        asyncio.run(_trim_behind(tmp_path / "lake", disk))
    _judge_all(tmp_path, disk)


def test_a_slot_deleted_under_a_segment_that_is_not_synced_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JournalRules, "segments_are_synced", lambda self: False)
    disk = Disk(tmp_path / "lake")
    with disk.watched():
        asyncio.run(_trim_behind(tmp_path / "lake", disk))
    with pytest.raises(Violation):
        _judge_all(tmp_path, disk)


async def _trim_behind(folder: Path, disk: Disk) -> None:
    slow, quick = await _open(folder, create=True, trims=False), await _open(folder, trims=False)
    for index in range(GROUP):
        await _send(slow, f"before-{index}", disk.note)
    await slow.close()  # its checkpoint is written: what it links next is the segment
    linked, go_on = Event(), Event()

    def wait(name: str) -> None:
        if name == "local.after_link" and not linked.is_set():
            linked.set()
            go_on.wait()

    failpoints.arm(wait)
    try:
        trimming = asyncio.create_task(slow.trim())
        await asyncio.to_thread(linked.wait)
        assert (await quick.trim()).deleted == GROUP - 1
        go_on.set()
        await trimming
    finally:
        go_on.set()
        failpoints.arm(None)
        await quick.close()


def _survives(folder: Path) -> int:
    """Judges every folder that a power cut at any moment may leave; returns how many there were."""
    disk = Disk(folder / "lake")
    with disk.watched():
        asyncio.run(_work(folder / "lake", disk))
    return _judge_all(folder, disk)


def _judge_all(folder: Path, disk: Disk, *, ordered: bool = False) -> int:
    judged = 0
    for lines, remains in _all_cuts(disk, ordered):
        build(remains, folder / "after")
        try:
            asyncio.run(_judge(folder / "after", lines))
        except Exception as error:
            raise Violation(f"{error!r} with {sorted(map(os.fsdecode, remains))}") from error
        shutil.rmtree(folder / "after")
        judged += 1
    return judged


def _all_cuts(disk: Disk, ordered: bool) -> Iterator[tuple[list[Line], Remains]]:
    """Each different folder once for each state of the report."""
    seen = set()
    for moment in range(disk.moments + 1):
        reports = disk.noted(moment)
        for remains in disk.cut(moment, ordered=ordered):
            key = len(reports), frozenset(remains.items())
            if key not in seen:
                seen.add(key)
                yield reports, remains


async def _work(folder: Path, disk: Disk) -> None:
    """Nine records, three of them with several requests; checkpoints, and a trim in between and at the end."""
    journal = await _open(folder, create=True)
    for index, together in enumerate((1, 2, 1, 1, 3, 1, 1, 2, 1)):
        await asyncio.gather(*(_send(journal, f"{index}-{which}", disk.note) for which in range(together)))
        if index == 4:
            await journal.trim()
    await journal.trim()
    await journal.close()


async def _judge(folder: Path, reports: list[Line]) -> None:
    """The journal is whole, holds what was acknowledged, and takes more."""
    lines = list(reports)
    for request in ("first", "second"):
        journal = await _open(folder)
        history = [sealed async for sealed in journal.records()]
        check_chain(history)
        check_answers(history, lines)
        await check_state(journal, history)
        await _send(journal, f"after-{request}", lines.append)
        await journal.close()
    check(sum(isinstance(line, Answered) for line in lines) >= 2, "nothing more could be written")


async def _open(folder: Path, *, create: bool = False, trims: bool = True) -> Journal:
    store = LocalStore(str(folder), create=create)
    slots = ObjectSlots(store, "_lake", aged=False, group=GROUP)
    settings = Settings(writer="cut", patience_s=0.1, checkpoint_every=3, trims=trims)
    return await Journal.open("_lake", Schema(Repositories, AccessState), slots, store, CLOCK, IDS, settings)


async def _send(journal: Journal, request: str, note: Callable[[Line], None]) -> None:
    note(SentRequest(request, "create", f"repo-{request}", ""))
    created = RepositoryCreated(IDS.ksuid(CLOCK.wall()), f"repo-{request}", "files", "main")
    id = await journal.submit(AppendRequest(Actor("ada", "cut/1", request), lambda state: [created]))
    note(Answered(request, DONE, id))
