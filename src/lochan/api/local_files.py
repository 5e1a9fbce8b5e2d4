"""The files of a folder on this machine, to be uploaded or loaded. Files that are left out are reported, with the
reason.

A link that leads out of the folder is followed only on request, because another user may have put it there, and its
target is not what the user named."""

import os
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from lochan.errors import Invalid, NotFound

FOLLOW_HINT = "give --follow-links to include it"
_SCHEMES = ("s3", "gs", "az", "file")
_NEAR = 0.7  # of 1; more than the usual, because names of files are short

Report = Callable[[str, str], None]  # called with what was left out, and what can be done about it


def ignore_report(message: str, hint: str) -> None:
    pass


def no_file(path: Path) -> NotFound:
    """Returns an error with the names beside the file, because probably one of them was meant."""
    return NotFound(f"no file {path}").named(str(path), lambda: near_paths(str(path), _paths_beside(path)))


def near_paths(path: str, paths: Iterable[str]) -> list[str]:
    """Returns the paths whose last part resembles that of `path`. Folders and endings do not count, because many files
    share them."""
    from difflib import get_close_matches

    by_name = {_name(each): each for each in paths}
    return [by_name[each] for each in get_close_matches(_name(path), by_name, n=1, cutoff=_NEAR)]


def _name(path: str) -> str:
    """Returns the name without folder and ending."""
    last = path.rstrip("/").rpartition("/")[2]
    return last.rpartition(".")[0] or last


def _paths_beside(path: Path) -> list[str]:
    try:
        return list(map(str, path.parent.iterdir()))
    except OSError:
        return []


def files_in(
    top: Path,
    *,
    lake: Path | None = None,
    follow_links: bool = False,
    with_hidden: bool = True,
    report: Report = ignore_report,
) -> Iterator[Path]:
    """Yields the files in order. `lake` is the folder of the lake itself, which is left out because it would grow while
    it is read. Without `with_hidden`, names that begin with a dot or an underscore are passed over. Raises OSError for
    a folder that cannot be read, so that it does not look empty."""
    walk = _Walk(top, lake, follow_links, with_hidden, report)
    yield from walk.files(top, (os.path.realpath(top),))


def matching(pattern: Path) -> list[Path]:
    """Returns all paths that a pattern with *, ?, [] and ** names, in order. A folder that cannot be read is an error
    here too, and not one in which nothing matches."""
    whole = pattern.absolute()
    return sorted(set(_match_parts(Path(whole.anchor), whole.parts[1:])))


def _match_parts(base: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    if not parts:
        yield base
        return
    first, *rest = parts
    if not _WILD & set(first):
        if _path_exists(base / first):
            yield from _match_parts(base / first, tuple(rest))
        return
    if not base.is_dir():
        return
    with os.scandir(base) as entries:
        found = [(base / entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    if first == "**":
        yield from _match_parts(base, tuple(rest))
        for each, is_folder in found:
            if is_folder:
                yield from _match_parts(each, parts)
        return
    for each, _ in found:
        if fnmatchcase(each.name, first):
            yield from _match_parts(each, tuple(rest))


def _path_exists(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


class _Walk:
    def __init__(self, top: Path, lake: Path | None, follow_links: bool, with_hidden: bool, report: Report) -> None:
        self._root = top.resolve()
        self._lake = None if lake is None else lake.resolve()
        self._follow_links = follow_links
        self._with_hidden = with_hidden
        self._report = report

    def files(self, folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
        """Yields files. `above` are the folders that contain this one, and itself, without links; none is entered
        twice."""
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        folders = []
        for entry in found:
            each = folder / entry.name
            if entry.is_file(follow_symlinks=False) and self._shows(entry.name):
                yield each  # the listing of the folder shows its type, without a stat for each file
                continue
            why = self._why_not(each, above)
            if why:
                self._report(f"left out {each}: {why}", FOLLOW_HINT if why.endswith(_LEADS_OUT) else "")
            elif each.is_dir():
                folders.append(each)
            else:
                yield each
        for each in folders:
            if self._with_hidden or each.name[0] != ".":
                yield from self.files(each, (*above, os.path.realpath(each)))

    def _why_not(self, each: Path, above: tuple[str, ...]) -> str:
        """Returns the reason to leave a path out, or an empty text."""
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
            return "it is not a file"
        if not self._shows(each.name):
            return "it is hidden"
        return f"it is a link{_LEADS_OUT}" if link and not self._follow_links and not self._is_inside(each) else ""

    def _shows(self, name: str) -> bool:
        return self._with_hidden or not name.startswith((".", "_"))

    def _is_inside(self, link: Path) -> bool:
        return link.resolve().is_relative_to(self._root)


_LEADS_OUT = " that leads out of the folder"
_WILD = frozenset("*?[")


def place_url(text: str) -> str:
    """Returns the URL of a place outside the lake. Raises Invalid for an unknown scheme."""
    if not text:
        raise Invalid("the place outside the lake is empty", hint="give a folder or a URL such as s3://bucket/prefix")
    scheme, found, rest = text.partition("://")
    if not found:
        return f"file://{str(Path(text).resolve()).replace('%', '%25')}"
    if scheme not in _SCHEMES or not rest:
        raise Invalid(
            f"{text!r} is not a place to read from", hint=f"give a local path or a URL: {', '.join(_SCHEMES)}"
        )
    return text
