"""The two sides of a comparison: the entries that only one of two commits has, or that differ."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from shlex import quote
from typing import NamedTuple

from lochan.errors import Invalid, NotFound
from lochan.formats.entry import Entry
from lochan.formats.pool_settings import Path, path_text
from lochan.pools.settings import parse_paths, settings_of
from lochan.tree.diff import Difference
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.revisions.diff import diff
from lochan.versioning.uri import prefix_uri

LEFT, RIGHT = 0, 1


class RowDiffRequest(NamedTuple):
    """The request of a comparison."""

    left: str  # a ref; "" for the default branch
    right: str
    path: str = ""  # in a repository: a file, or a folder
    key: Sequence[str] | None = None  # fields; None for the pool's primary key, if it has one; empty for whole rows
    three_dot: bool = False  # whether only changes of the right since the merge base are compared


@dataclass(frozen=True, slots=True)
class Sides:
    repository: str
    refs: tuple[str, str]
    is_pool: bool  # otherwise the entries are files
    entries: tuple[tuple[Entry, ...], tuple[Entry, ...]]  # the entries on the left and on the right
    keys: tuple[Path, ...] = ()

    @property
    def size_bytes(self) -> int:
        return sum(entry.size for side in self.entries for entry in side)

    @property
    def key_text(self) -> str:
        return ", ".join(map(path_text, self.keys))

    def name(self, side: int) -> str:
        return f"{self.repository}@{self.refs[side]}"


def row_diff_request(
    left: str, right: str, key: Sequence[str] | None = None, *, three_dot: bool = False
) -> tuple[str, RowDiffRequest]:
    """Returns the repository and the request, from URIs. A missing ref is the default branch. Raises Invalid if the two
    do not match."""
    one, other = prefix_uri(left), prefix_uri(right)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="compare refs of one repository")
    if other.path and other.path != one.path:
        raise Invalid(f"{one} and {other} are different paths", hint="name the path once, or the same twice")
    return one.repository, RowDiffRequest(one.ref, other.ref, one.path, key, three_dot)


async def sides_of(repository: OpenRepository, request: RowDiffRequest) -> Sides:
    """Returns both sides. Raises NotFound if neither side has the path, and Invalid if the key is not valid."""
    about = repository.repository
    is_pool = about.kind == POOL
    request = request._replace(left=request.left or about.default_branch, right=request.right or about.default_branch)
    if is_pool and request.path:
        raise Invalid(
            f"{about.name!r} is a pool, which has rows and no paths", hint=f"give {about.name}@{request.left}"
        )
    keys = (
        settings_of(about).primary_key if request.key is None and is_pool else parse_paths("--key", request.key or ())
    )
    prefix, alone = await _place(repository, request) if request.path else ("", False)
    entries: tuple[list[Entry], list[Entry]] = [], []
    found = diff(repository, request.left, request.right, prefix=prefix, three_dot=request.three_dot)
    async with aclosing(found) as differences:
        async for each in differences:
            if (alone and each.path != prefix) or _same_bytes(each):
                continue
            for side, entry in zip(entries, (each.left, each.right), strict=True):
                if entry is not None:
                    side.append(entry)
    left, right = [tuple(await repository.places.place_all(side)) for side in entries]
    return Sides(about.name, (request.left, request.right), is_pool, (left, right), tuple(dict.fromkeys(keys)))


async def _place(repository: OpenRepository, request: RowDiffRequest) -> tuple[str, bool]:
    """Returns the path alone if it is a file, otherwise the prefix of all paths below it."""
    folder = request.path if request.path.endswith("/") else f"{request.path}/"
    for ref in (request.left, request.right):
        tree = await repository.tree((await repository.resolve(ref)).commit)
        if request.path != folder and await tree.get(request.path) is not None:
            return request.path, True
        if len((await tree.list(folder, limit=1)).entries):
            return folder, False
    name = repository.repository.name
    raise NotFound(
        f"neither {name}@{request.left} nor {name}@{request.right} has {request.path!r}",
        hint=f"`lochan fs ls {quote(f'{name}@{request.left}/')}` lists what there is",
    )


def _same_bytes(each: Difference) -> bool:
    """Returns whether only metadata or the content type differs."""
    if each.left is None or each.right is None:
        return False
    one, other = ([(block.sha256, block.size) for block in side.blocks] for side in (each.left, each.right))
    return one == other and all(sha256 for sha256, _ in one)
