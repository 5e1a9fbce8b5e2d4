"""What a command works on: a URI's repository and ref, as handles of an open lake."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lochan.cli.hints import about_repository
from lochan.cli.uri import Uri
from lochan.cli.user_state import in_use
from lochan.errors import LochanError, NotFound

if TYPE_CHECKING:
    from lochan.api.branch import Branch
    from lochan.api.lake import Lake
    from lochan.api.pool import Pool
    from lochan.api.ref import Ref
    from lochan.api.repository import Repository
    from lochan.api.workspace import Workspace

T = TypeVar("T")
_NEIGHBOURS = 1_000  # objects of a folder that are looked through for a near name


class Target(NamedTuple):
    lake: "Lake"
    uri: Uri

    @property
    def repository(self) -> "Repository":
        return self.lake.repository(self.uri.repository)

    @property
    def pool(self) -> "Pool":
        return self.lake.pool(self.uri.repository)

    @property
    def ref(self) -> "Ref":
        """The URI's, or the default branch; for reading."""
        return self.repository.ref(self.uri.ref)

    @property
    def branch(self) -> "Branch":
        return self.repository.branch(self.uri.ref)

    @property
    def writable(self) -> "Branch | Workspace":
        return writable_at(self.lake, self.uri)

    async def is_pool(self) -> bool:
        return (await self.repository.show()).kind == "pool"


def writable_at(lake: "Lake", uri: Uri) -> "Branch | Workspace":
    repository = lake.repository(uri.repository)
    return repository.workspace(uri.ref) if "+" in uri.ref else repository.branch(uri.ref)


def work_on(
    uri: Uri | None, work: Callable[[Target], Awaitable[T]], *, reads: bool = False, counted: bool = False
) -> T:
    """Does the work of a command on what it named; where nothing was named, on the pool in use. `reads` and `counted`
    as for `on_lake`."""
    from lochan.cli.session import configuration, on_lake

    async def opened(lake: "Lake") -> T:
        target = Target(lake, uri or in_use(configuration(), lake.id))
        await target.repository.show()  # what is not there is told before anything else
        about_repository(target.uri.repository)
        try:
            return await work(target)
        except NotFound as error:
            if error.name and error.among is None:
                from lochan.api.local_files import near_paths

                near = near_paths(error.name, await _neighbours(target, error.name))
                error.among = lambda: near
            raise

    return on_lake(opened, reads=reads, counted=counted)


async def _neighbours(target: Target, missing: str) -> list[str]:
    """Paths and folders that could have been meant where an object is missing, or a whole folder."""
    names: list[str] = []
    with suppress(LochanError):
        folder = missing[: missing.rstrip("/").rfind("/") + 1]
        names += [each.path for each in (await target.ref.list_page(folder, limit=_NEIGHBOURS)).objects]
        names += (await target.ref.list_page(folder, delimiter="/", limit=_NEIGHBOURS)).prefixes
    return names
