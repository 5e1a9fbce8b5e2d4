"""The files of a folder on this machine, for `fs upload -r` and `load`. What is left out is said, and why.

A link that leads out of the folder is not followed unless told: somebody else may have put it there, and what it names
is not what was asked for.
"""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from lochan.cli.error_boundary import print_message
from lochan.cli.hints import near_paths
from lochan.errors import NotFound

FOLLOW_HINT = "--follow-links takes it in"


def no_file(path: Path) -> NotFound:
    """With those beside it, one of which was probably meant."""
    return NotFound(f"no file {path}").named(str(path), lambda: near_paths(str(path), _beside(path)))


def _beside(path: Path) -> list[str]:
    try:
        return list(map(str, path.parent.iterdir()))
    except OSError:
        return []


def files_in(
    top: Path, *, lake: Path | None = None, follow_links: bool = False, with_hidden: bool = True
) -> Iterator[Path]:
    """In order. `lake` is the folder of the lake itself, which would grow while it is read. Without `with_hidden`,
    names that begin with a dot or an underscore are passed over. Raises OSError for a folder that cannot be read: it
    is not an empty one."""
    walk = _Walk(top, lake, follow_links, with_hidden)
    yield from walk.files(top, (os.path.realpath(top),))


def matching(pattern: Path) -> list[Path]:
    """All that a pattern with *, ?, [] and ** names, in order. A folder that cannot be read is an error here too, and
    not one in which nothing fits."""
    whole = pattern.absolute()
    return sorted(set(_matching(Path(whole.anchor), whole.parts[1:])))


def _matching(base: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    if not parts:
        yield base
        return
    first, *rest = parts
    if not _WILD & set(first):
        if _is_there(base / first):
            yield from _matching(base / first, tuple(rest))
        return
    if not base.is_dir():
        return
    with os.scandir(base) as entries:
        found = [(base / entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    if first == "**":
        yield from _matching(base, tuple(rest))
        for each, is_folder in found:
            if is_folder:
                yield from _matching(each, parts)
        return
    for each, _ in found:
        if fnmatchcase(each.name, first):
            yield from _matching(each, tuple(rest))


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


class _Walk:
    def __init__(self, top: Path, lake: Path | None, follow_links: bool, with_hidden: bool) -> None:
        self._root = top.resolve()
        self._lake = None if lake is None else lake.resolve()
        self._follow_links = follow_links
        self._with_hidden = with_hidden

    def files(self, folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
        """`above` are the folders that this one lies in, itself included, without links: none is gone into twice."""
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        folders = []
        for each in (folder / name for name in names):
            why = self._why_not(each, above)
            if why:
                print_message(f"left out {each}: {why}", FOLLOW_HINT if why.endswith(_LEADS_OUT) else "")
            elif each.is_dir():
                folders.append(each)
            else:
                yield each
        for each in folders:
            if self._with_hidden or each.name[0] != ".":
                yield from self.files(each, (*above, os.path.realpath(each)))

    def _why_not(self, each: Path, above: tuple[str, ...]) -> str:
        """Empty: it is taken."""
        link = each.is_symlink()
        if link and not each.exists():
            return "it is a link to nothing"
        if each.is_dir():
            if link and not self._follow_links:
                return f"it is a link to a folder{'' if self._is_inside(each) else _LEADS_OUT}"
            if each.resolve() == self._lake:
                return "it is the lake itself"
            return "it is a link to a folder that it lies in" if os.path.realpath(each) in above else ""
        if not each.is_file():
            return "it is no file"
        if not self._with_hidden and each.name.startswith((".", "_")):
            return "it is hidden"
        return f"it is a link{_LEADS_OUT}" if link and not self._follow_links and not self._is_inside(each) else ""

    def _is_inside(self, link: Path) -> bool:
        return link.resolve().is_relative_to(self._root)


_LEADS_OUT = " that leads out of the folder"
_WILD = frozenset("*?[")
