"""From a URI to work on an open repository: the lake is opened, the default branch filled in, and all of it closed."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lochan.cli.uri import Uri

if TYPE_CHECKING:
    from lochan.formats.record import Actor
    from lochan.lake import Lake
    from lochan.versioning.open_repository import OpenRepository

T = TypeVar("T")


class Opened(NamedTuple):
    repository: "OpenRepository"
    ref: str  # the URI's, or the default branch
    actor: "Actor"
    lake: "Lake"

    def ref_of(self, uri: Uri) -> str:
        """Of another URI in the same repository."""
        return uri.ref or self.repository.repository.default_branch


def work_on(uri: Uri, work: Callable[[Opened], Awaitable[T]]) -> T:
    """The one event loop of a verb, around `work`."""
    from lochan.cli.session import actor, configuration, open_lake, run

    config = configuration()

    async def opened() -> T:
        async with open_lake(config) as lake:
            repository = await lake.open_repository(uri.repository)
            ref = uri.ref or repository.repository.default_branch
            try:
                return await work(Opened(repository, ref, actor(config), lake))
            finally:
                await repository.close()  # once the upkeep that the work has set off is done

    return run(config, opened())
