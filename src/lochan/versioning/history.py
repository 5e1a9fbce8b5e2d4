"""The history of a ref: its commits, youngest first, by what they touched and when."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from lochan.formats.commit import Commit
from lochan.formats.entry import CONTENT
from lochan.tree import diff as trees_diff
from lochan.tree.tree import Tree
from lochan.versioning.graph import log, topological
from lochan.versioning.names import check_key
from lochan.versioning.open_repository import OpenRepository


class LogRequest(NamedTuple):
    paths: tuple[str, ...] = ()  # only commits that changed one of these
    prefixes: tuple[str, ...] = ()  # or something under one of these
    since: int | None = None  # microseconds since 1970
    until: int | None = None
    first_parent: bool = False
    by_line: bool = False  # one line of history after the other, as a drawing wants it
    author: str = ""  # only commits whose author's or committer's name has this in it, in any case of letters
    grep: str = ""  # only commits whose message has this in it, likewise


EVERYTHING = LogRequest()


async def history(
    repository: OpenRepository, ref: str, wish: LogRequest = EVERYTHING
) -> AsyncGenerator[tuple[str, Commit], None]:
    """As it is asked for: the first comes at once, whatever lies behind it."""
    async with aclosing(walked(repository, ref, wish)) as found:
        async for id, commit, wished in found:
            if wished:
                yield id, commit


async def walked(
    repository: OpenRepository, ref: str, wish: LogRequest = EVERYTHING
) -> AsyncGenerator[tuple[str, Commit, bool], None]:
    """Every commit, and whether it is one that was asked for."""
    for path in wish.paths:
        check_key(path)
    refs, _ = await repository.refs()
    start = (await repository.resolve(ref)).commit_id
    order = topological if wish.by_line else log
    for id, commit in order(refs.recorded, start, first_parent=wish.first_parent):
        wished = _in_time(commit, wish) and _says(commit, wish)
        if wished and (wish.paths or wish.prefixes):
            parents = commit.parents[:1] if wish.first_parent else commit.parents
            wished = await _touches(repository, commit, [refs.commit(parent) for parent in parents], wish)
        yield id, commit, wished


def _in_time(commit: Commit, wish: LogRequest) -> bool:
    """Dates need not fall along a branch, since anybody may give one: a walk cannot stop at the first that is old."""
    late_enough = wish.since is None or commit.date >= wish.since
    return late_enough and (wish.until is None or commit.date <= wish.until)


def _says(commit: Commit, wish: LogRequest) -> bool:
    who = f"{commit.author}\n{commit.committer}".casefold()
    return wish.author.casefold() in who and wish.grep.casefold() in commit.message.casefold()


async def _touches(repository: OpenRepository, commit: Commit, parents: list[Commit], wish: LogRequest) -> bool:
    """A merge did so itself if the paths are as in none of its parents; a first commit holds nothing."""
    for parent in parents:
        if not await _differs(repository, parent, commit, wish):
            return False
    return bool(parents)


async def _differs(repository: OpenRepository, left: Commit, right: Commit, wish: LogRequest) -> bool:
    if left.tree == right.tree:
        return False
    trees = await repository.tree(left), await repository.tree(right)
    for path in wish.paths:
        if await _content(trees[0], path) != await _content(trees[1], path):
            return True
    for prefix in wish.prefixes:
        async with aclosing(trees_diff.diff(repository.trees, *trees, prefix)) as found:
            async for _ in found:
                return True
    return False


async def _content(tree: Tree, path: str) -> object:
    entry = await tree.get(path)
    return None if entry is None else tuple(getattr(entry, name) for name in CONTENT)
