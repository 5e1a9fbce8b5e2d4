"""From a URI to work on an open repository: the lake is opened, the default branch filled in, and all of it closed."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lochan.cli.hints import about_repository, near_paths
from lochan.cli.pool_in_use import in_use
from lochan.cli.uri import Uri
from lochan.errors import LochanError, NotFound, Refused

if TYPE_CHECKING:
    from lochan.formats.pool_settings import PoolSettings
    from lochan.formats.record import Actor
    from lochan.lake import Lake
    from lochan.versioning.open_repository import OpenRepository

T = TypeVar("T")
_NEIGHBOURS = 1_000  # objects of a folder that are looked through for a near name


class OpenRef(NamedTuple):
    repository: "OpenRepository"
    ref: str  # the URI's, or the default branch
    actor: "Actor"
    lake: "Lake"

    def ref_of(self, uri: Uri) -> str:
        """Of another URI in the same repository."""
        return uri.ref or self.repository.repository.default_branch

    @property
    def is_pool(self) -> bool:
        return self.repository.repository.kind == "pool"

    @property
    def pool(self) -> "PoolSettings":
        from lochan.pools.settings import settings_of

        self.needs_pool()
        return settings_of(self.repository.repository)

    def needs_pool(self) -> None:
        if not self.is_pool:
            name = self.repository.repository.name
            raise Refused(f"{name!r} holds files, and is no pool", hint="`lochan create POOL` makes a pool")

    def needs_files(self) -> None:
        """For verbs that stage: nothing is staged on a pool, and nobody is to upload for it in vain."""
        if self.is_pool:
            from lochan.versioning.refs import no_staging

            raise no_staging()


async def _neighbours(repository: "OpenRepository", ref: str, missing: str) -> list[str]:
    """Paths that could have been meant where an object is missing."""
    names: list[str] = []
    with suppress(LochanError):
        view = await repository.view(await repository.resolve(ref, workspaces=True))
        folder = missing[: missing.rfind("/") + 1]
        names += [entry.path for entry in (await view.list(folder, limit=_NEIGHBOURS)).entries]
    return names


def work_on(uri: Uri | None, work: Callable[[OpenRef], Awaitable[T]], *, counted: bool = False) -> T:
    """The one event loop of a verb, around `work`; where nothing was named, on the pool in use. `counted`: as for
    `open_lake`."""
    from lochan.cli.session import actor, configuration, open_lake, run

    config = configuration()

    async def opened() -> T:
        async with open_lake(config, counted=counted) as lake:
            at = uri or in_use(config, lake.id)
            repository = await lake.open_repository(at.repository)
            about_repository(at.repository)
            ref = at.ref or repository.repository.default_branch
            try:
                return await work(OpenRef(repository, ref, actor(config), lake))
            except NotFound as error:
                if error.name and error.among is None:
                    near = near_paths(error.name, await _neighbours(repository, ref, error.name))
                    error.among = lambda: near
                raise
            finally:
                await repository.close()  # once the upkeep that the work has set off is done

    return run(config, opened())
