"""The layers that record: uses, for retention rules, and calls, for audits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast

from lochan.access.requester import Requester, address_of
from lochan.api.lake import Lake
from lochan.api.object_results import ObjectInfo
from lochan.api.wrappers.guard import RightsGuard
from lochan.api.wrappers.proxy import Layer, Passed, VerbCall, Wrapped
from lochan.api.wrappers.resources import SOURCES

# Arguments that identify the objects of a call. Others may contain secrets, or bytes.
_NAMES = (
    "repository",
    "name",
    "branch",
    "path",
    "paths",
    "prefix",
    "to",
    "source",
    "target",
    "ref",
    "user",
    "group",
    "policy",
    "id",
)

_PLACES = ("path", "prefix")
_NAMES_MAX = 2_000  # characters; a call may name a million paths


class Use(NamedTuple):
    """One use of something in a repository."""

    operation: str
    repository: str
    ref: str
    path: str
    size: int  # bytes of the object that was read or written
    error: BaseException | None
    about: str = ""  # the other names that the call was given


class AuditLine(NamedTuple):
    verb: str
    about: str  # the handle, and the names that the call was given
    error: BaseException | None
    is_noted: bool = False  # whether a use was noted too
    names: str = ""  # the names that the call was given, without the handle


class Noted:
    """Records every use. The sources of a query are recorded by the server, when its last row was sent."""

    refuses = False

    def __init__(self, note: Callable[[Use], None]) -> None:
        self._note = note

    @asynccontextmanager
    async def around(self, call: VerbCall) -> AsyncIterator[Passed]:
        size, error = 0, None

        async def passed(value: Any) -> Any:
            nonlocal size
            size += len(value) if isinstance(value, bytes) else value.size if isinstance(value, ObjectInfo) else 0
            return value

        try:
            yield passed
        except BaseException as raised:
            error = raised
            raise
        finally:
            if _is_noted(call):
                repository, ref = _place(call)
                path = call.arguments.get("path") or call.arguments.get("prefix") or ""
                self._note(Use(_name(call), repository, ref, str(path), size, error, _names(call, _PLACES)))


class Audited:
    """Records every call, including those that were denied."""

    refuses = False

    def __init__(self, write: Callable[[AuditLine], None]) -> None:
        self._write = write

    @asynccontextmanager
    async def around(self, call: VerbCall) -> AsyncIterator[Passed]:
        try:
            yield _identity
        except BaseException as error:
            self._write(_audit_line(call, error))
            raise
        self._write(_audit_line(call, None))


async def _identity(value: Any) -> Any:
    return value


def _name(call: VerbCall) -> str:
    return f"{call.verb.noun}.{call.verb.name}"


def _place(call: VerbCall) -> tuple[str, str]:
    """Returns the repository and the ref, which are empty for a call about the lake."""
    handle = call.handle
    if hasattr(handle, "repository_name"):
        return handle.repository_name, getattr(handle, "name", "")  # an upload has a path, and no ref
    return getattr(handle, "name", ""), str(call.arguments.get("branch", ""))


def _is_noted(call: VerbCall) -> bool:
    """Returns whether `Noted` records the call. The sources of a query are recorded when it has ended, and a call about
    no repository is no use of one."""
    return bool(_place(call)[0]) and not any(each.endswith(SOURCES) for each in call.verb.needs)


def _audit_line(call: VerbCall, error: BaseException | None) -> AuditLine:
    names = _names(call)
    about = f"{call.handle!r} {names}" if names else repr(call.handle)
    return AuditLine(_name(call), about, error, _is_noted(call), names)


def _names(call: VerbCall, left_out: Collection[str] = ()) -> str:
    given = {name: call.arguments[name] for name in _NAMES if name not in left_out and call.arguments.get(name)}
    return " ".join(f"{name}={value!r}" for name, value in given.items())[:_NAMES_MAX]


# The layers around a lake, in their one order: audit also sees what was denied, and nothing is called that was not
# allowed.


class Caller(NamedTuple):
    """The caller: the user, the program, and the source."""

    user: str
    client: str
    source: str
    arrived: float  # when the request came, by the boot clock (A1)
    author: str = ""  # the person that they claim to act for, which is not checked
    key: str = ""  # the id of the access key that they used
    limits: tuple[tuple[str, ...], ...] = ()  # the limits of their session

    @property
    def requester(self) -> Requester:
        return Requester(self.user, self.key, self.limits, address_of(self.source))


class ServedLake(NamedTuple):
    lake: Lake
    guard: RightsGuard


def serve_lake(
    lake: Lake, caller: Caller, note: Callable[[Use], None], audit: Callable[[AuditLine], None]
) -> ServedLake:
    """Returns the lake with the rights of the caller, in their name."""
    session = lake._session.acting_as(
        caller.user,
        caller.client,
        caller.source,
        caller.author,
        is_served=True,
        credentials=(caller.key, caller.limits),
    )
    guard = RightsGuard(session.lake.open_access(), caller.requester, caller.arrived)
    layers: tuple[Layer, ...] = (Audited(audit), Noted(note), guard)
    found: object = Wrapped(Lake(session), layers)
    return ServedLake(cast(Lake, found), guard)
