"""The layer that checks rights: a call that its user may not make is refused before anything happens, and items that
they may not see are left out of the result. The message is the same whether a thing is denied or does not exist."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from lochan.access import resources
from lochan.access.rights import Denied, Rights, VisibleObjects
from lochan.api.imports import ImportSource
from lochan.api.object_results import ObjectPage
from lochan.api.options import EngineOptions, QueryOptions
from lochan.api.repository import Repository
from lochan.api.verbs import Verb
from lochan.api.wrappers.proxy import HIDDEN, Passed, VerbCall
from lochan.api.wrappers.resources import SOURCES, AbsentRepository, CallResources, Right
from lochan.errors import NotFound, Refused

if TYPE_CHECKING:
    from lochan.access.open_access import OpenAccess
    from lochan.access.query_rights import SourceRead
    from lochan.access.requester import Requester


_OBJECTS = "objects "
_PAGES_MAX = 20  # how many pages that are hidden as a whole are skipped before an empty page is returned
_NAME_URLS = ("link", "rebuild", "create_repository", "create_pool")
_REMOTE = ("s3", "gs", "az")  # schemes of stores that are not on a disk of this machine
_FOLDER_MAX = 5_000  # how many objects of a folder are searched for one that is shown


class RightsGuard:
    """Checks the calls of one request. `arrived` is the boot-time clock, read after the request arrived: rights are
    judged by a state of the lake that is new enough for it (A1). `reads` are the sources that a query was allowed to
    read."""

    refuses = True

    def __init__(self, access: OpenAccess, requester: Requester, arrived: float) -> None:
        self._access = access
        self._requester = requester
        self._arrived = arrived
        self.reads: Sequence[SourceRead] = ()

    @asynccontextmanager
    async def around(self, call: VerbCall) -> AsyncIterator[Passed]:
        """Checks a call, and filters its result. Raises Denied, and Refused for a call about files of this machine."""
        about = CallResources(call)
        try:
            if not await self._allows(call, about):
                raise _denied_error(call)
            _check_local(call)
            _limit_engine(call)
            if any(each.endswith(f" {SOURCES}") for each in call.verb.needs):
                self._limit_query(call)
            yield _Filter(self, call, about).passed
        except NotFound as error:
            if await self._is_hidden(call):
                return  # answers as if it existed, and had nothing that they may see
            if error.among is not None and not (await self.rights()).allow_everything():
                error.among = None  # similar names might be hidden from the user
            raise

    async def _allows(self, call: VerbCall, about: CallResources) -> bool:
        """Returns whether the call is allowed. Raises NotFound if there is no such repository and the user may know
        that."""
        try:
            return await self.may(await about.rights(call.verb.needs))
        except AbsentRepository as absent:
            if await self.may([Right("fs:ListRepositories", resources.repository(absent.name))]):
                raise absent.error from None
            return False

    async def _is_hidden(self, call: VerbCall) -> bool:
        """Returns whether a list, which needs no rights of its own, is of a repository that does not exist. The user
        may not learn that."""
        verb, handle = call.verb, call.handle
        if verb.needs or not verb.shows or not isinstance(handle, Repository):
            return False
        if await self.may([Right("fs:ListRepositories", resources.repository(handle.name))]):
            return False
        try:
            await handle._session.repository(handle.name)
        except NotFound:
            return True
        return False

    async def may(self, needed: Sequence[Right]) -> bool:
        rights = await self.rights()
        return all(_allows(rights, each) for each in needed)

    async def rights(self) -> Rights:
        """Returns the user's rights, to be used before the next await."""
        return await self._access.rights(self._requester, self._arrived)

    def _limit_query(self, call: VerbCall) -> None:
        """Limits a query: it may read what its user may, and change nothing."""
        from lochan.access.query_rights import QueryRights

        permits = QueryRights(self._access, self._requester, self._arrived)
        self.reads = permits.read
        given = msgspec.structs.asdict(call.arguments["options"])
        call.arguments["options"] = QueryOptions(**{**given, "permits": permits, "reads_only": True})


class _Filter:
    """Removes from the result of a call what its user may not see."""

    def __init__(self, guard: RightsGuard, call: VerbCall, about: CallResources) -> None:
        self._guard = guard
        self._call = call
        self._about = about

    async def passed(self, value: Any) -> Any:
        shows = self._call.verb.shows
        if not shows:
            return value
        if not shows[0].startswith(_OBJECTS):
            return value if await self._guard.may(await self._about.rights(shows, value)) else HIDDEN
        refs = [await self._about.ref(each.removeprefix(_OBJECTS)) for each in shows]
        rights = await self._guard.rights()
        return await self._filter_objects(value, [VisibleObjects(rights, ref) for ref in refs])

    async def _filter_objects(self, value: Any, visible: Sequence[VisibleObjects]) -> Any:
        import pyarrow as pa

        if isinstance(value, ObjectPage):
            return await VisiblePage(visible[0], self._call).of(value)
        if hasattr(value, "path"):  # an object, or a change of one
            shown = all(each.below("") or each.each(pa.array([value.path]))[0].as_py() for each in visible)
            return value if shown else HIDDEN
        for each in visible:  # a table of objects or of changes
            if not each.below(""):
                value = value.filter(each.each(value.column("path")))
        return value


def _allows(rights: Rights, needed: Right) -> bool:
    if needed.below:
        return rights.allow_below(needed.action, needed.resource) is True
    return rights.allow(needed.action, needed.resource)


def _denied_error(call: VerbCall) -> Denied:
    """Returns an error whose words only repeat what the caller has given."""
    verb, handle = call.verb, call.handle
    where = getattr(handle, "repository_name", "") or getattr(handle, "name", "")
    return Denied(f"access to {f'`{where}`' if where else 'the lake'} is denied", hint=_needs(verb))


def _needs(verb: Verb) -> str:
    actions = dict.fromkeys(each.partition(" ")[0] for each in verb.needs)
    return f"{verb.noun}.{verb.name} needs {' and '.join(actions)}"


def _check_local(call: VerbCall) -> None:
    """Raises Refused for a call about files of this machine: a user of a server must not name them."""
    verb = call.verb
    given = call.arguments.get(verb.local) if verb.local else None
    several = given if isinstance(given, list | tuple) else (given,)
    is_file = any(_is_local(verb, each) for each in several)
    if verb.local == "*":
        raise Refused(
            f"{verb.noun}.{verb.name} is not served to users of a server",
            hint="open the lake itself, with its own keys",
        )
    if is_file:
        raise Refused(
            f"{verb.noun}.{verb.name} works on files of the machine that serves the lake",
            hint="send them by `lochan fs upload FILE REPO/PATH` or `lochan load POOL FILE`, or name files in a bucket",
        )


def _limit_engine(call: VerbCall) -> None:
    """Limits the caller's options of an engine to what the server allows; the options of a query are the server's
    own."""
    for name, given in call.arguments.items():
        if type(given) is EngineOptions:
            call.arguments[name] = given.within(call.handle._session.memory_bytes_max)


def _is_local(verb: Verb, given: object) -> bool:
    """Returns whether a value names a file of this machine: by its path, or by a URL that leads to no other machine."""
    if isinstance(given, ImportSource):
        return any(each and not _is_remote(each) for each in (given.url, given.inventory))
    if isinstance(given, str):
        return verb.name == "load" or (verb.name in _NAME_URLS and given != "" and not _is_remote(given))
    return isinstance(given, PathLike)


def _is_remote(url: str) -> bool:
    return url.partition("://")[0].lower() in _REMOTE


class VisiblePage:
    """A page of a list of objects, as a user may see it: without objects that they may not read, without folders that
    hold nothing else, and without the name of a hidden object as its end."""

    def __init__(self, visible: VisibleObjects, call: VerbCall) -> None:
        self._visible = visible
        self._call = call

    async def of(self, page: ObjectPage) -> ObjectPage:
        """Returns the page, or the next one of the same call that shows something."""
        prefix: str = self._call.arguments["prefix"]
        if self._visible.below(prefix):
            return page
        for _ in range(_PAGES_MAX):
            shown = await self._filter_page(page)
            if shown.objects or shown.prefixes or page.next is None or "after" not in self._call.arguments:
                break
            page = await self._page_after(page.next)
        last = max([each.path for each in shown.objects] + list(shown.prefixes), key=str.encode, default=page.next)
        return msgspec.structs.replace(shown, next=None if page.next is None else last)

    async def _filter_page(self, page: ObjectPage) -> ObjectPage:
        shown = self._visible_flags([each.path for each in page.objects])
        objects = tuple(each for each, is_shown in zip(page.objects, shown, strict=True) if is_shown)
        prefixes = tuple([each for each in page.prefixes if await self._shows_folder(each)])
        return ObjectPage(objects=objects, prefixes=prefixes, next=page.next)

    async def _shows_folder(self, prefix: str) -> bool:
        certain = self._visible.below(prefix)
        if certain is not None:
            return certain
        after: str | None = ""
        seen = 0
        while after is not None and seen < _FOLDER_MAX:
            page = await self._call.handle.list_page(prefix, after=after)
            if any(self._visible_flags([each.path for each in page.objects])):
                return True
            seen, after = seen + len(page.objects), page.next
        return after is not None

    async def _page_after(self, after: str) -> ObjectPage:
        arguments = {name: self._call.arguments[name] for name in ("prefix", "delimiter", "limit")}
        found: ObjectPage = await self._call.handle.list_page(**arguments, after=after)
        return found

    def _visible_flags(self, paths: Sequence[str]) -> list[bool]:
        found: list[bool] = self._visible.each(pa.array(paths, pa.string())).to_pylist()
        return found
