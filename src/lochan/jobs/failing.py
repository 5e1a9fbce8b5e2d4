"""Why a task failed, as the same error that would have been raised here.

Spark hands on the text of an executor's error among a hundred lines of its own; so that text has a part which can be
found again.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from lochan import errors
from lochan.errors import LochanError, Refused

_RAISED = re.compile(r"^[\w.]*(?:Error|Exception|Failed|Exit): .*$", re.MULTILINE)  # of Python
_SAID = re.compile(r"lochan-said:([A-Za-z0-9+/=]+):")


class TaskFailed(Exception):
    """As an executor raises it."""


@contextmanager
def told() -> Iterator[None]:
    """Around what a task does."""
    try:
        yield
    except LochanError as error:
        said = base64.b64encode(msgspec.msgpack.encode([error.kind, error.message, error.hint])).decode()
        raise TaskFailed(f"{error} lochan-said:{said}:") from error


def explained(error: Exception) -> LochanError:
    """From what Spark raises."""
    if isinstance(error, LochanError):
        return error
    text = str(error)
    found = _SAID.search(text)
    if found is not None:
        kind, message, hint = msgspec.msgpack.decode(base64.b64decode(found[1]))
        return _kinds().get(kind, Refused)(message, hint=hint)
    _, lost, behind = text.partition("ExecutorLostFailure ")
    why = behind.partition("\n")[0].partition(" Reason: ")[2].strip().removesuffix(".")
    if lost and why:
        return Refused(
            f"Spark has failed: executors died with one and the same task, the last of them by: {why}",
            hint="nothing was changed; most often they lack memory: raise spark.executor.memory, or its overhead",
        )
    raised = _RAISED.findall(text.partition("\n\tat ")[0])
    why = raised[-1] if raised else text.strip().partition("\n")[0]
    return Refused(f"Spark has failed: {why}", hint="nothing was changed; see the log of Spark")


def _kinds() -> dict[str, type[LochanError]]:
    """Those that are made of a message and a hint alone."""
    every = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, LochanError)]
    return {each.kind: each for each in every if each.__init__ is LochanError.__init__}
