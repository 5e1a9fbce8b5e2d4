"""The storage of a repository that does not lie in the lake: it is checked before anything is made there, and claimed
by a file that says whose it is.

    checked: no overlap with the lake, nor with another repository ─▶ reached, with its credentials ─▶ no lake, no claim
    of another ─▶ it creates an object only once ─▶ claimed ─▶ the repository's own journal ─▶ its name in the lake

A storage that is refused on this way is left unchanged."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from lochan.clock import Clock
from lochan.errors import Invalid, LochanError, NotFound, Refused, Transient
from lochan.formats import lake_file, storage_file
from lochan.formats.storage_file import StorageFile
from lochan.ids import Ids
from lochan.store.open import StoreLocation
from lochan.store.probe import probe
from lochan.store.protocol import Store
from lochan.store.retry import settle
from lochan.versioning.repositories import Repository

_PATIENCE_S = 30.0


def check_place(url: str, lake_url: str, others: Iterable[Repository]) -> None:
    """Raises Refused for a place that is in the lake, or around it, or in or around that of another repository."""
    if _overlap(url, lake_url):
        raise Refused(
            f"the storage {url} and the lake at {lake_url} overlap",
            hint="name a bucket, a prefix or a folder beside the lake; nothing was made",
        )
    for each in others:
        if each.storage and _overlap(url, each.storage):
            raise Refused(
                f"the storage {url} and that of repository {each.name!r}, {each.storage}, overlap",
                hint="each repository has a place of its own; nothing was made",
            )


def _overlap(one: str, other: str) -> bool:
    first, second = f"{one.rstrip('/')}/", f"{other.rstrip('/')}/"
    return first.startswith(second) or second.startswith(first)


async def check_free(store: Store, clock: Clock, ids: Ids) -> None:
    """Raises Refused if there is a lake or the claim of another repository, or if the store cannot be reached with
    these credentials, or lets two creators win."""
    try:
        await _check_absent(store)
        await probe(store, ids, clock)
    except (Transient, Refused, Invalid) as error:
        if isinstance(error, Refused) and error.message.startswith(_TAKEN):
            raise
        raise Refused(
            f"the storage {store.url} cannot be used: {error.message}",
            hint="check its URL, its endpoint and its credentials; nothing was made",
        ) from error


_TAKEN = "the storage "


async def _check_absent(store: Store) -> None:
    for path in (lake_file.PATH, storage_file.PATH):
        try:
            data = await store.get(path)
        except NotFound:
            continue
        if path == lake_file.PATH:
            raise Refused(f"{_TAKEN}{store.url} is a lake", hint="name another prefix or folder; nothing was made")
        raise _taken_error(store, storage_file.decode(data, store.url))


def _taken_error(store: Store, found: StorageFile) -> Refused:
    whose = f"repository {found.repository} of lake {found.lake}"
    return Refused(
        f"{_TAKEN}{store.url} belongs to {whose} already", hint="name another prefix or folder; nothing was made"
    )


async def claim(store: Store, lake: str, repository: str, clock: Clock, ids: Ids) -> None:
    """Claims the storage. Raises Refused if another repository was faster."""
    own = StorageFile(storage_file.FORMAT, lake, repository, clock.wall())
    deadline = clock.boot() + _PATIENCE_S
    there = await settle(store, storage_file.PATH, storage_file.encode(own), clock, ids, deadline)
    found = storage_file.decode(there, store.url)
    if (found.lake, found.repository) != (lake, repository):
        raise _taken_error(store, found)


async def release(store: Store, lake: str, repository: str) -> None:
    """Takes back the claim of a repository that does not exist, or no longer exists, and no other claim."""
    with suppress(LochanError):
        found = storage_file.decode(await store.get(storage_file.PATH), store.url)
        if (found.lake, found.repository) == (lake, repository):
            await store.delete(storage_file.PATH)


async def check_claim(store: Store, lake: str, repository: Repository) -> None:
    """Checks the claim before the first use by a process. Raises Refused if the storage belongs to another repository,
    or is not there."""
    try:
        found = storage_file.decode(await store.get(storage_file.PATH), store.url)
    except NotFound:
        raise Refused(
            f"the storage of repository {repository.name!r}, {store.url}, does not hold its files",
            hint=f"there is no {storage_file.PATH}: it is another bucket or folder than it was, or was emptied",
        ) from None
    if (found.lake, found.repository) != (lake, repository.id):
        raise Refused(
            f"the storage of repository {repository.name!r}, {store.url}, belongs to another one",
            hint=f"{storage_file.PATH} names lake {found.lake} and repository {found.repository}",
        )


def open_new(place: Callable[[], StoreLocation], clock: Clock, ids: Ids) -> Store:
    """Opens the store of a new repository. A missing folder is made. Raises Refused, which names it."""
    found = place()
    if found.url.startswith("file://"):
        from pathlib import Path
        from urllib.parse import unquote

        try:
            Path(unquote(found.url.removeprefix("file://"))).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Refused(
                f"the storage {found.url} cannot be used: {error.strerror}", hint="nothing was made"
            ) from error
    return found.open(clock=clock, ids=ids)
