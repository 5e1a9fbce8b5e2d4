"""Time by the store's own clock: the stamp of a file that was just written. A grace is measured by it, so that a
machine whose clock is wrong deletes nothing too early."""

from lochan.errors import Corrupt, NotFound
from lochan.formats.plan_list import FOLDER
from lochan.store.protocol import Store
from lochan.versioning.open_repository import OpenRepository

_FILE = f"{FOLDER}/clock"


async def store_time(store: Store, repository: str) -> float:
    """Returns the store's time in seconds since 1970, as exactly as the store gives it: a listing may be more exact
    than an object's headers."""
    path = f"{repository}/{_FILE}"
    await store.put(path, b"written to read the store's clock\n")
    headers = (await store.head(path)).modified
    return max([headers, *[stat.modified async for stat in store.list(path) if stat.path == path]])


def hours(seconds: float) -> str:
    return f"{seconds / 3_600:.1f} hours"


async def age_of(repository: OpenRepository, file: str) -> float:
    """Returns how many seconds ago a plan's list was written. Raises Corrupt if it is gone."""
    id = repository.repository.id
    try:
        stat = await repository.store.head(f"{id}/{file}")
    except NotFound as error:
        raise Corrupt(
            f"the list of the last plan, {id}/{file}, is gone", hint="nothing was deleted; restore it"
        ) from error
    return await store_time(repository.store, id) - stat.modified
