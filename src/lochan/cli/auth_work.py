"""Work on a lake's users, keys and policies: the lake is opened, and closed again.

Whoever can open the lake by its store may do all of this: access is checked where the server lets others in.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from lochan.access.open_access import OpenAccess
    from lochan.access.state import Access
    from lochan.formats.record import Actor

T = TypeVar("T")


class OpenedAccess(NamedTuple):
    access: "OpenAccess"
    actor: "Actor"


def change(work: Callable[[OpenedAccess], Awaitable[T]]) -> T:
    from lochan.cli.session import actor, configuration, open_lake, run

    config = configuration()

    async def opened() -> T:
        async with open_lake(config) as lake:
            return await work(OpenedAccess(lake.open_access(), actor(config)))

    return run(config, opened())


def look(work: Callable[["Access"], T]) -> T:
    """At the state as it is now."""
    from lochan.cli.session import configuration, open_lake, read

    config = configuration()

    async def opened() -> T:
        async with open_lake(config) as lake:
            return work(await lake.open_access().state())

    return read(config, opened)
