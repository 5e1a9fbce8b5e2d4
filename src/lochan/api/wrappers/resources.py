"""Finds the resources of a call, as policies name them, for the rights in the table of verbs."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lochan.access import resources
from lochan.api.ref import Ref
from lochan.api.repository import Repository
from lochan.api.workspace import Workspace
from lochan.api.wrappers.proxy import VerbCall
from lochan.errors import NotFound

if TYPE_CHECKING:
    from lochan.api.sign_ins import LoginSessionInfo
    from lochan.api.subscriptions import SubscriptionInfo
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.state.pulls import PullState

SOURCES = "sources"
LAKE_JOURNAL = "_lake"
_READ = "fs:ReadObject"
_PULL = "pull"
_OF_PULL = f"{{{_PULL}."
_REF = "ref"  # as a field of a handle: the ref itself, in its own repository
_SLOT = re.compile(r"\{([a-z_]+)(?:\.([a-z_]+))?(\??)\}")


class Right(NamedTuple):
    action: str
    resource: str
    below: bool = False  # whether it is about everything that begins with the resource


class AbsentRepository(Exception):
    """A call is about a repository that does not exist, so its refs are unknown."""

    def __init__(self, name: str, error: NotFound) -> None:
        super().__init__(name)
        self.name = name
        self.error = error


class CallResources:
    """The resources of one call. Refs are resolved once."""

    def __init__(self, call: VerbCall) -> None:
        self._call = call
        self._session = call.handle._session
        self._refs: dict[tuple[str, str], str] = {}

    async def rights(self, texts: Iterable[str], item: Any = None) -> list[Right]:
        """Returns the rights that the rows of a verb name for this call and an item of its result. Raises
        AbsentRepository."""
        found: list[Right] = []
        for text in texts:
            right, _, condition = text.partition(" if ")
            if condition and self._call.arguments[condition] is None:
                continue
            action, _, template = right.partition(" ")
            kind, colon, name = template.partition(":")
            if colon:
                given = item if name == "item" else self._call.arguments[name]
                found += await _SPECIAL[kind](self, action, given)
            elif template != SOURCES:
                found += await self._rights(action, template, item)
        return found

    async def ref(self, template: str) -> str:
        """Returns the one ref that `{self}` or `{right}` stands for."""
        return (await self._rights("", template, None))[0].resource

    async def _rights(self, action: str, template: str, item: Any) -> list[Right]:
        if template.startswith(_OF_PULL) and await self._pull() is None:
            # It may be of any branch, so that only those who may do this with all of them learn that there is no such
            # request.
            return [Right(action, resources.branch(self._repository_name, ""), True)]
        found, at = [""], 0
        for slot in _SLOT.finditer(template):
            found = [f"{each}{template[at : slot.start()]}" for each in found]
            values = await self._values(slot, item)
            if values is None:
                return [Right(action, each, True) for each in found]
            found = [f"{each}{value}" for each in found for value in values]
            at = slot.end()
        rest = template[at:]
        return [Right(action, f"{each}{rest.removesuffix('*')}", rest.endswith("*")) for each in found]

    async def _values(self, slot: re.Match[str], item: Any) -> Sequence[str] | None:
        """Returns the values of a slot, or None if any value is possible."""
        name, field, optional = slot.groups()
        is_first = slot.start() == 0
        if is_first and name == _PULL:
            return [resources.branch(self._repository_name, getattr(await self._pull(), field))]
        if is_first and name in _OWN:
            return [await _OWN[name](self)]
        given = item if name == "item" else self._call.arguments[name]
        several = [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
        if optional:
            several = [each for each in several if each is not None and each != ""]
        elif not several or several == [None]:
            return None
        if is_first:
            return [await self._argument_ref(each, elsewhere=field == _REF) for each in several]
        return [getattr(each, field) for each in several] if field else several

    async def _pull(self) -> PullState | None:
        """Returns the pull request that the handle names. Raises AbsentRepository."""
        try:
            async with self._session.opened(self._repository_name) as opened:
                refs, _ = await opened.refs()
                found: PullState | None = refs.pulls.find(self._call.handle.id)
                return found
        except NotFound as error:
            raise AbsentRepository(self._repository_name, error) from None

    async def _argument_ref(self, argument: Any, *, elsewhere: bool) -> str:
        """Returns the resource of a name or a handle. For most verbs, a name belongs to their own repository."""
        if isinstance(argument, str):
            return await self.ref_resource(self._repository_name, argument)
        repository = argument.repository_name if elsewhere else self._repository_name
        return await self.ref_resource(repository, argument.name)

    async def own(self) -> str:
        handle = self._call.handle
        if isinstance(handle, Ref):
            return await self.ref_resource(handle.repository_name, handle.name)
        return resources.repository(handle.name)

    async def own_object(self) -> str:
        upload = self._call.handle
        return resources.object_at(await self.ref_resource(upload.repository_name, upload.ref_name), upload.path)

    async def default_branch(self) -> str:
        return await self.ref_resource(self._repository_name, "")

    async def own_repository(self) -> str:
        return resources.repository(self._repository_name)

    @property
    def _repository_name(self) -> str:
        handle = self._call.handle
        return str(handle.name if isinstance(handle, Repository) else handle.repository_name)

    async def ref_resource(self, repository: str, ref: str) -> str:
        """Returns the resource of a ref. An empty name is the default branch."""
        key = repository, ref
        if key not in self._refs:
            try:
                async with self._session.opened(repository) as opened:
                    self._refs[key] = await self._resolve_ref(opened, ref or opened.repository.default_branch)
            except NotFound as error:
                raise AbsentRepository(repository, error) from None
        return self._refs[key]

    async def _resolve_ref(self, repository: OpenRepository, ref: str) -> str:
        """Returns the resource of a ref. A workspace is judged as the branch that it is over, whichever branch its name
        contains: verbs find it by its id."""
        from lochan.access.query_rights import ref_resource

        if "+" not in ref and not isinstance(self._call.handle, Workspace):
            return await ref_resource(repository, ref)
        refs, _ = await repository.refs()
        id = ref.rpartition("+")[2]
        over = next((each.branch for each in refs.workspaces.all() if each.id == id), ref.partition("+")[0])
        return resources.branch(repository.repository.name, over)

    async def journal(self, action: str, repository: str | None) -> list[Right]:
        return event_rights(repository, action)

    async def rows(self, action: str, text: str) -> list[Right]:
        """Returns the rights for a URI such as `logs@main` or `demo@dev/data/`: for the whole pool, or for the file and
        all that is below it."""
        from lochan.versioning.uri import prefix_uri

        uri = prefix_uri(text)
        path = uri.path or prefix_uri(self._call.arguments["left"]).path
        ref = await self.ref_resource(uri.repository, uri.ref)
        is_pool = (await self._session.repository(uri.repository)).kind == "pool"
        return [Right(action, resources.object_at(ref, path), not is_pool)]

    async def stash(self, action: str, id: str) -> list[Right]:
        """Returns the rights for a stash, which belongs to the branch that it was made on, and can be popped on any."""
        async with self._session.opened(self._repository_name) as repository:
            refs, _ = await repository.refs()
            over = [each.branch for each in refs.stashes.all() if each.id == id]
            name = repository.repository.name
            if id and not over:  # it might be of any branch; without an id, the last stash of this branch is meant
                return [Right(action, resources.branch(name, ""), True)]
            return [Right(action, resources.branch(name, each)) for each in over]

    async def deleted(self, action: str, names: str | Sequence[str]) -> list[Right]:
        """Returns the rights for deleted repositories, which may be given by their ids, by the names that they had. No
        name stands for all of them."""
        wanted = [names] if isinstance(names, str) else list(names)
        names_by_id = {each.id: each.repository.name for each in await self._session.lake.deleted_repositories()}
        called = [names_by_id.get(name, name) for name in wanted] or [""]
        return [Right(action, resources.repository(name), not name) for name in called]

    async def owner(self, action: str, key_id: str) -> list[Right]:
        """Returns the rights for the user of an access key. An unknown key might be anybody's."""
        state = await self._session.lake.open_access().state()
        try:
            return [Right(action, resources.user(state.need_key(key_id).user))]
        except NotFound:
            return [Right(action, resources.user(""), True)]

    async def subscriber(self, action: str, about: str | SubscriptionInfo) -> list[Right]:
        """Returns the rights for a subscription, which belongs to its owner; those of others, and unknown ones, are for
        users who manage subscriptions."""
        owner = about if isinstance(about, str) else about.owner
        if isinstance(about, str):
            from lochan.versioning.state.subscriptions import Subscriptions

            state = (await (await self._session.lake.journal()).fresh()).of(Subscriptions)
            owner = next((each.owner for each in state.all() if each.id == about), "")
        return [] if owner and owner == self._session.actor.user else [Right(action, resources.LAKE)]

    async def signed_in(self, action: str, about: str | LoginSessionInfo) -> list[Right]:
        """Returns the rights for a session, which its own user may see and end. An unknown one might be anybody's."""
        user = "" if isinstance(about, str) else about.user
        if isinstance(about, str):
            state = await self._session.lake.open_access().state()
            user = next((each.user for each in state.sessions() if each.id == about), "")
        own = self._session.actor.user
        return [] if user and user == own else [Right(action, resources.user(user), not user)]


def event_rights(repository: str | None, action: str = "fs:ReadEvents") -> list[Right]:
    """Returns the rights for reading events. Events name objects, so their readers must be allowed to read all objects
    there."""
    of_lake = Right("lake:ReadEvents", resources.LAKE)
    if repository is None:
        return [Right(action, "repository/", True), Right(_READ, "repository/", True), of_lake]
    if repository == LAKE_JOURNAL:
        return [of_lake]
    name = resources.repository(repository)
    return [Right(action, name), Right(_READ, f"{name}/", True)]


_OWN: Mapping[str, Callable[[CallResources], Awaitable[str]]] = {
    "self": CallResources.own,
    "object": CallResources.own_object,
    "default": CallResources.default_branch,
    "repository": CallResources.own_repository,
}
_SPECIAL: Mapping[str, Callable[[CallResources, str, Any], Awaitable[list[Right]]]] = {
    "journal": CallResources.journal,
    "rows": CallResources.rows,
    "stash": CallResources.stash,
    "owner": CallResources.owner,
    "deleted": CallResources.deleted,
    "subscriber": CallResources.subscriber,
    "signed-in": CallResources.signed_in,
}
