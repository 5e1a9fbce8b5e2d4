"""The target of a command: the part of `repo@ref/path` that each verb takes, and its handles in an open lake."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lochan.api.uri import HINT as _HINT
from lochan.api.uri import Uri as Uri
from lochan.api.uri import on_branch as on_branch
from lochan.api.uri import prefix_uri as prefix_uri
from lochan.api.uri import writable as writable
from lochan.cli.error_boundary import about_repository
from lochan.errors import Invalid, LochanError, NotFound

if TYPE_CHECKING:
    from lochan.api.branch import Branch
    from lochan.api.lake import Lake
    from lochan.api.pool import Pool
    from lochan.api.ref import Ref
    from lochan.api.repository import Repository
    from lochan.api.workspace import Workspace


T = TypeVar("T")
_NEIGHBOURS = 1_000  # objects of a folder that are searched for a similar name


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
        """The ref of the URI, or the default branch, for reading."""
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
    """Does the work of a command on the repository that it named, or by default on the pool in use. `reads` and
    `counted` mean the same as for `on_lake`."""
    from lochan.cli.session import configuration, on_lake
    from lochan.cli.user_state import in_use

    async def work_on_target(lake: "Lake") -> T:
        target = Target(lake, uri or in_use(configuration(), lake.id))
        await target.repository.show()  # a missing repository is reported before anything else
        about_repository(target.uri.repository)
        try:
            return await work(target)
        except NotFound as error:
            if error.name and error.among is None:
                from lochan.api.local_files import near_paths

                near = near_paths(error.name, await _neighbours(target, error.name))
                error.among = lambda: near
            raise

    return on_lake(work_on_target, reads=reads, counted=counted)


async def _neighbours(target: Target, missing: str) -> list[str]:
    """Returns similar paths and folders, if an object or a whole folder is missing."""
    names: list[str] = []
    with suppress(LochanError):
        folder = missing[: missing.rstrip("/").rfind("/") + 1]
        names += [each.path for each in (await target.ref.list_page(folder, limit=_NEIGHBOURS)).objects]
        names += (await target.ref.list_page(folder, delimiter="/", limit=_NEIGHBOURS)).prefixes
    return names


# Parses the part of `repo@ref/path` that each verb needs (`lochan.api.uri`).


def optional_uri(parse: Callable[[str], Uri], text: str | None) -> Uri | None:
    """Parses a target that may be left out if a pool is in use."""
    return None if text is None else parse(text)


def object_uri(text: str) -> Uri:
    uri = prefix_uri(text)
    if not uri.path:
        raise Invalid(f"{text!r} names no object: the path is missing", hint=_HINT)
    return uri


def ref_uri(text: str) -> Uri:
    """Parses a repository and a ref, without a path."""
    uri = prefix_uri(text)
    if uri.path or ("/" in text and "://" not in text):
        raise Invalid(f"{text!r}: a path cannot be given here", hint="give a repository and a ref, such as demo@main")
    return uri


def branch_uri(text: str) -> Uri:
    """Parses a branch to be changed: not a commit before it, and without a path."""
    return on_branch(ref_uri(text))


def named_uri(text: str) -> Uri:
    """Parses a branch or a tag to be created or deleted: the name is required."""
    uri = branch_uri(text)
    if not uri.ref:
        raise Invalid(f"{text!r}: the name after the @ is missing", hint="such as demo@dev")
    return uri


def repository_uri(text: str) -> Uri:
    """Parses a repository alone."""
    uri = ref_uri(text)
    if uri.ref:
        raise Invalid(f"{text!r}: only a repository can be given here", hint=f"give {uri.repository}")
    return uri


def staged_uri(text: str) -> Uri:
    """Parses a place that may have uncommitted changes: a branch, or a workspace; without a path."""
    return writable(ref_uri(text))


def folder(path: str) -> str:
    """Returns the prefix of everything in this folder. An empty path is the prefix of everything."""
    return path if not path or path.endswith("/") else f"{path}/"


def last_name(path: str) -> str:
    return path.rpartition("/")[2]
