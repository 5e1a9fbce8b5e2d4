"""Defines `lochan companion start`, `status` and `stop`, which control the warm process behind light commands."""

import fcntl
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import click

from lochan.cli.companion import place, start
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import show_record, show_records
from lochan.errors import NotFound, Refused, Transient

_PATIENCE_S = 20.0
_PAUSE_S = 0.02


@click.group("companion", cls=LazyGroup)
def group() -> None:
    """Control the companion, a process that makes light commands quick."""


@group.verb("start", "lochan companion start")
def start_command(form: str) -> None:
    """Start a companion and wait until it is ready. Nothing happens if there is one already."""
    if place.folder(create=True) is None:
        raise Refused(
            "there is no folder that belongs to you alone, which a companion needs",
            hint="set XDG_RUNTIME_DIR to a folder of yours with mode 0700",
        )
    if not start.is_listening():
        os.waitpid(start.start(), 0)
        _until(start.is_listening, "the companion did not start")
    found = _own()
    if form == "json":
        show_record(found, form)
    else:
        click.echo("a companion is running")


@group.verb("status", "lochan companion status")
def status_command(form: str) -> None:
    """Show the companions of this user: one for each installed version that uses one."""
    show_records(_all(), form, columns=("pid", "version", "commands", "lakes", "memory", "package"))


@group.verb("stop", "lochan companion stop")
def stop_command(form: str) -> None:
    """Stop all companions of this user. Commands that are running are not disturbed."""
    stopped = _all()
    for each in stopped:
        try:
            os.kill(each["pid"], signal.SIGTERM)
        except ProcessLookupError:
            continue
    _until(lambda: not _all(), "a companion did not stop")
    if form == "json":
        show_record({"stopped": len(stopped)}, form)
    else:
        click.echo(f"stopped {len(stopped)} companion{'' if len(stopped) == 1 else 's'}")


def _own() -> dict[str, Any]:
    for each in _all():
        if each["package"] == place.package():
            return each
    raise NotFound("the companion has ended already")


def _all() -> list[dict[str, Any]]:
    folder = place.folder()
    notes = sorted(Path(folder).glob("companion-*.lock")) if folder is not None else []
    return [each for each in map(_read_note, notes) if each is not None]


def _read_note(file: Path) -> dict[str, Any] | None:
    """Returns a companion's note about itself, or None if the lock is free and so no companion runs."""
    from lochan.cli.companion.memory import resident_bytes

    with file.open() as note:
        try:
            fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            return None
        try:
            said: dict[str, Any] = json.loads(note.read())
            return {**said, "memory": resident_bytes(said["pid"])}
        except (ValueError, OSError):  # the companion is starting, or has just ended
            return None


def _until(condition: Any, message: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S  # noqa: TID251 - a person waits, and nothing in a lake depends on it
    while not condition():
        if time.monotonic() > deadline:  # noqa: TID251
            raise Transient(message, hint=f"look at the processes of {start.MODULE}")
        time.sleep(_PAUSE_S)
