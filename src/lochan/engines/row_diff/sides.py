"""What has to be read to know which rows differ: the entries that only one of two commits has, or has otherwise."""

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
    """What is compared."""

    left: str  # refs; "": the default branch
    right: str
    path: str = ""  # of a repository: a file, or a folder
    key: Sequence[str] | None = None  # fields; None: the pool's primary key, if it has one; none: whole rows
    three_dot: bool = False  # only what the right has changed since the two parted


@dataclass(frozen=True, slots=True)
class Sides:
    repository: str
    refs: tuple[str, str]
    is_pool: bool  # else the entries are files
    entries: tuple[tuple[Entry, ...], tuple[Entry, ...]]  # left, right
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
    """From URIs: the repository, and what is compared there. A ref that is left out is the default branch. Raises
    Invalid where the two do not go together."""
    one, other = prefix_uri(left), prefix_uri(right)
    if one.repository != other.repository:
        raise Invalid(f"{one} and {other} are in different repositories", hint="compare refs of one repository")
    if other.path and other.path != one.path:
        raise Invalid(f"{one} and {other} are different paths", hint="name the path once, or the same twice")
    return one.repository, RowDiffRequest(one.ref, other.ref, one.path, key, three_dot)


async def sides_of(repository: OpenRepository, wish: RowDiffRequest) -> Sides:
    """Raises NotFound for a path that neither side has, Invalid for a key that cannot be one."""
    about = repository.repository
    is_pool = about.kind == POOL
    wish = wish._replace(left=wish.left or about.default_branch, right=wish.right or about.default_branch)
    if is_pool and wish.path:
        raise Invalid(f"{about.name!r} is a pool: it holds rows, and no paths", hint=f"give {about.name}@{wish.left}")
    keys = settings_of(about).primary_key if wish.key is None and is_pool else parse_paths("--key", wish.key or ())
    prefix, alone = await _place(repository, wish) if wish.path else ("", False)
    entries: tuple[list[Entry], list[Entry]] = [], []
    found = diff(repository, wish.left, wish.right, prefix=prefix, three_dot=wish.three_dot)
    async with aclosing(found) as differences:
        async for each in differences:
            if (alone and each.path != prefix) or _same_bytes(each):
                continue
            for side, entry in zip(entries, (each.left, each.right), strict=True):
                if entry is not None:
                    side.append(entry)
    left, right = map(tuple, entries)
    return Sides(about.name, (wish.left, wish.right), is_pool, (left, right), tuple(dict.fromkeys(keys)))


async def _place(repository: OpenRepository, wish: RowDiffRequest) -> tuple[str, bool]:
    """The path itself, alone, where it is a file; else all that lies below."""
    folder = wish.path if wish.path.endswith("/") else f"{wish.path}/"
    for ref in (wish.left, wish.right):
        tree = await repository.tree((await repository.resolve(ref)).commit)
        if wish.path != folder and await tree.get(wish.path) is not None:
            return wish.path, True
        if len((await tree.list(folder, limit=1)).entries):
            return folder, False
    name = repository.repository.name
    raise NotFound(
        f"neither {name}@{wish.left} nor {name}@{wish.right} has {wish.path!r}",
        hint=f"`lochan fs ls {quote(f'{name}@{wish.left}/')}` lists what there is",
    )


def _same_bytes(each: Difference) -> bool:
    """Only a note or a content type is another."""
    if each.left is None or each.right is None:
        return False
    one, other = ([(block.sha256, block.size) for block in side.blocks] for side in (each.left, each.right))
    return one == other and all(sha256 for sha256, _ in one)
